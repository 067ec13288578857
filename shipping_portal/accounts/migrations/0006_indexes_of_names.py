from django.db import migrations, models

from shipping_portal.concurrent_indexes import AddIndexConcurrently, TrigramIndex


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('accounts', '0005_indexes_of_personal_data'),
        ('orders', '0001_initial'),  # which makes pg_trgm
    ]

    operations = [
        AddIndexConcurrently(
            'sender',
            TrigramIndex(fields=['name'], name='senders_by_part_of_a_name'),
        ),
        AddIndexConcurrently(
            'user',
            TrigramIndex(fields=['name'], name='people_by_part_of_a_name'),
        ),
        AddIndexConcurrently(
            'pickupaddress',
            models.Index(fields=['phone'], name='pickups_by_phone'),
        ),
        AddIndexConcurrently(
            'pickupaddress',
            TrigramIndex(fields=['name', 'suburb', 'postcode'], name='pickups_by_part_of_a_word'),
        ),
    ]
