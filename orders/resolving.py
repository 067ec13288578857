"""Orders whose booking is unclear: asked again with the same key where that is safe, else decided by an operator."""

import datetime as dt
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from orders import confirming, gateway, labels, second_orders, settling
from orders.billing import matching
from orders.contract import contract_of
from orders.models import BookingAttempt, Order, Restore
from orders.models.statuses import Status
from shipping_portal.accounts.models import Audit
from shipping_portal.carrier.errors import CarrierError, Crowded, Rejected
from shipping_portal.carrier.messages import Booked
from shipping_portal.jobs.models import UNDER_WAY
from shipping_portal.jobs.registry import job

REPLAY_WAITS = (5, 15, 60, 300, 900, 3600, 14400)  # seconds between replays; the last one repeats
SHORTEST_REASON = 10
State = BookingAttempt.State


class CannotResolve(Exception):
    """Why an operator's decision was not taken; the text is for the operator."""


@job(
    "resolve",
    queue=Order.objects.filter(status=Status.UNCONFIRMED).select_related("account"),
    lane="sender",
    order=20,
)
def work(order: Order) -> None:
    """Resend the same bytes under the same key, if this carrier is known to keep keys.

    Never later than its lease allows, nor once somebody else settled the attempt.
    """
    attempt = order.attempts.filter(state=State.UNKNOWN).first()
    if attempt is None or not _replayable(order, attempt, timezone.now()):
        order.finish()
    else:
        _replay(order, attempt)


def _replayable(order: Order, attempt: BookingAttempt, now: dt.datetime) -> bool:
    window = dt.timedelta(hours=contract_of(order.account).replay_hours)
    is_safe = gateway.replays_allowed(order.account) and gateway.is_reachable(order.account)
    return is_safe and now - attempt.sent_at < window and not _is_of_a_backup(attempt)


def _is_of_a_backup(attempt: BookingAttempt) -> bool:
    """Was it sent before a restore? It may have been settled since the backup, and booked under another key."""
    return Restore.objects.filter(restored_at__gte=attempt.sent_at).exists()


def _replay(order: Order, attempt: BookingAttempt) -> None:
    """Only an acceptance or a well-formed refusal settles it; anything else leaves it unknown."""
    client, lease = gateway.carrier_of(order, first="book"), order.due_at or timezone.now()
    mine = BookingAttempt.objects.filter(pk=attempt.pk, state=State.UNKNOWN, replays=attempt.replays)
    if not mine.update(replays=min(attempt.replays + 1, 30_000)):
        return
    outcome: Booked | Rejected
    try:
        not_after = settling.send_until(lease)
        outcome = client.book(bytes(attempt.body), key=str(attempt.key), not_after=not_after)
    except Rejected as error:
        if "idempot" in f"{error.code} {error.text}".lower():  # the key, not the parcel, was refused
            return _wait(order, attempt)
        outcome = error
    except Crowded as error:  # nothing was sent, so this was no try
        BookingAttempt.objects.filter(pk=attempt.pk, replays=attempt.replays + 1).update(
            replays=attempt.replays
        )
        order.postpone(timezone.now() + dt.timedelta(seconds=error.retry_after or 0.0))
        return
    except CarrierError:
        return _wait(order, attempt)
    settling.settle(attempt, outcome)


def _wait(order: Order, attempt: BookingAttempt) -> None:
    seconds = REPLAY_WAITS[min(attempt.replays + 1, len(REPLAY_WAITS) - 1)] * settings.TIME_SCALE
    order.retry(timezone.now() + dt.timedelta(seconds=seconds))


def adopt(
    order: Order,
    reference: str,
    *,
    by: Any,
    reason: str,
    now: dt.datetime,
    carrier_order_id: str = "",
    heard_at: dt.datetime | None = None,
) -> None:
    """An operator found the carrier's reference; see confirming.confirm. Raises CannotResolve."""
    _need_a_reason(reason)
    _need_an_open_case(order)
    try:
        found = confirming.confirm(order, reference, carrier_order_id.strip(), heard_at=heard_at)
    except confirming.NotConfirmed as refusal:
        raise CannotResolve(str(refusal)) from refusal
    reference, told = found.reference, f"{found}: {confirming.with_doubt(reason, found.doubt)}"
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
            order.move_to(Status.BOOKED, by=by, reason=f"adopted {told}", at=now, **fields)
            _accept_attempt(order, reference, now)
            second_orders.note(order, at=now)
            labels.owe(order, (), at=now)
            Audit.write("reference adopted", order, by=by, sender=order.sender, reason=told, at=now)
    except (Order.WrongStatus, IntegrityError) as error:
        raise CannotResolve("This order is already resolved.") from error
    matching.match_late()  # what was charged for it before anybody knew whose it is
    settling.enqueue_after_booking(order.pk)


def not_booked(order: Order, *, by: Any, reason: str, now: dt.datetime) -> None:
    """An operator knows that the carrier has no such order; the sender may book again. Raises CannotResolve."""
    _need_a_reason(reason)
    text = "It wasn't booked and you weren't charged."
    try:
        with transaction.atomic():
            _refuse_while_it_is_asked_again(order, now)
            problem = {"text": text, "fields": {}}
            order.move_to(Status.NOT_BOOKED, by=by, reason=reason, at=now, due_at=None, problem=problem)
            _give_up_unknown(order, now)
            Audit.write("settled as not booked", order, by=by, sender=order.sender, reason=reason, at=now)
    except Order.WrongStatus as error:
        raise CannotResolve("This order is already resolved.") from error


def keep_waiting(order: Order, *, by: Any, reason: str, now: dt.datetime) -> None:
    """Nothing is known yet; the case stays open and the reason is kept. Raises CannotResolve."""
    _need_a_reason(reason)
    order.refresh_from_db()
    _need_an_open_case(order)
    Audit.write("kept waiting", order, by=by, sender=order.sender, reason=reason, at=now)


def _accept_attempt(order: Order, reference: str, now: dt.datetime) -> None:
    """The attempt whose answer named this reference was it, else the last one: the order's one live attempt."""
    attempts = order.attempts.order_by("pk")
    it = attempts.filter(seen_reference__upper=reference.upper()).last() or attempts.last()
    if it is None:
        return
    _give_up_unknown(order, now, but=it)
    attempts.filter(pk=it.pk).update(state=State.ACCEPTED, done_at=now)


def _give_up_unknown(order: Order, now: dt.datetime, *, but: BookingAttempt | None = None) -> None:
    """Written after the order's own row, as everywhere: the order is locked before its attempts."""
    others = order.attempts.filter(state=State.UNKNOWN)
    if but:
        others = others.exclude(pk=but.pk)
    others.update(state=State.NOT_CREATED, done_at=now)


def _refuse_while_it_is_asked_again(order: Order, now: dt.datetime) -> None:
    """A replay in the air may book it yet, and its answer may be lost. Locks the order."""
    seen = Order.objects.locked(order.pk)
    is_asked = seen.due_at is not None and seen.due_at > now and seen.last_error == UNDER_WAY
    if is_asked and seen.status == Status.UNCONFIRMED:
        raise CannotResolve("The carrier is being asked again right now. Decide in half a minute.")


def _need_an_open_case(order: Order) -> None:
    """As it was read; move_to sees to it that it still is."""
    if order.status not in {Status.UNCONFIRMED, Status.CONFLICT}:
        raise CannotResolve("This order is already resolved.")


def _need_a_reason(reason: str) -> None:
    if len(reason.strip()) < SHORTEST_REASON:
        raise CannotResolve(f"Give a reason of at least {SHORTEST_REASON} characters.")
