"""Indexes for what several did before; none holds a column of the job."""

from django.db import migrations, models
from django.db.models import Q

from shipping_portal.concurrent_indexes import AddIndexConcurrently

UNDECIDED = ["cancel_unconfirmed", "cancelling", "conflict", "rejected", "unconfirmed"]


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0021_flag_old_rows")]

    operations = [
        AddIndexConcurrently(
            "order",
            models.Index(
                fields=["status"],
                name="orders_under_way",
                condition=Q(has_job=True) | Q(status__in=UNDECIDED),
            ),
        ),
        AddIndexConcurrently(
            "order",
            models.Index(
                fields=["progress", "carrier_pickup_date"],
                name="orders_not_collected",
                condition=Q(status="booked", progress__in=["", "pickup_futile"]),
            ),
        ),
        AddIndexConcurrently(
            "order",
            models.Index(
                fields=["booked_at"],
                name="orders_to_be_billed",
                condition=Q(unbilled__gt=0) | Q(unagreed_price__isnull=False),
            ),
        ),
        AddIndexConcurrently(
            "order",
            models.Index(
                fields=["sender", "status", "-progress_at"],
                name="orders_closed_by_sender",
                condition=Q(status="booked", progress="delivered") | Q(status="cancelled"),
            ),
        ),
        AddIndexConcurrently(
            "label",
            models.Index(fields=["state"], name="labels_with_a_job", condition=Q(has_job=True)),
        ),
    ]
