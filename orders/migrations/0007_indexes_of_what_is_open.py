from django.db import migrations, models
from django.db.models import Q

from shipping_portal.concurrent_indexes import AddIndexConcurrently

OPEN = Q(used_after_cancel_at__isnull=False) | ~(Q(status="booked", progress="delivered") | Q(status="cancelled"))


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0006_on_the_way")]

    operations = [
        AddIndexConcurrently(
            "order",
            models.Index(
                fields=["sender", "status", "progress", "used_after_cancel_at", "cancel_refused_at"],
                include=(
                    "id", "eta_to", "printed_at", "first_mile", "carrier_pickup_date", "pickup_date", "progress_at",
                    "booked_at",
                ),
                name="orders_open_by_sender",
                condition=OPEN,
            ),
        ),
        AddIndexConcurrently(
            "order",
            models.Index(
                fields=["sender", "eta_to", "id"],
                name="orders_due",
                condition=Q(
                    status="booked", progress__in=("collected", "dropped_off", "in_transit", "out_for_delivery")
                ),
            ),
        ),
        AddIndexConcurrently(
            "order", models.Index(fields=["booked_at"], name="orders_unbilled", condition=Q(unbilled__gt=0))
        ),
    ]
