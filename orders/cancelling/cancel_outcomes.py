"""Record a cancellation's outcome on its attempt and order, found by a worker or an operator.

confirmed     cancelled; tracking watches its label for a while
asked         its label is closed; the order is looked at once a day until the carrier decides
stays booked  the sender reads why, and may ask again
unresolved     tried again after a back-off, and after eight tries left to an operator
"""

import datetime as dt
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from orders.booking import answers, recording
from orders.cancelling.cancel_verdict import (
    CancelAsked,
    Confirmed,
    Outcome,
    StaysBooked,
    Unresolved,
)
from orders.models import CancelAttempt, Order
from orders.models.statuses import BEING_CANCELLED, STILL_AT_SENDER, Status
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Audit, User
from shipping_portal.carrier.errors import (
    AccountStopped,
    CarrierError,
    Crowded,
    OutcomeUnknown,
    Rejected,
)
from shipping_portal.carrier.messages import Booked, Cancelled
from shipping_portal.jobs.models import backoff

Columns = dict[str, Any]  # values by column name

State = CancelAttempt.State
ASK_AN_OPERATOR_AFTER = 8
LOOK_AGAIN = dt.timedelta(days=1)
FOUND_BOOKED = "We asked the carrier: it is still booked there."
ANSWERED: Columns = {"problem": {}, "cancel_refused_at": None}


def record(order: Order, attempt: CancelAttempt, outcome: Outcome) -> None:
    """Store an outcome.

    A confirmation is always stored, anything else only if the attempt hasn't changed since.
    """
    now = timezone.now()
    new: str
    changes = {}
    match outcome:
        case CancelAsked(answer):
            # Unknown until the carrier decides: it may still refuse.
            new, reason = Status.CANCEL_ASKED, "asked for; the carrier hasn't decided yet"
            fields = {"state": State.UNKNOWN, **_answer_fields(answer)}
            changes = {**ANSWERED, "tries": 0}
        case Unresolved(reason, text, error):
            new, fields = Status.CANCEL_UNCONFIRMED if text else order.status, _evidence(outcome)
            changes = {"problem": {"kind": "unclear", "text": text}}
            if reason and isinstance(error, AccountStopped):
                answers.report_fault(error, order.account, now, operation="cancel")
        case StaysBooked(refusal):
            answers.report_fault(refusal, order.account, now, operation="cancel")
            text = answers.why_not_cancelled(refusal, order)
            new, reason = Status.BOOKED, f"not cancelled: {text}"
            fields = {
                "state": State.REFUSED,
                "done_at": now,
                "answer": text[:500],
                **_reply(refusal),
            }
        case Confirmed(answer):
            return recording.persist(partial(confirm, order, attempt.pk, answer))
    with transaction.atomic(durable=True):
        known = Order.locked(order.pk)
        if not attempt.change(**fields):
            return None
        if new == Status.BOOKED:
            # Due now for tracking: a parcel cancelled right after its booking may not be opened
            # yet.
            changes = {**_refused(known, text, now), "due_at": now}
        if order.status != new:
            move_to(order, new, reason=reason, at=now, **changes)
    if order.status == Status.CANCEL_ASKED:
        order.postpone(now + LOOK_AGAIN)
    elif isinstance(outcome, Unresolved):
        _try_later(order, outcome, now)
    return None


def _evidence(found: Unresolved) -> Columns:
    """Return what the attempt stores about an outcome that isn't resolved.

    It is the reason, and any reply that we can't rely on.
    """
    fields: Columns = {"state": State.UNKNOWN if found.was_asked else State.WANTED}
    if found.why:
        fields |= {"answer": found.why[:500], **_reply(found.error)}
    return fields


def _reply(error: CarrierError | None) -> Columns:
    if not isinstance(error, Rejected | OutcomeUnknown):
        return {}
    return {"http_status": error.status or None, "response": error.body}


def _answer_fields(answer: Cancelled) -> Columns:
    return {
        "http_status": answer.status,
        "response": answer.body,
        "answer": answer.message[:500],
    }


def _try_later(order: Order, found: Unresolved, now: dt.datetime) -> None:
    """Retry a cancellation after a back-off.

    It isn't retried after eight tries, or if only an operator can decide.
    """
    if isinstance(found.error, Crowded):  # a call without a slot isn't a try
        order.postpone(now + dt.timedelta(seconds=found.error.retry_after or 0.0))
    elif found.is_for_operator:
        order.finish(**{"problem": {"kind": "unclear", "text": found.text}} if found.text else {})
    elif order.status == Status.CANCEL_UNCONFIRMED and order.tries + 1 >= ASK_AN_OPERATOR_AFTER:
        order.finish()
    else:
        order.retry(now + backoff(order.tries + 1, first=2))


