"""Check whether the carrier's weekly report is late, including the first one."""

import datetime as dt

from django.db.models import Max, QuerySet

from orders.calling import gateway
from orders.models import CarrierAccount, Order
from shipping_portal.billing.models import BillingReport

LATE_AFTER = dt.timedelta(days=9)  # a week, and two days to write and send it


def overdue_reports(now: dt.datetime) -> list[dt.datetime]:
    """Return by account when the first parcel of each overdue report was booked."""
    return [since for account in gateway.all_accounts() if (since := _overdue_since(account, now))]


def _overdue_since(account: CarrierAccount, now: dt.datetime) -> dt.datetime | None:
    """Find a parcel booked after the last report. Without bookings no report is due."""
    reports = BillingReport.objects.filter(account=account).exclude(state=BillingReport.State.VOID)
    last = reports.aggregate(at=Max("uploaded_at"))["at"]
    if last and last > now - LATE_AFTER:
        return None
    booked = unbilled_orders().filter(account=account, booked_at__lte=now - LATE_AFTER)
    if last:
        booked = booked.filter(booked_at__gt=last)
    return booked.values_list("booked_at", flat=True).first()


def unbilled_orders() -> QuerySet[Order]:
    """Return bookings that no report contains yet, the oldest first."""
    return Order.objects.filter(unbilled__gt=0, booked_at__isnull=False).order_by("booked_at")
