import django.db.models.functions.text
from django.db import migrations, models

from shipping_portal.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('orders', '0002_personal_data'),
    ]

    operations = [
        AddIndexConcurrently(
            'order',
            models.Index(condition=models.Q(('erased_at', None)), fields=['submitted_at'], name='orders_not_erased'),
        ),
        AddIndexConcurrently(
            'order',
            models.Index(django.db.models.functions.text.Upper('receiver_email'), name='orders_by_email'),
        ),
        AddIndexConcurrently(
            'order',
            models.Index(fields=['receiver_phone'], name='orders_by_phone'),
        ),
        AddIndexConcurrently(
            'order',
            models.Index(fields=['receiver_postcode'], name='orders_by_postcode'),
        ),
    ]
