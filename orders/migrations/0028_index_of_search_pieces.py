from django.db import migrations

from shipping_portal.concurrent_indexes import AddIndexConcurrently, TrigramIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0027_copy_search_pieces")]

    operations = [
        AddIndexConcurrently(
            "ordersearch", TrigramIndex(fields=["text"], name="pieces_by_part_of_a_word")
        )
    ]
