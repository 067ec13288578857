"""Undo an adoption, when an operator chose another order's reference for an unclear booking.

undo     if nobody was given its label: the order is unclear again, as before
contest  if a person has its label, or acted on its charges: a conflict to be resolved

Either way the reference and everything that came with it are removed, so that its own order can
have them.
"""

import datetime as dt
from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.db.models import Min

from orders.labels import files
from orders.models import (
    BookingAttempt,
    CarrierAccount,
    Label,
    LabelBytes,
    Order,
    OrderChange,
    Restore,
)
from orders.models.statuses import UNCLEAR_BOOKING, Progress, Status
from orders.notices import notifications
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Audit, Sender
from shipping_portal.billing.charges import matching
from shipping_portal.formats import admin_time
from shipping_portal.refused import Refused
from tracking import polling

NOTHING_BOOKED: dict[str, Any] = {
    "carrier_reference": None,
    "carrier_order_id": "",
    "carrier_pickup_date": None,
    "booked_at": None,
    "cancel_refused_at": None,
    "is_cancellable": None,
    "problem": {},
    "printed_at": None,
    "printed_by": None,
    "progress": Progress.NONE,
    "progress_at": None,
    "due_at": None,  # an operator decides, and it isn't repeated: see resolving
}


def is_adopted(order: Order) -> bool:
    """Return whether the order's reference comes from an operator, not from a carrier's reply."""
    if not order.is_booked:
        return False
    bookings = order.changes.filter(new=Status.BOOKED, old__in=(*UNCLEAR_BOOKING, Status.BOOKING))
    last: OrderChange | None = bookings.order_by("-pk").first()
    return last is not None and last.old in UNCLEAR_BOOKING and last.by_id is not None


def undo_obstacle(order: Order) -> str:
    """Return why the adoption can only be contested, or "" while it can be undone."""
    first = order.labels.filter(served_at__isnull=False).order_by("served_at").first()
    if first and first.served_at:
        return f"Its label was first opened at {admin_time(first.served_at)}."
    stored = order.labels.aggregate(at=Min("stored_at"))["at"]
    if stored and Restore.objects.since(stored).exists():
        return "Its label may have been opened after the restored backup."
    if order.printed_at:
        return f"Its label was marked as printed at {admin_time(order.printed_at)}."
    if matching.has_manual_changes(order):
        return "A charge of it was disputed or reversed."
    return ""


@transaction.atomic
def undo_adoption(order: Order, *, by: Any, reason: str, now: dt.datetime) -> None:
    """Make the order unclear again. Raises Refused."""
    _lock_order(order)
    if why := undo_obstacle(order):
        raise Refused(f"{why} So it can't simply be undone: press “Contest the adoption” instead.")
    _withdraw_adoption(order, Status.UNCONFIRMED, "adoption undone", by=by, reason=reason, now=now)


@transaction.atomic
def contest_adoption(order: Order, *, by: Any, reason: str, now: dt.datetime) -> None:
    """Make the order a conflict. Raises Refused."""
    _lock_order(order)
    _withdraw_adoption(order, Status.CONFLICT, "adoption contested", by=by, reason=reason, now=now)


def _lock_order(order: Order) -> None:
    """Lock the order, then its labels.

    A label that is being served now finishes first, or fails.
    """
    CarrierAccount.locked(order.account_id)  # like posting.post: it has the lines
    Sender.locked(order.sender_id)  # its totals change, and it is locked before orders
    now = Order.locked(order.pk)
    list(order.labels.select_for_update())
    if now.carrier_reference != order.carrier_reference or not is_adopted(now):
        raise Refused("It is no longer booked under the reference you saw. Reload its page.")


def _withdraw_adoption(
    order: Order, status: str, action: str, *, by: Any, reason: str, now: dt.datetime
) -> None:
    summary = f"{', '.join(_describe_undone(order))}: {reason}"
    matching.release_lines(order)
    move_to(
        order,
        status,
        by=by,
        reason=f"{action} {summary}",
        at=now,
        search=order.search_text(),
        **NOTHING_BOOKED,
    )
    order.attempts.filter(state=BookingAttempt.State.ACCEPTED).update(
        state=BookingAttempt.State.UNKNOWN
    )
    # Which of several replies is the order's is undecided again.
    order.attempts.update(duplicate_booking_at=None)
    files.forget(LabelBytes.objects.filter(label__order=order))
    order.labels.all().delete()
    notifications.forget_progress(order)
    polling.close_parcel(order)
    Audit.write(action, order, by=by, sender=order.sender, reason=summary, at=now)


def _describe_undone(order: Order) -> Iterator[str]:
    """Yield what is removed for good, including files that somebody may have."""
    yield str(order.carrier_reference)
    if order.carrier_order_id:
        yield f"order id {order.carrier_order_id}"
    for label in Label.objects.filter(order=order, served_at__isnull=False).order_by("size"):
        yield f"{label.size} label given out {admin_time(label.served_at)}, sha256 {label.sha256}"
