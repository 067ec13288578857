"""Find the parcels of a consignment."""

from django.db import migrations, models
from django.db.models import Q

from shipping_portal.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0034_consignments")]

    operations = [
        AddIndexConcurrently(
            "order",
            models.Index(
                fields=["consignment"],
                name="orders_of_a_consignment",
                condition=Q(consignment__isnull=False),
            ),
        ),
    ]
