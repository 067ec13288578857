"""Cancel a parcel: ask once, by the interface's rules, and never guess the outcome.

ask_to_cancel   (web)     the cancellation is due; nothing is sent yet
process_cancel  (worker)  the newest scans, then one call → cancel_outcomes.record
"""

import datetime as dt

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from orders.booking import answers, recording
from orders.calling import gateway
from orders.calling.contract import settings_of
from orders.cancelling import cancel_outcomes, cancel_verdict
from orders.cancelling.cancel_outcomes import ANSWERED, FOUND_BOOKED
from orders.cancelling.cancel_rules import (
    NO_WAY,
    refuse_cancel_unless_allowed,
    why_not_cancelled_now,
)
from orders.cancelling.cancel_verdict import Ask, Outcome, StaysBooked, Unresolved, View
from orders.models import CancelAttempt, Order, Replacement, Restore
from orders.models.statuses import BEING_CANCELLED, Status
from orders.status.progress import Step, project_steps
from orders.status.transitions import move_to
from shipping_portal.accounts.models import User
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import (
    AccountStopped,
    CarrierError,
    NotSent,
    OperationOff,
    OutcomeUnknown,
    Rejected,
)
from shipping_portal.carrier.messages import Scan
from shipping_portal.jobs.models import MOST_TRIES, lease_time
from shipping_portal.jobs.registry import enqueue, job
from shipping_portal.ops.starting import end_if_restored

State = CancelAttempt.State
NOT_THERE = 404
NOT_KNOWN = "The carrier says that it doesn't know this parcel"


def ask_to_cancel(order: Order, *, by: User, why: str, now: dt.datetime) -> None:
    """Make one cancellation due. Raises one of CANNOT_CANCEL (interface §3 rules 2-3)."""
    refuse_cancel_unless_allowed(order, now)
    try:
        with transaction.atomic():
            CancelAttempt.objects.create(order=order, by=by, why=why[:300], asked_at=now)
            move_to(
                order, Status.CANCELLING, by=by, reason=why, at=now, due_at=now, tries=0, **ANSWERED
            )
            enqueue("cancel", order.pk)
    except IntegrityError as error:  # one live cancel per order
        raise Order.WrongStatus("A cancellation is already under way.") from error


@job(
    "cancel",
    queue=Order.objects.filter(status__in=BEING_CANCELLED).select_related("account", "sender"),
    lane="sender",
    order=30,
)
def process_cancel(order: Order) -> None:
    """Send one due cancellation, or follow up an unclear one."""
    attempt = order.cancels.filter(state__in=CancelAttempt.LIVE).first()
    if attempt is None:
        order.finish()
    # either its worker has died or we are the late one
    elif attempt.state != State.IN_FLIGHT or order.renew():
        outcome = _outcome(order, attempt)
        if outcome:
            cancel_outcomes.record(order, attempt, outcome)
    enqueue(
        "replace", *Replacement.objects.answered().filter(order=order).values_list("pk", flat=True)
    )


def _outcome(order: Order, attempt: CancelAttempt) -> Outcome | None:
    """Ask the carrier as the verdict says; return the outcome.

    Returns None if another worker has the order by now.
    """
    found = cancel_verdict.of_cancellation(order, attempt, settings_of(order.account))
    if not isinstance(found, Ask | View):
        return found
    client, refusal = gateway.carrier_of(order, first=found.first_call), None
    if isinstance(found, Ask):
        answer = _ask_to_cancel(order, attempt, client)
        if not isinstance(answer, Rejected):
            return answer
        is_first = found.is_first and not _may_have_been_asked(order, attempt)
        if is_first and answer.status != NOT_THERE:
            return StaysBooked(answer)
        refusal = answer  # this doesn't show what happened to earlier requests
    return _view(order, client, refusal)


def _may_have_been_asked(order: Order, attempt: CancelAttempt) -> bool:
    """Return whether something before this attempt may have cancelled the order.

    That is an attempt since the restored backup, or one whose answer we never got.
    """
    if order.booked_at is not None and Restore.objects.since(order.booked_at).exists():
        return True
    was_unclear = Q(tries__gt=1) | Q(answer=FOUND_BOOKED)
    return order.cancels.filter(was_unclear, pk__lt=attempt.pk).exists()


