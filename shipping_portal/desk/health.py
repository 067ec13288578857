"""How the carrier is doing right now, for the strip on the desk's first page."""

import datetime as dt
from dataclasses import dataclass

from django.db.models import Avg, Count, Max, Q

from orders.models import CarrierCall
from tracking.models import WebhookDelivery

WINDOW = dt.timedelta(minutes=15)


@dataclass(frozen=True)
class Operation:
    """Calls of one kind in the last 15 minutes. Times in milliseconds."""

    name: str
    calls: int
    unclear: int
    average: int
    slowest: int


@dataclass(frozen=True)
class Health:
    operations: list[Operation]
    last_webhook_at: dt.datetime | None


def strip(now: dt.datetime) -> Health:
    """Two queries, both on an index."""
    calls = (
        CarrierCall.objects.filter(at__gte=now - WINDOW)
        .values("operation")
        .annotate(
            calls=Count("pk"),
            unclear=Count("pk", filter=~Q(outcome__in=["ok", "rejected"])),
            average=Avg("milliseconds"),
            slowest=Max("milliseconds"),
        )
        .order_by("operation")
    )
    return Health(
        [
            Operation(row["operation"], row["calls"], row["unclear"], round(row["average"]), row["slowest"])
            for row in calls
        ],
        WebhookDelivery.objects.order_by("-received_at").values_list("received_at", flat=True).first(),
    )
