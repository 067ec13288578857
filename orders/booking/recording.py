"""Store a booking call's outcome on its attempt and its order. Each outcome decides who acts next.

accepted         booked; label and tracking rows are due now
rejected         the sender reads why and corrects it
not sent         this order is due again after a back-off
account stopped  every booking waits for one test in five minutes; an operator is alerted
unknown          looked for, or sent again under the same key if that is safe; otherwise an operator
                 decides; never a new key
"""

import datetime as dt
import time
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.conf import settings
from django.db import (
    IntegrityError,
    InterfaceError,
    OperationalError,
    close_old_connections,
    transaction,
)
from django.utils import timezone

from orders.booking import answers, duplicate_bookings
from orders.calling import gateway
from orders.labels import fetching
from orders.models import BookingAttempt, CarrierAccount, Order
from orders.models.statuses import Status
from orders.notices import notifications
from orders.status.references import is_same
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Audit
from shipping_portal.carrier.errors import (
    AccountStopped,
    CarrierError,
    Crowded,
    NotSent,
    OutcomeUnknown,
    Rejected,
)
from shipping_portal.carrier.messages import Booked, Money
from shipping_portal.db.planned_statements import update_row
from shipping_portal.jobs.registry import enqueue

State = BookingAttempt.State
FIRST_LOOK_SECONDS = 5
PERSIST_SECONDS = 60.0
# an answer resolves these; in any other status, somebody has already decided
AWAITED = {Status.BOOKING, Status.UNCONFIRMED}
# An order reported as not booked, and the statuses its sender may have moved it to since.
RESOLVED_OTHERWISE = {Status.NOT_BOOKED, Status.DRAFT, Status.REJECTED}
LONGEST_URL = 300
ONLY_A_TEST = (
    "the carrier says that its booking is a test, so labels are worthless: this is a key of its"
    " test mode"
)
CENT = Decimal("0.01")
# These functions are called while an order is booked. Each returns whether its part is done. If one
# isn't done, the order stays due for it. An app above this one adds its own.
WHEN_BOOKED: list[Callable[[Order, str, dt.datetime], bool]] = []


def record_outcome(attempt: BookingAttempt, outcome: Booked | CarrierError) -> None:
    """Store an outcome, retrying for a minute if the database is down.

    After that the lease expires and makes the attempt unknown.
    """
    persist(lambda: _record(attempt, outcome))


def _record(attempt: BookingAttempt, outcome: Booked | CarrierError) -> None:
    now = timezone.now()
    match outcome:
        case Booked():
            accept(attempt, outcome, at=now)
        case Rejected():
            reject(attempt, outcome, at=now)
        case NotSent():
            not_sent(attempt, outcome, at=now)
        case AccountStopped():
            account_stopped(attempt, outcome, at=now)
        case OutcomeUnknown():
            record_unknown(attempt, str(outcome), at=now, answer=outcome)
        case _:
            record_unknown(attempt, type(outcome).__name__, at=now)


def accept(attempt: BookingAttempt, booked: Booked, *, at: dt.datetime) -> None:
    """Book an order once. A known reference, or a resolved attempt, makes it a conflict instead."""
    try:
        with transaction.atomic(durable=True):
            order = Order.locked(attempt.order_id)
            facts = {
                "http_status": booked.status,
                "response": booked.body,
                "seen_reference": booked.reference,
                "done_at": at,
            }
            live = {"state": (State.IN_FLIGHT, State.UNKNOWN)}
            is_awaited = order.status in AWAITED and _swap(
                attempt, live, state=State.ACCEPTED, **facts
            )
            if is_awaited:
                _book(order, attempt, booked, at)
            else:
                _late_acceptance(order, attempt, booked, at)
    except IntegrityError:
        same = Order.objects.filter(
            account=order.account, carrier_reference__upper=booked.reference.upper()
        )
        if not same.exists():
            raise  # it broke a rule other than one order per reference
        record_conflict(
            attempt,
            f"the carrier answered with {booked.reference}, which another order has",
            booked,
            at=at,
        )
        return
    # Not earlier: posting a report holds the account's row while it waits for an order's row.
    if is_awaited and _is_worthless(booked):
        order.account.stop(ONLY_A_TEST, at)
    elif is_awaited:
        order.account.note_answer(at)
    elif order.is_held and not is_same(order.carrier_reference or "", booked.reference):
        # One key got two references, so this carrier's repeats can't be trusted.
        CarrierAccount.objects.filter(pk=order.account_id, replays_off_at=None).update(
            replays_off_at=at
        )


