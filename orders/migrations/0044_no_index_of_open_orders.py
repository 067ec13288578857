"""Drop the index that `orders_to_count_of_sender` replaces."""

from django.db import migrations

from shipping_portal.concurrent_indexes import RemoveIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0043_count_without_dismissed_orders")]

    operations = [RemoveIndexConcurrently("order", "orders_open_of_sender")]
