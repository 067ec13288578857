import django.db.models.functions.comparison
import django.db.models.functions.text
from django.db import migrations, models

from shipping_portal.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('accounts', '0004_personal_data'),
    ]

    operations = [
        AddIndexConcurrently(
            'notification',
            models.Index(condition=models.Q(('line', ''), _negated=True), fields=['happened_at'], name='notifications_with_words'),
        ),
        AddIndexConcurrently(
            'receiver',
            models.Index(django.db.models.functions.comparison.Coalesce('used_at', 'created_at'), name='receivers_by_age'),
        ),
        AddIndexConcurrently(
            'receiver',
            models.Index(django.db.models.functions.text.Upper('email'), name='receivers_by_email'),
        ),
        AddIndexConcurrently(
            'receiver',
            models.Index(fields=['phone'], name='receivers_by_phone'),
        ),
        AddIndexConcurrently(
            'receiver',
            models.Index(fields=['postcode'], name='receivers_by_postcode'),
        ),
        AddIndexConcurrently(
            'sender',
            models.Index(condition=models.Q(('closed_at__isnull', False)), fields=['closed_at'], name='senders_closed'),
        ),
    ]