def _book(order: Order, attempt: BookingAttempt, booked: Booked, at: dt.datetime) -> None:
    fields = _booked_fields(order, booked, at)
    reason = "the carrier booked it"
    if booked.price is None:
        reason += "; its reply names no price we can use"
    is_done = all(begin(order, booked.reference, at) for begin in WHEN_BOOKED)
    due = None if is_done else at
    move_to(order, Status.BOOKED, reason=reason, at=at, due_at=due, **fields)
    notifications.notify_booking(order, at)
    if order.generation > 1 or attempt.replays:  # after a first attempt there is no other answer
        duplicate_bookings.note_answers(order, at=at)
    fetching.request_labels(order, booked.labels, at=at, is_worthless=_is_worthless(booked))
    if not is_done:
        enqueue("open", order.pk)


def _is_worthless(booked: Booked) -> bool:
    """Return whether a test key made the label, outside the demo."""
    return booked.is_test and not settings.DEMO


def _booked_fields(order: Order, booked: Booked, at: dt.datetime) -> dict[str, Any]:
    return {
        **_price_fields(order, booked.price),
        "carrier_order_id": booked.order_id,
        "carrier_reference": booked.reference,
        "is_cancellable": booked.is_cancellable,
        **({"eta_from": booked.eta_from, "eta_to": booked.eta_to} if booked.eta_to else {}),
        "carrier_pickup_date": _pickup_day(order, booked),
        **_breakdown_fields(order, booked),
        "public_tracking_url": (
            booked.tracking_url if len(booked.tracking_url) <= LONGEST_URL else ""
        ),
        "booked_at": at,
        "problem": {},
        "search": f"{order.search_text()} {booked.reference.lower()}",
    }


def _pickup_day(order: Order, booked: Booked) -> dt.date | None:
    """Return the carrier's pickup day, else the requested one, else the quoted one."""
    if order.first_mile == "drop-off":
        return None
    return booked.pickup_date or order.pickup_date or order.quoted_pickup_date


def _price_fields(order: Order, booked: Money | None) -> dict[str, Any]:
    """Return the carrier's charge, and whether the sender agreed to it."""
    if booked is None:
        return {"charged_price": None}
    amount = booked.amount.quantize(CENT, ROUND_HALF_UP)
    is_comparable = booked.currency == order.currency
    is_agreed = is_comparable and amount <= order.price
    return {
        "charged_price": amount if is_comparable else None,
        "unagreed_price": None if is_agreed else amount,
        "unagreed_currency": "" if is_agreed else booked.currency,
    }


def _breakdown_fields(order: Order, booked: Booked) -> dict[str, Any]:
    """Return the carrier's parts of the price.

    If there are none, the quoted parts stay as long as the price is the quoted one.
    """
    parts = [[name, str(part.amount), part.currency] for name, part in booked.breakdown]
    is_as_quoted = booked.price in {None, Money(order.price, order.currency)}
    return {} if not parts and is_as_quoted else {"breakdown": parts}


def _late_acceptance(
    order: Order, attempt: BookingAttempt, booked: Booked, at: dt.datetime
) -> None:
    """Store a late acceptance of something already resolved as evidence; overwrite nothing."""
    if is_same(order.carrier_reference or "", booked.reference):
        return
    BookingAttempt.objects.filter(pk=attempt.pk).update(
        seen_reference=booked.reference, response=booked.body
    )
    reason = f"the carrier answered late with {booked.reference}"
    unsent = (
        order.status == Status.BOOKING
        and not order.attempts.filter(state__in=attempt.LIVE).exists()
    )
    if unsent or order.status in RESOLVED_OTHERWISE:
        move_to(order, Status.CONFLICT, reason=reason, at=at, due_at=None)
    else:
        duplicate_bookings.note_answers(order, at=at, answered=attempt)
    Audit.write("second reference", order, by=None, sender=order.sender, reason=reason, at=at)


def reject(attempt: BookingAttempt, error: Rejected, *, at: dt.datetime) -> None:
    with transaction.atomic(durable=True):
        order = Order.locked(attempt.order_id)
        facts = {
            "http_status": error.status,
            "response": error.body,
            "error": "; ".join([str(error), *answers.split_rejection(error).faults])[:300],
            "done_at": at,
        }
        live = {"state": (State.IN_FLIGHT, State.UNKNOWN)}
        if order.status in AWAITED and _swap(attempt, live, state=State.REJECTED, **facts):
            problem = answers.refusal_problem(
                error, order.sender, order.pickup["country"], to=order.receiver_country
            )
            move_to(
                order,
                Status.REJECTED,
                reason=f"refused: {problem['text']}",
                at=at,
                due_at=None,
                problem=problem,
            )
    order.account.note_answer(at)
    answers.report_fault(error, order.account, at, operation="book")


