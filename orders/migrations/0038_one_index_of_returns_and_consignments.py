"""Drop the two indexes that one of both has replaced."""

from django.db import migrations

from shipping_portal.concurrent_indexes import RemoveIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0037_an_index_of_returns_and_consignments")]

    operations = [
        RemoveIndexConcurrently("order", "orders_sent_back"),
        RemoveIndexConcurrently("order", "orders_of_a_consignment"),
    ]
