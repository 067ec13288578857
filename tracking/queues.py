"""Define the operators' queues about scans, webhooks and the carrier's words."""

import datetime as dt

from django.db.models import Q

from orders.calling import carrier_settings
from shipping_portal.accounts.adminkit.queues import WEEK, Wait
from tracking.models import WebhookDelivery

State = WebhookDelivery.State
UNREAD_AFTER = dt.timedelta(minutes=1)


def unmatched_references(now: dt.datetime | None = None) -> Q:
    """Match references with scans but without an order or a watch."""
    of_tests = {
        configured.contract.nobodys_reference for configured in carrier_settings.all_settings()
    }
    return Q(order=None, watches=None, last_scan_at__isnull=False) & ~Q(reference__in=of_tests)


def unread_webhooks(now: dt.datetime) -> Q:
    """Match recent webhook bodies without a usable scan, and any unread for over a minute."""
    odd = Q(state__in=[State.QUARANTINED, State.DIFFERS], received_at__gte=now - 2 * WEEK)
    return odd | Q(state=State.NEW, received_at__lte=now - UNREAD_AFTER)


PARCELS = {
    "nobody": Wait(
        "Scans for unknown references",
        unmatched_references,
        "Compare with Booking outcome unknown: one may have received this reference.",
    )
}
DELIVERIES = {
    "reading": Wait(
        "Webhooks without a scan",
        unread_webhooks,
        "Read the reason. Once the contract file covers the format, open the list and press"
        " Reprocess these.",
        "received_at",
        term=WEEK,
    )
}
WORDS = {
    "0": Wait(
        "Unmapped carrier terms",
        Q(progress="", is_known=False),
        "Map each one. Its parcels' tracking status is recalculated.",
        "first_seen_at",
        term=WEEK,
    )
}
