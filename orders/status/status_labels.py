"""Word an order's state, and group orders by it.

The sentences are in orders/status/status_sentences.py.
"""

import datetime as dt

from django.db.models import Q

from orders.booking import verdict
from orders.booking.refused_fields import with_full_stop
from orders.models import BookingAttempt, Order
from orders.models.account import BOOKINGS, QUOTES, Pause
from orders.models.statuses import BEING_CANCELLED, MOVING, WITH_THE_SENDER, Progress, Status

TROUBLED = (
    Progress.DELIVERY_ATTEMPTED,
    Progress.HELD,
    Progress.CANNOT_DELIVER,
    Progress.DAMAGED,
    Progress.LOST,
    Progress.RETURNING,
    Progress.EXPIRED,
)
UNBOOKED = (Status.DRAFT, Status.REJECTED, Status.NOT_BOOKED)
UNCLEAR = (Status.UNCONFIRMED, Status.CONFLICT, Status.CANCEL_UNCONFIRMED)
WITH_REASON = (Status.DRAFT, Status.REJECTED, Status.UNCONFIRMED, Status.CANCEL_UNCONFIRMED)
# As reason_to_look asks of one order.
HAS_REASON = Q(status__in=WITH_REASON) | Q(cancel_refused_at__isnull=False)
ASKED = Q(status=Status.CANCEL_ASKED)
REFUSED_CANCEL = Q(status=Status.BOOKED, cancel_refused_at__isnull=False)


NOT_CANCELLED = "Not cancelled, still booked"
LABELS = {Status.DRAFT: "Needs your yes", Status.REJECTED: "Not booked"}
OF_RETURNS = {Progress.DELIVERED: "Arrived back", Progress.RETURNING: "Going back to them"}


def status_label(order: Order, now: dt.datetime) -> tuple[str, str]:
    """Return the state and its chip's words: money first, the parcel's place only once booked."""
    progress = order.shown_progress(now)
    if order.cancel_refused_at:
        return "cancel_refused", NOT_CANCELLED
    if order.is_booked and progress:
        own = OF_RETURNS.get(Progress(progress)) if order.returns_id else None
        return progress, own or str(Progress(progress).label)
    if order.used_after_cancel_at:
        return "used_after_cancel", "Label used after cancelling"
    own = "" if order.erased_at else LABELS.get(Status(order.status))
    return order.status, own or order.get_status_display()


def reason_to_look(order: Order) -> str:
    """Return why somebody has to look at an order, in the carrier's words if it was rejected."""
    has_reason = order.status in WITH_REASON or order.cancel_refused_at
    text = str(order.problem.get("text", "")) if has_reason else ""
    return with_full_stop(text) if text else ""


def waits_for(order: Order, now: dt.datetime) -> Pause | None:
    """Return what delays a due booking: the carrier's stop, or a pause of bookings or prices."""
    if order.status != Status.BOOKING:
        return None
    pause = order.account.pause_of(BOOKINGS, now) or order.account.stop_as_a_pause()
    if pause is None and verdict.is_old(order, now):
        pause = order.account.pause_of(QUOTES, now)
    if pause and order.attempts.filter(state=BookingAttempt.State.IN_FLIGHT).exists():
        # It was sent before the pause, so its reply is still processed.
        return None
    return pause


def _booked_with(progress: tuple[Progress, ...]) -> Q:
    return Q(status=Status.BOOKED, progress__in=progress)


# What its sender deals with, and can then dismiss (orders/status/dismissing.py).
NEEDS_SENDER = (
    Q(status__in=UNBOOKED)
    | _booked_with((Progress.PICKUP_FUTILE, *TROUBLED))
    | REFUSED_CANCEL
    | Q(used_after_cancel_at__isnull=False)
)
NOT_DISMISSED = Q(dismissed_at=None)
# A missed pickup without a scan is derived from the clock, so the order stays among those waiting.
GROUPS: dict[str, tuple[str, Q]] = {
    "attention": ("Needs you", Q(status__in=UNCLEAR) | NEEDS_SENDER & NOT_DISMISSED),
    "waiting": ("Waiting for pickup", _booked_with(WITH_THE_SENDER)),
    "moving": ("On the way", _booked_with(MOVING)),
    "problem": ("Delivery problem", _booked_with(TROUBLED)),
    "delivered": ("Delivered", _booked_with((Progress.DELIVERED,))),
    "cancelled": (
        "Cancelled",
        Q(status__in=(*sorted(BEING_CANCELLED), Status.CANCELLED)),
    ),
    "refund_asked": ("Refund requested", ASKED),
    "unbooked": (
        "Not booked",
        Q(status__in=(*UNBOOKED, Status.BOOKING, Status.UNCONFIRMED, Status.CONFLICT)),
    ),
}
