"""Cancelling: the twin of booking. Guarded by the interface's rules, asked of the carrier once, never guessed."""

import datetime as dt
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from orders.booking import answers, settling
from orders.calling import gateway
from orders.calling.contract import contract_of
from orders.cancelling.cancel_rules import NO_WAY, forbidden, refuse_cancel_unless_allowed
from orders.models import CancelAttempt, Order, Replacement, Restore
from orders.models.statuses import BEING_CANCELLED, STILL_AT_SENDER, Status
from orders.status.progress import Step, fold
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Audit, User
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import (
    AccountStopped,
    CarrierError,
    Crowded,
    NotSent,
    OperationOff,
    OutcomeUnknown,
    Rejected,
)
from shipping_portal.carrier.messages import Booked, Cancelled, Scan
from shipping_portal.jobs.models import MOST_TRIES, lease
from shipping_portal.jobs.registry import enqueue, job
from shipping_portal.ops.starting import end_if_restored

State = CancelAttempt.State
ASK_AN_OPERATOR_AFTER = 8
NOT_THERE = 404
NOT_KNOWN = "The carrier says that it doesn't know this parcel"
ELSEWHERE = "It was booked on another carrier account, so it can't be cancelled from here. Contact us; we'll ask there."
FOUND_BOOKED = "We asked the carrier: it is still booked there."
ANSWERED: dict[str, Any] = {"problem": {}, "cancel_refused_at": None}


def ask(order: Order, *, by: User, why: str, now: dt.datetime) -> None:
    """Owe the carrier one cancellation.

    Raises Order.WrongStatus, Order.PickupProblem (interface §3 rules 2-3) or Order.AlreadyCollected.
    """
    refuse_cancel_unless_allowed(order, now)
    try:
        with transaction.atomic():
            CancelAttempt.objects.create(order=order, by=by, why=why[:300], asked_at=now)
            move_to(order, Status.CANCELLING, by=by, reason=why, at=now, due_at=now, tries=0, **ANSWERED)
            enqueue("cancel", order.pk)
    except IntegrityError as error:  # one live cancel per order
        raise Order.WrongStatus("A cancellation is already under way.") from error


def settle(order: Order, *, is_cancelled: bool, by: User, reason: str, now: dt.datetime) -> None:
    """Settle an unclear cancellation as the carrier told an operator.

    Raises Order.WrongStatus once it is settled, and while a worker asks the carrier.
    """
    changes: dict[str, Any]
    ended: dict[str, Any]
    if is_cancelled:
        new, ended = Status.CANCELLED, {"state": State.DONE}
        changes = {**ANSWERED, "cancelled_at": now}
    else:
        new, ended = Status.BOOKED, {"state": State.REFUSED, "answer": FOUND_BOOKED}
        changes = _refused(order, FOUND_BOOKED, now)
    if order.status != Status.CANCEL_UNCONFIRMED:
        raise Order.WrongStatus("It is settled already.")
    with transaction.atomic():
        move_to(order, new, by=by, reason=reason, at=now, due_at=now, **changes)
        if not order.cancels.filter(state=State.UNKNOWN).update(done_at=now, **ended):
            raise Order.WrongStatus("The carrier is being asked at this moment. Decide in half a minute.")
        action = "cancellation confirmed" if is_cancelled else "found still booked"
        Audit.write(action, order, by=by, sender=order.sender, reason=reason, at=now)


@job(
    "cancel",
    queue=Order.objects.filter(status__in=BEING_CANCELLED).select_related("account", "sender"),
    lane="sender",
    order=30,
)
def work(order: Order) -> None:
    """Send one owed cancellation, or look after an unclear one."""
    attempt = order.cancels.filter(state__in=CancelAttempt.LIVE).first()
    if attempt:
        _try(order, attempt)
    else:
        order.finish()
    enqueue("replace", *Replacement.objects.answered().filter(order=order).values_list("pk", flat=True))


