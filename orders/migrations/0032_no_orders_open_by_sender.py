"""Drop the index that another holds the columns of."""

from django.db import migrations

from shipping_portal.concurrent_indexes import RemoveIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0031_indexes_of_returns")]

    operations = [RemoveIndexConcurrently("order", "orders_open_by_sender")]
