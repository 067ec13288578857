"""Check old orders by the constraints that know the status of a cancellation asked for."""

from django.db import migrations

from shipping_portal.concurrent_indexes import CheckOldRows


class Migration(migrations.Migration):
    dependencies = [("orders", "0012_cancel_asked")]

    operations = [
        CheckOldRows("order", "a_known_status"),
        CheckOldRows("order", "a_reference_exactly_while_the_carrier_holds_it"),
        CheckOldRows("order", "only_what_may_cost_is_counted"),
    ]