def _try(order: Order, attempt: CancelAttempt) -> None:
    if attempt.state == State.IN_FLIGHT:  # its worker is gone, unless we are the late one
        if order.renew():
            _unclear(order, attempt, "the worker stopped before the carrier's answer")
    elif not gateway.is_reachable(order.account):
        _elsewhere(order, attempt)
    elif order.status == Status.CANCEL_UNCONFIRMED and not contract_of(order.account).cancel_repeatable:
        _look(order, attempt)
    else:
        _cancel(order, attempt)


def _cancel(order: Order, attempt: CancelAttempt) -> None:
    """Look at the newest scans, then ask once. A refusal of what may have been asked before says nothing: look then."""
    is_tracked = contract_of(order.account).operation("track") is not None
    client = gateway.carrier_of(order, first="track" if is_tracked else "cancel")
    asked_before = attempt.state == State.UNKNOWN
    # Booked before a restore, it may have been cancelled since the backup.
    is_of_a_backup = order.booked_at is not None and Restore.objects.since(order.booked_at).exists()
    refused = _look if asked_before or is_of_a_backup else _back_to_booked
    try:
        words = _refused_by_fresh_scans(order, client)
        if words:
            return refused(order, attempt, Rejected(0, "", words))
        now = timezone.now()
        until = now + lease()  # a new one: the look may have taken long
        with transaction.atomic(durable=True):
            end_if_restored()
            if not order.renew(until, failures=1) or not _swap(
                attempt, state=State.IN_FLIGHT, sent_at=now, tries=min(attempt.tries + 1, MOST_TRIES)
            ):
                return
        answer = client.cancel(order.carrier_order_id, not_after=settling.send_until(until))
    except OperationOff:
        refused(order, attempt, Rejected(0, "", NO_WAY))
    except Rejected as error:  # one who doesn't know the parcel says nothing about whether it is booked
        (_look if error.status == NOT_THERE else refused)(order, attempt, error)
    except (NotSent, AccountStopped) as error:
        if isinstance(error, AccountStopped):
            answers.report(error, order.account, timezone.now(), operation="cancel")
        _try_later(order, attempt, error, asked_before=asked_before)
    except CarrierError as error:
        _unclear(order, attempt, str(error), answer=error)
    else:
        _done(order, attempt, answer)


def _elsewhere(order: Order, attempt: CancelAttempt) -> None:
    """Ask nobody. What may have been asked before the accounts changed is for an operator."""
    if attempt.state == State.WANTED:
        return _back_to_booked(order, attempt, Rejected(0, "", ELSEWHERE))
    if _swap(attempt, state=State.UNKNOWN, answer=ELSEWHERE):
        order.finish()


def _refused_by_fresh_scans(order: Order, client: Carrier) -> str:
    """Return why the newest scans forbid cancelling, or "". What we know ourselves counts like what the carrier says
    right before, as scans may be under way.
    """
    known, now = Order.objects.select_related("sender").get(pk=order.pk), timezone.now()
    words = forbidden(order, known.progress_before_cancelling(now), known.progress_at, now=now)
    if words:
        return words
    try:
        tracked = client.track(order.carrier_reference or "")
    except OperationOff:  # this carrier shows no scans on demand; what it pushed was looked at above
        return ""
    except Rejected as error:
        if error.status == NOT_THERE:  # no tracking yet right after booking
            return ""
        raise NotSent(error.text or str(error)) from error
    except OutcomeUnknown as error:  # only the look failed; no cancellation was sent
        raise NotSent(str(error)) from error
    if not tracked.is_whole:
        raise NotSent("not all scans could be read")
    contract, now = client.contract, timezone.now()
    found = fold(_step(scan, contract, now) for scan in tracked.scans)
    if tracked.pickup_date:  # after a missed pickup, the day of the next one
        order.note_pickup_date(tracked.pickup_date)
    words = forbidden(order, found.progress, found.progress_at, now=now)
    if not words and tracked.leaves_out:  # pages beyond the bound: it may have been collected
        words = "Not all of its scans can be read, so it isn't cancelled from here. Contact us."
    return words