def not_sent(attempt: BookingAttempt, error: NotSent, *, at: dt.datetime) -> None:
    with transaction.atomic(durable=True):
        order = Order.locked(attempt.order_id)
        if _swap(
            attempt,
            {"state": State.IN_FLIGHT},
            state=State.NOT_SENT,
            error=str(error)[:300],
            done_at=at,
        ):
            order.try_later(at, error.retry_after)
    if isinstance(error, Crowded):  # the carrier wasn't even asked
        order.account.give_probe_back(at)
    else:
        order.account.note_failure(at)


def account_stopped(attempt: BookingAttempt, error: AccountStopped, *, at: dt.datetime) -> None:
    """Leave the order due and make every booking wait: the carrier refuses the account."""
    with transaction.atomic(durable=True):
        order = Order.locked(attempt.order_id)
        facts = {
            "http_status": error.status,
            "response": error.body,
            "error": error.reason[:300],
            "done_at": at,
        }
        if _swap(attempt, {"state": State.IN_FLIGHT}, state=State.REJECTED, **facts):
            order.postpone(at + dt.timedelta(seconds=60))
    order.account.stop(error.reason, at)


def record_unknown(
    attempt: BookingAttempt, why: str, *, at: dt.datetime, answer: OutcomeUnknown | None = None
) -> None:
    """Make an order unclear: it was sent, but there is no reply that we can trust.

    It is sent again under the same key if that is safe; otherwise an operator decides.
    """
    with transaction.atomic(durable=True):
        order = Order.locked(attempt.order_id)
        facts = {"error": why[:300], "done_at": at, "lease_until": at}
        if answer:
            facts |= {
                "http_status": answer.status,
                "response": answer.body,
                "seen_reference": answer.reference,
            }
        if not _swap(attempt, {"state": State.IN_FLIGHT}, state=State.UNKNOWN, **facts):
            return
        problem = {"kind": "unclear", "text": answers.why_unclear(answer)}
        due_at = _first_look_at(order, answer, at)
        move_to(
            order, Status.UNCONFIRMED, reason=why, at=at, due_at=due_at, tries=0, problem=problem
        )
        if answer and answer.conflict:
            move_to(order, Status.CONFLICT, reason=why, at=at, due_at=None)
    order.account.note_failure(at)


def record_conflict(attempt: BookingAttempt, why: str, booked: Booked, *, at: dt.datetime) -> None:
    """Make an order a conflict, which an operator resolves.

    A reply that can't be this parcel's is evidence.
    """
    with transaction.atomic(durable=True):
        order = Order.locked(attempt.order_id)
        facts = {
            "seen_reference": booked.reference,
            "response": booked.body,
            "http_status": booked.status,
        }
        _swap(attempt, {"state": State.IN_FLIGHT}, state=State.UNKNOWN, done_at=at, lease_until=at)
        BookingAttempt.objects.filter(pk=attempt.pk).update(error=why[:300], **facts)
        if order.status == Status.BOOKING:
            move_to(order, Status.UNCONFIRMED, reason=why, at=at)
        if order.status == Status.UNCONFIRMED:
            move_to(order, Status.CONFLICT, reason=why, at=at, due_at=None)


def _first_look_at(
    order: Order, answer: OutcomeUnknown | None, at: dt.datetime
) -> dt.datetime | None:
    """Return when to look for the booking or resend it, or None if only an operator can decide."""
    is_pending = answer is not None and answer.pending
    if not (is_pending or gateway.can_find(order.account) or gateway.replay_window(order.account)):
        return None
    return at + dt.timedelta(seconds=FIRST_LOOK_SECONDS * settings.TIME_SCALE)


def send_until(lease: dt.datetime) -> float:
    """Return the monotonic time after which nothing may be sent, for a lease that ends then."""
    return time.monotonic() + (lease - timezone.now()).total_seconds() - settings.CARRIER_DEADLINE


def _swap(attempt: BookingAttempt, where: dict[str, Any], **changes: Any) -> bool:
    return update_row(attempt, where, changes)


def persist(store: Callable[[], None]) -> None:
    """Store the carrier's reply, retrying for a minute while the database is down."""
    until = time.monotonic() + PERSIST_SECONDS
    while True:
        try:
            return store()
        except (OperationalError, InterfaceError):
            if time.monotonic() > until:
                raise
            close_old_connections()
            time.sleep(0.5)
