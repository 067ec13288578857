"""Whether the carrier's weekly report is late: the first one, too."""

import datetime as dt

from django.db.models import Max, QuerySet

from orders.calling import gateway
from orders.models import CarrierAccount, Order
from shipping_portal.billing.models import BillingReport

LATE_AFTER = dt.timedelta(days=9)  # a week, and two days in which it is written and sent


def overdue(now: dt.datetime) -> list[dt.datetime]:
    """Return for each account without its report when the first parcel was booked that should stand in it."""
    return [since for account in gateway.accounts() if (since := _overdue(account, now))]


def _overdue(account: CarrierAccount, now: dt.datetime) -> dt.datetime | None:
    """Look for a parcel booked after the last report came. While nobody books, no report is due."""
    reports = BillingReport.objects.filter(account=account).exclude(state=BillingReport.State.VOID)
    last = reports.aggregate(at=Max("uploaded_at"))["at"]
    if last and last > now - LATE_AFTER:
        return None
    booked = unbilled().filter(account=account, booked_at__lte=now - LATE_AFTER)
    if last:
        booked = booked.filter(booked_at__gt=last)
    return booked.values_list("booked_at", flat=True).first()


def unbilled() -> QuerySet[Order]:
    """Return what was booked and stands in no report yet, the first first."""
    return Order.objects.filter(unbilled__gt=0, booked_at__isnull=False).order_by("booked_at")
