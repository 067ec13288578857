from django.db import migrations, models

from shipping_portal.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [('billing', '0002_photos_of_disputes')]

    operations = [
        AddIndexConcurrently('dispute', models.Index(fields=['photo'], name='disputes_of_a_photo')),
    ]
