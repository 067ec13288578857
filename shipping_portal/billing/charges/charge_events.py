"""Write a webhook event for each bill line that counts, in the transaction that posts it."""

import datetime as dt
from itertools import groupby

from django.db.models import QuerySet

from orders.notices.parcel_events import address_of
from shipping_portal.accounts.models import WebhookKind
from shipping_portal.accounts.webhooks import events
from shipping_portal.accounts.webhooks.events import Happened
from shipping_portal.billing.models import Charge

AT_ONCE = 2000


def note_charges(lines: QuerySet[Charge], now: dt.datetime) -> None:
    """Write an event for each posted line whose sender has an endpoint. Others cost one query."""
    found = lines.filter(posted_at__isnull=False, sender__has_webhooks=True)
    rows = found.select_related("order", "sender").order_by("sender", "pk").iterator(AT_ONCE)
    for sender, charges in groupby(rows, key=lambda charge: charge.sender):
        if sender:
            happened = (_charge_event(charge, now) for charge in charges)
            events.note_events(sender, WebhookKind.CHARGE, happened, now)


def _charge_event(charge: Charge, now: dt.datetime) -> Happened:
    order = charge.order
    data = {
        "id": charge.pk,
        "parcel": order.uuid if order else None,
        "reference": charge.reference,
        "url": address_of(order) if order else None,
        "kind": charge.kind,
        "amount": charge.amount,
        "currency": charge.currency,
        "week": charge.week,
    }
    return Happened("charge.posted", order.uuid.hex if order else f"charge {charge.pk}", now, data)
