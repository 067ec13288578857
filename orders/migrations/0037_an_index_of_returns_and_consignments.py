"""Find a parcel's returns and the parcels of a consignment by one index."""

from django.db import migrations, models
from django.db.models import Q

from shipping_portal.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0036_an_attempt_is_resolved")]

    operations = [
        AddIndexConcurrently(
            "order",
            models.Index(
                fields=["returns", "consignment"],
                name="orders_of_another",
                condition=Q(returns__isnull=False) | Q(consignment__isnull=False),
            ),
        ),
    ]
