"""Write webhook events about parcels, in the transaction that causes them."""

import datetime as dt
from typing import Any

from django.conf import settings
from django.urls import reverse

from orders.models import Label, Order, OrderChange
from orders.models.statuses import BEING_CANCELLED, Status
from shipping_portal.accounts.models import WebhookKind
from shipping_portal.accounts.webhooks import events
from shipping_portal.accounts.webhooks.events import Happened

OF_CANCELS: dict[str, str] = {
    Status.CANCELLED: "cancel.accepted",
    Status.CANCEL_ASKED: "cancel.asked",
    Status.CANCEL_UNCONFIRMED: "cancel.unconfirmed",
}


def note_move(change: OrderChange) -> None:
    """Write that a booking or cancellation has a result, or that its result is unknown."""
    order, name = change.order, type_of_move(change.old, change.new)
    if name:
        data = {"status": str(change.new)}
        kind = WebhookKind(name.partition(".")[0])
        events.note(
            order.sender, kind, lambda: _parcel_event(name, order, change.at, **data), change.at
        )


def type_of_move(old: str, new: str) -> str:
    """Return the type of an event, or "" for a change that its own sender made."""
    if new in {Status.BOOKING, Status.CANCELLING} or (old, new) == (
        Status.NOT_BOOKED,
        Status.DRAFT,
    ):
        return ""
    if old in BEING_CANCELLED and new == Status.BOOKED:
        return "cancel.refused"
    return OF_CANCELS.get(new, f"order.{new}")


def note_progress(order: Order, now: dt.datetime) -> None:
    """Write that tracking has changed: where the parcel is, and from when on."""

    def made() -> Happened:
        progress = str(order.progress)
        return _parcel_event(
            "tracking.changed", order, now, progress=progress, progress_at=order.progress_at
        )

    events.note(order.sender, WebhookKind.TRACKING, made, now)


def note_label(label: Label, at: dt.datetime) -> None:
    """Write that a label is ready. The file itself is fetched from the API."""

    def made() -> Happened:
        shown = {"size": label.size, "is_worthless": label.is_worthless}
        return _parcel_event("label.ready", label.order, at, label=shown)

    events.note(label.order.sender, WebhookKind.LABEL, made, at)


def _parcel_event(name: str, order: Order, at: dt.datetime, **more: Any) -> Happened:
    facts = {"id": order.uuid, "reference": order.carrier_reference, "url": address_of(order)}
    return Happened(name, order.uuid.hex, at, {**facts, **more})


def address_of(order: Order) -> str:
    """Return where a parcel is in the API."""
    return settings.SITE_URL + reverse("api:get_parcel", args=[order.uuid])
