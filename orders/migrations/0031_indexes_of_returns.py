"""Find a parcel's returns, and count open parcels without them from the index alone."""

from django.db import migrations, models
from django.db.models import Q

from shipping_portal.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0030_returns")]

    operations = [
        AddIndexConcurrently(
            "order",
            models.Index(
                fields=["returns"], name="orders_sent_back", condition=Q(returns__isnull=False)
            ),
        ),
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
                ),
                name="orders_open_of_sender",
                condition=Q(used_after_cancel_at__isnull=False)
                | ~(Q(status="booked", progress="delivered") | Q(status="cancelled")),
            ),
        ),
    ]
