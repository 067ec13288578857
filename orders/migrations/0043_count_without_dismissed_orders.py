"""Count the parcels that need their sender, without dismissed ones, from the index alone."""

from django.db import migrations, models
from django.db.models import Q

from shipping_portal.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0042_dismissed_orders")]

    operations = [
        AddIndexConcurrently(
            "order",
            models.Index(
                fields=[
                    "sender",
                    "status",
                    "progress",
                    "used_after_cancel_at",
                    "cancel_refused_at",
                ],
                include=(
                    "id",
                    "eta_to",
                    "printed_at",
                    "first_mile",
                    "carrier_pickup_date",
                    "pickup_date",
                    "progress_at",
                    "booked_at",
                    "returns",
                    "dismissed_at",
                ),
                name="orders_to_count_of_sender",
                condition=Q(used_after_cancel_at__isnull=False)
                | ~(Q(status="booked", progress="delivered") | Q(status="cancelled")),
            ),
        ),
    ]
