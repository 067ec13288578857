"""Carry out an operator's decision on an unclear booking: adopt, not booked, or keep waiting.

An order wrongly resolved as “not booked” can be opened again.
"""

import datetime as dt
from typing import Any

from django.db import IntegrityError, transaction

from orders.booking import duplicate_bookings
from orders.booking.recording import RESOLVED_OTHERWISE
from orders.calling import waiting
from orders.labels import fetching
from orders.models import BookingAttempt, Order
from orders.models.statuses import UNCLEAR_BOOKING, Status
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Audit
from shipping_portal.billing.charges import matching
from shipping_portal.jobs.registry import enqueue
from shipping_portal.refused import Refused
from shipping_portal.staff.resolution import verifying

SHORTEST_REASON = 10
State = BookingAttempt.State


def adopt_reference(
    order: Order,
    reference: str,
    *,
    by: Any,
    reason: str,
    now: dt.datetime,
    carrier_order_id: str = "",
    heard_at: dt.datetime | None = None,
) -> None:
    """Adopt the reference that an operator found; see verifying.confirm. Raises Refused."""
    _require_reason(reason)
    _require_open_case(order)
    try:
        with waiting.at_a_page(by):
            found = verifying.confirm_reference(
                order, reference, carrier_order_id.strip(), heard_at=heard_at
            )
    except waiting.Full as refusal:
        raise Refused(str(refusal)) from refusal
    reference, summary = found.reference, f"{found}: {verifying.with_doubt(reason, found.doubt)}"
    fields = {
        "carrier_reference": reference,
        "carrier_order_id": found.order_id,
        "booked_at": now,
        "due_at": now,
        "problem": {},
        "search": f"{order.search_text()} {reference.lower()}",
    }
    try:
        with transaction.atomic():
            move_to(order, Status.BOOKED, by=by, reason=f"adopted {summary}", at=now, **fields)
            _accept_attempt(order, reference, now)
            duplicate_bookings.note_answers(order, at=now)
            fetching.request_labels(order, (), at=now)
            enqueue("open", order.pk)
            Audit.write(
                "reference adopted", order, by=by, sender=order.sender, reason=summary, at=now
            )
    except (Order.WrongStatus, IntegrityError) as error:
        raise Refused("This order is already resolved.") from error
    # Also match what was charged before the owner was known.
    matching.match_late()


def not_booked(order: Order, *, by: Any, reason: str, now: dt.datetime) -> None:
    """Mark an order that the carrier doesn't have as not booked; the sender may book again.

    Raises Refused.
    """
    _require_reason(reason)
    text = "It wasn't booked and you weren't charged."
    try:
        with transaction.atomic():
            _refuse_while_sending(order, now)
            problem = {"text": text, "fields": {}}
            move_to(
                order, Status.NOT_BOOKED, by=by, reason=reason, at=now, due_at=None, problem=problem
            )
            _give_up_unknown(order, now)
            Audit.write(
                "resolved as not booked", order, by=by, sender=order.sender, reason=reason, at=now
            )
    except Order.WrongStatus as error:
        raise Refused("This order is already resolved.") from error


def is_resolved_as_not_booked(order: Order) -> bool:
    """Return whether an operator decided that the carrier doesn't have it and nothing is sent."""
    given_up = order.attempts.filter(state=State.NOT_CREATED)
    return order.status in RESOLVED_OTHERWISE and order.erased_at is None and given_up.exists()


@transaction.atomic
def open_again(order: Order, *, by: Any, reason: str, now: dt.datetime) -> None:
    """Make an order that was wrongly resolved as not booked a conflict. Raises WrongStatus."""
    move_to(order, Status.CONFLICT, by=by, reason=reason, at=now, due_at=None, problem={})
    Audit.write("opened again", order, by=by, sender=order.sender, reason=reason, at=now)


def keep_waiting(order: Order, *, by: Any, reason: str, now: dt.datetime) -> None:
    """Leave the case open for lack of evidence, and store the reason. Raises Refused."""
    _require_reason(reason)
    order.refresh_from_db()
    _require_open_case(order)
    Audit.write("kept waiting", order, by=by, sender=order.sender, reason=reason, at=now)


def _accept_attempt(order: Order, reference: str, now: dt.datetime) -> None:
    """Accept the attempt whose reply named this reference, otherwise the last one not refused.

    It becomes the order's one live attempt.
    """
    attempts = order.attempts.order_by("pk")
    it = (
        attempts.filter(seen_reference__upper=reference.upper()).last()
        or attempts.exclude(state=State.REJECTED).last()
    )
    if it is None:
        return
    _give_up_unknown(order, now, but=it)
    attempts.filter(pk=it.pk).update(state=State.ACCEPTED, done_at=now)


def _give_up_unknown(order: Order, now: dt.datetime, *, but: BookingAttempt | None = None) -> None:
    """Give up an order's unknown attempts, once its own row is locked.

    Orders are locked before attempts.
    """
    others = order.attempts.filter(state=State.UNKNOWN)
    if but:
        others = others.exclude(pk=but.pk)
    others.update(state=State.NOT_CREATED, done_at=now)


def _refuse_while_sending(order: Order, now: dt.datetime) -> None:
    """Lock the order and refuse while a worker may send it again, which may still book it."""
    Order.locked(order.pk)
    if order.attempts.filter(lease_until__gt=now).exists():
        raise Refused("We're asking the carrier again right now. Decide in half a minute.")


def _require_open_case(order: Order) -> None:
    """Refuse unless the case was open when read; move_to checks that it still is."""
    if order.status not in UNCLEAR_BOOKING:
        raise Refused("This order is already resolved.")


def _require_reason(reason: str) -> None:
    if len(reason.strip()) < SHORTEST_REASON:
        raise Refused(f"Give a reason of at least {SHORTEST_REASON} characters.")