def _step(scan: Scan, contract: Contract, now: dt.datetime) -> Step:
    return Step(scan.scan_time, scan.event_id, contract.progress(scan.event_type) or "", now)


def _done(order: Order, attempt: CancelAttempt, answer: Cancelled) -> None:
    """Store a clear yes: a fact, whoever holds the order by now."""
    settling.persist(lambda: _store_yes(order.pk, attempt.pk, answer))


def _store_yes(order_id: int, attempt_id: int, answer: Cancelled) -> None:
    now = timezone.now()
    fields = {"http_status": answer.status, "response": answer.body, "answer": answer.message[:500]}
    with transaction.atomic(durable=True):
        order = Order.objects.locked(order_id)
        attempt = order.cancels.filter(pk=attempt_id)
        if order.status in BEING_CANCELLED:  # for this attempt, or one more since: either way it is cancelled
            order.cancels.filter(state__in=CancelAttempt.LIVE).update(state=State.DONE, done_at=now)
            attempt.update(state=State.DONE, done_at=now, **fields)
            # Due now for tracking, which watches the label of a cancelled order too (interface §2.5).
            move_to(
                order,
                Status.CANCELLED,
                reason="the carrier cancelled it",
                at=now,
                cancelled_at=now,
                due_at=now,
                **ANSWERED,
            )
        elif order.status == Status.BOOKED and attempt.update(state=State.UNKNOWN, done_at=None, **fields):
            reason = "the carrier said yes late, after it was found still booked"
            move_to(order, Status.CANCELLING, reason=reason, at=now, due_at=None, **ANSWERED)
            problem = {"kind": "unclear", "text": "The carrier said no, and yes after that"}
            # Which waits for an operator.
            move_to(order, Status.CANCEL_UNCONFIRMED, reason=reason, at=now, problem=problem)


def found_cancelled(order: Order, viewed: Booked, *, why: str) -> None:
    """Settle a booked order that the carrier shows as cancelled without our asking, and notify its sender."""
    now = timezone.now()
    with transaction.atomic(durable=True):
        order = Order.objects.locked(order.pk)
        if order.status != Status.BOOKED:
            return
        CancelAttempt.objects.create(
            order=order, by=None, why=why, state=State.DONE, asked_at=now, done_at=now, answer=viewed.state[:500],
            http_status=viewed.status, response=viewed.body,
        )  # fmt: skip
        for operation in (Status.CANCELLING, Status.CANCEL_UNCONFIRMED):
            move_to(order, operation, reason=why, at=now)
        move_to(order, Status.CANCELLED, reason=why, at=now, cancelled_at=now, due_at=now)


def _back_to_booked(order: Order, attempt: CancelAttempt, error: Rejected) -> None:
    now, why = timezone.now(), answers.why_not_cancelled(error, order)
    fields: dict[str, Any] = {"answer": why[:500], "http_status": error.status or None, "response": error.body}
    with transaction.atomic(durable=True):
        known = Order.objects.locked(order.pk)
        if _swap(attempt, state=State.REFUSED, done_at=now, **fields):
            # Due now for tracking: a parcel cancelled right after its booking may not be opened yet.
            changes = _refused(known, why, now)
            move_to(order, Status.BOOKED, reason=f"not cancelled: {why}", at=now, due_at=now, **changes)
    answers.report(error, order.account, now, operation="cancel")


def _refused(order: Order, why: str, now: dt.datetime) -> dict[str, Any]:
    """Return what its sender is told until the parcel is on its way, cancelled, asked for again, or kept."""
    is_there = order.progress in STILL_AT_SENDER
    return {"problem": {"kind": "cancel_refused", "text": why}, "cancel_refused_at": now if is_there else None}