def _ask_to_cancel(
    order: Order, attempt: CancelAttempt, client: Carrier
) -> Outcome | Rejected | None:
    """Check the newest scans, then ask once.

    The attempt is committed before the first byte leaves.
    """
    was_asked = attempt.state == State.UNKNOWN
    try:
        words = _forbidden_by_scans(order, client)
        if words:
            return Rejected(0, "", words)
        now = timezone.now()
        until = now + lease_time()  # read the clock again: checking the scans may have taken long
        asking = {
            "state": State.IN_FLIGHT,
            "sent_at": now,
            "tries": min(attempt.tries + 1, MOST_TRIES),
        }
        with transaction.atomic(durable=True):
            end_if_restored()
            if not order.renew(until, failures=1) or not attempt.change(**asking):
                return None
        return cancel_verdict.of_answer(
            client.cancel(order.carrier_order_id, not_after=recording.send_until(until))
        )
    except OperationOff:
        return Rejected(0, "", NO_WAY)
    except Rejected as error:
        return error
    except (NotSent, AccountStopped) as error:
        return Unresolved(error.reason, error=error, was_asked=was_asked)
    except CarrierError as error:
        return Unresolved(str(error), answers.why_unclear(error), error)


def _forbidden_by_scans(order: Order, client: Carrier) -> str:
    """Return why the newest scans forbid cancelling, or "".

    Stored scans count like those the carrier returns.
    """
    known, now = Order.objects.select_related("sender").get(pk=order.pk), timezone.now()
    words = why_not_cancelled_now(
        order, known.progress_before_cancelling(now), known.progress_at, now=now
    )
    if words:
        return words
    try:
        tracked = client.track(order.carrier_reference or "")
    # this carrier shows no scans on demand; those it pushed were checked above
    except OperationOff:
        return ""
    except Rejected as error:
        if error.status == NOT_THERE:  # no tracking yet right after booking
            return ""
        raise NotSent(error.text or str(error)) from error
    except OutcomeUnknown as error:  # only checking the scans failed; no cancellation was sent
        raise NotSent(str(error)) from error
    if not tracked.is_whole:
        raise NotSent("not all scans could be read")
    contract, now = client.contract, timezone.now()
    found = project_steps(_step(scan, contract, now) for scan in tracked.scans)
    if tracked.pickup_date:  # after a missed pickup, the day of the next one
        order.note_pickup_date(tracked.pickup_date)
    words = why_not_cancelled_now(order, found.progress, found.progress_at, now=now)
    if not words and tracked.leaves_out:  # more pages than we read: it may have been collected
        words = "Not all of its scans can be read, so it isn't cancelled from here. Contact us."
    return words


def _step(scan: Scan, contract: Contract, now: dt.datetime) -> Step:
    return Step(scan.scan_time, scan.event_id, contract.progress(scan.event_type) or "", now)


def _view(order: Order, client: Carrier, refusal: Rejected | None) -> Outcome | None:
    """Check whether an earlier attempt cancelled the order. If not, a rejection is final."""
    if not order.renew():
        return None
    try:
        viewed = client.view(order.carrier_order_id)
    except CarrierError as error:
        # the request remains, whatever the check of the order found
        if order.status == Status.CANCEL_ASKED:
            return Unresolved(str(error))
        # asking again would get the same answer
        if isinstance(error, Rejected) and error.status == NOT_THERE:
            return Unresolved(NOT_KNOWN, NOT_KNOWN, error, is_for_operator=True)
        is_unclear_only_now = order.status == Status.CANCELLING
        return (
            Unresolved(str(error), answers.CUT_OFF)
            if is_unclear_only_now
            else Unresolved(error=error)
        )
    if found := cancel_verdict.of_view(order, viewed, client.contract):
        return found
    return StaysBooked(refusal) if refusal else Unresolved()