def confirm(asked: Order, attempt_id: int, answer: Cancelled) -> None:
    """Store a clear acceptance. It is a fact, whichever worker has the order now.

    `asked` is the order as it was when the carrier was asked.
    """
    now = timezone.now()
    fields = _answer_fields(answer)
    with transaction.atomic(durable=True):
        order = Order.locked(asked.pk)
        if not _is_same_booking(asked, order):
            return
        attempt = order.cancels.filter(pk=attempt_id)
        # whether for this attempt or a later one, it is cancelled
        if order.status in BEING_CANCELLED:
            order.cancels.filter(state__in=CancelAttempt.LIVE).update(state=State.DONE, done_at=now)
            attempt.update(state=State.DONE, done_at=now, **fields)
            # Due now for tracking, which watches the label of a cancelled order too (interface
            # §2.5).
            changes = {**ANSWERED, "cancelled_at": now, "due_at": now}
            move_to(order, Status.CANCELLED, reason="the carrier cancelled it", at=now, **changes)
        elif order.is_booked and attempt.update(state=State.UNKNOWN, done_at=None, **fields):
            reason = "the carrier said yes late, after it was found still booked"
            move_to(order, Status.CANCELLING, reason=reason, at=now, due_at=None, **ANSWERED)
            problem = {"kind": "unclear", "text": "The carrier said no, and yes after that"}
            # In this status it waits for an operator.
            move_to(order, Status.CANCEL_UNCONFIRMED, reason=reason, at=now, problem=problem)


def _is_same_booking(asked: Order, known: Order) -> bool:
    """Return whether an answer is about the booking that the order now has.

    An operator may have undone that booking's adoption and adopted the right one since.
    """
    return asked.carrier_order_id == known.carrier_order_id


def _refused(order: Order, why: str, now: dt.datetime) -> Columns:
    """Return what the sender sees when a cancellation is refused.

    It stays until the parcel moves, is cancelled, is kept, or cancelling is requested again.
    """
    is_there = order.progress in STILL_AT_SENDER
    return {
        "problem": {"kind": "cancel_refused", "text": why},
        "cancel_refused_at": now if is_there else None,
    }


def resolve(order: Order, *, is_cancelled: bool, by: User, reason: str, now: dt.datetime) -> None:
    """Resolve an unclear or undecided cancellation by what the carrier said to an operator.

    Raises Order.WrongStatus if it is already resolved, or while a worker is asking the carrier.
    """
    changes: Columns
    ended: Columns
    if is_cancelled:
        new, ended = Status.CANCELLED, {"state": State.DONE}
        changes = {**ANSWERED, "cancelled_at": now}
    else:
        new, ended = Status.BOOKED, {"state": State.REFUSED, "answer": FOUND_BOOKED}
        changes = _refused(order, FOUND_BOOKED, now)
    if order.status not in {Status.CANCEL_UNCONFIRMED, Status.CANCEL_ASKED}:
        raise Order.WrongStatus("It is resolved already.")
    with transaction.atomic():
        move_to(order, new, by=by, reason=reason, at=now, due_at=now, **changes)
        if not order.cancels.filter(state=State.UNKNOWN).update(done_at=now, **ended):
            raise Order.WrongStatus(
                "The carrier is being asked at this moment. Decide in half a minute."
            )
        action = "cancellation confirmed" if is_cancelled else "found still booked"
        Audit.write(action, order, by=by, sender=order.sender, reason=reason, at=now)


def record_carrier_cancel(order: Order, viewed: Booked, *, why: str, is_asked: bool) -> None:
    """Store that the carrier shows a booked order as cancelled, and notify its sender.

    `is_asked`: the carrier shows a request that it hasn't decided yet.
    """
    now = timezone.now()
    with transaction.atomic(durable=True):
        asked, order = order, Order.locked(order.pk)
        if not order.is_booked or not _is_same_booking(asked, order):
            return
        CancelAttempt.objects.create(
            order=order,
            by=None,
            why=why,
            state=State.UNKNOWN if is_asked else State.DONE,
            asked_at=now,
            done_at=None if is_asked else now,
            answer=viewed.state[:500],
            http_status=viewed.status,
            response=viewed.body,
        )
        for operation in (Status.CANCELLING, Status.CANCEL_UNCONFIRMED):
            move_to(order, operation, reason=why, at=now)
        if is_asked:
            due = now + LOOK_AGAIN
            return move_to(order, Status.CANCEL_ASKED, reason=why, at=now, due_at=due)
        move_to(order, Status.CANCELLED, reason=why, at=now, cancelled_at=now, due_at=now)