def _try_later(order: Order, attempt: CancelAttempt, error: NotSent | AccountStopped, *, asked_before: bool) -> None:
    state = State.UNKNOWN if asked_before else State.WANTED
    if _swap(attempt, state=state, answer=error.reason[:500]):
        _again(order, error)


def _unclear(order: Order, attempt: CancelAttempt, why: str, *, answer: CarrierError | None = None) -> None:
    fields: dict[str, Any] = {"answer": why[:500]}
    if isinstance(answer, OutcomeUnknown):
        fields |= {"http_status": answer.status, "response": answer.body}
    with transaction.atomic(durable=True):
        Order.objects.locked(order.pk)
        if not _swap(attempt, state=State.UNKNOWN, **fields):
            return
        if order.status == Status.CANCELLING:
            problem = {"kind": "unclear", "text": answers.unclear(answer)}
            move_to(order, Status.CANCEL_UNCONFIRMED, reason=why, at=timezone.now(), problem=problem)
    _again(order)


def _look(order: Order, attempt: CancelAttempt, refusal: Rejected | None = None) -> None:
    """Look at the order itself to see whether an earlier try worked. If it did not, a refusal stands."""
    if not order.renew():
        return
    try:
        viewed = gateway.carrier_of(order).view(order.carrier_order_id)
    except CarrierError as error:
        if isinstance(error, Rejected) and error.status == NOT_THERE:
            return _not_known(order, attempt, error)
        is_first = order.status == Status.CANCELLING  # and unclear only now
        return _unclear(order, attempt, str(error)) if is_first else _still_unclear(order, attempt, error)
    if viewed.state.casefold() == contract_of(order.account).cancelled_word.casefold():
        _done(order, attempt, Cancelled(viewed.state, "", viewed.status, viewed.body))
    elif refusal:
        _back_to_booked(order, attempt, refusal)
    else:
        _still_unclear(order, attempt)


def _not_known(order: Order, attempt: CancelAttempt, error: Rejected) -> None:
    """Leave what the carrier doesn't know to an operator: asking again would say the same."""
    problem = {"kind": "unclear", "text": NOT_KNOWN}
    with transaction.atomic(durable=True):
        Order.objects.locked(order.pk)
        if not _swap(attempt, state=State.UNKNOWN, answer=NOT_KNOWN, http_status=error.status, response=error.body):
            return
        if order.status == Status.CANCELLING:
            now = timezone.now()
            move_to(order, Status.CANCEL_UNCONFIRMED, reason=NOT_KNOWN, at=now, problem=problem, due_at=None)
        else:
            order.finish(problem=problem)


def _still_unclear(order: Order, attempt: CancelAttempt, error: CarrierError | None = None) -> None:
    """Let go of the attempt, so that an operator may settle it, and try again later."""
    if _swap(attempt, state=State.UNKNOWN):
        _again(order, error)


def _again(order: Order, error: CarrierError | None = None) -> None:
    """Make it due after a back-off; after eight tries leave it to an operator. A call that got no turn is no try."""
    tries = order.tries + 1
    if isinstance(error, Crowded):
        order.postpone(timezone.now() + dt.timedelta(seconds=error.retry_after or 0.0))
    elif order.status == Status.CANCEL_UNCONFIRMED and tries >= ASK_AN_OPERATOR_AFTER:
        order.finish()
    else:
        order.retry(timezone.now() + gateway.backoff(tries, first=2))


def _swap(attempt: CancelAttempt, **changes: Any) -> bool:
    """Change the attempt as it was read; a worker that slept past its lease finds it changed, and changes nothing."""
    mine = CancelAttempt.objects.filter(pk=attempt.pk, state=attempt.state, sent_at=attempt.sent_at)
    if not mine.update(**changes):
        return False
    for name, value in changes.items():
        setattr(attempt, name, value)
    return True
