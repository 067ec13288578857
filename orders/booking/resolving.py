"""Resolve unclear bookings: look for them, or repeat them under the same key where that is safe."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Subquery
from django.utils import timezone

from orders.booking import bookings, recording
from orders.calling import gateway
from orders.calling.contract import contract_of
from orders.models import BookingAttempt, Order, Restore
from orders.models.account import AT_MOST, BOOKINGS
from orders.models.statuses import Status
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.errors import CarrierError, Crowded, Rejected
from shipping_portal.carrier.messages import Booked
from shipping_portal.carrier.reading import pending_order_id
from shipping_portal.jobs.models import lease_time
from shipping_portal.jobs.registry import job
from shipping_portal.ops.starting import end_if_restored

# Seconds between looks or replays; the last value repeats. Four fit into five minutes.
WAITS = (5, 15, 60, 120, 300, 900, 3600, 14400)
LOOK_FOR = dt.timedelta(days=7)
State = BookingAttempt.State


@dataclass(frozen=True)
class Ways:
    """The ways to resolve an unclear booking without a person: looking for it, or sending it again.

    `pending_id` is the carrier's id of an order that it hadn't decided on.
    """

    can_look: bool = False
    can_send: bool = False
    pending_id: str = ""


@job(
    "resolve",
    queue=Order.objects.filter(status=Status.UNCONFIRMED).select_related("account"),
    lane="sender",
    order=20,
)
def resolve_due_order(order: Order) -> None:
    """Look for an unclear booking, or send the same bytes under the same key where that is safe.

    This stops when its lease ends, or once another process has resolved the attempt.
    """
    attempt = order.attempts.filter(state=State.UNKNOWN).first()
    ways = _possible_ways(order, attempt, timezone.now()) if attempt else Ways()
    if attempt is None or ways == Ways():
        order.finish()
        return
    if not ways.can_look and not _may_book(order):
        order.postpone(timezone.now() + AT_MOST)
        return
    client = gateway.carrier_of(order, first="view" if ways.can_look else "book")
    if ways.can_look and (found := _look_up_outcome(client, attempt, ways.pending_id)):
        recording.record_outcome(attempt, found)
    elif ways.can_send and _may_book(order):  # checked again after waiting for its turn
        _replay(order, attempt, client)
    else:
        _wait(order, attempt)


def _possible_ways(order: Order, attempt: BookingAttempt, now: dt.datetime) -> Ways:
    if not gateway.is_reachable(order.account) or _was_sent_before_restore(attempt):
        return Ways()
    age = now - attempt.sent_at
    pending_id = pending_order_id(bytes(attempt.response), contract_of(order.account))
    can_look = gateway.can_find(order.account) or bool(pending_id)
    return Ways(
        can_look=can_look and age < LOOK_FOR,
        can_send=not pending_id and age < gateway.replay_window(order.account),
        pending_id=pending_id,
    )


def _may_book(order: Order) -> bool:
    """Return whether it may be sent again, as if it were new: the first one may never have arrived.

    Its sender isn't suspended, the person who pressed Book can log in, and bookings aren't paused.
    """
    presser = Subquery(bookings.PRESSES.values("by__is_active")[:1])
    others = Order.objects.select_related("sender", "account").annotate(presser_is_active=presser)
    known: Any = others.get(pk=order.pk)
    pause = known.account.pause_of(BOOKINGS, timezone.now())
    return not (known.sender.is_suspended or known.presser_is_active is False or pause)


def _look_up_outcome(
    client: Carrier, attempt: BookingAttempt, pending_id: str
) -> Booked | Rejected | None:
    """Return an attempt's outcome. None proves nothing: the request may still be on its way."""
    try:
        if client.can_find:
            return client.find(bytes(attempt.body), key=str(attempt.key))
        return client.view_pending(pending_id)
    except Rejected as error:
        # A 2xx reply that reports a refusal is about this order; a refusal of our question isn't.
        return error if 200 <= error.status < 300 else None
    except CarrierError:
        return None


def _was_sent_before_restore(attempt: BookingAttempt) -> bool:
    """Return whether it was sent before a restore, so it may be booked under another key."""
    return Restore.objects.since(attempt.sent_at).exists()


def _replay(order: Order, attempt: BookingAttempt, client: Carrier) -> None:
    """Send an attempt again. It stays unknown unless the carrier accepts or validly rejects it."""
    until = timezone.now() + lease_time()
    with transaction.atomic(durable=True):
        end_if_restored()
        if not order.renew(until) or not _change(
            attempt, replays=attempt.replays + 1, lease_until=until
        ):
            return
    outcome: Booked | Rejected
    try:
        not_after = recording.send_until(until)
        outcome = client.book(bytes(attempt.body), key=str(attempt.key), not_after=not_after)
    except Rejected as error:
        # The key was rejected, not the parcel.
        if "idempot" in f"{error.code} {error.text}".lower():
            return _wait(order, attempt)
        outcome = error
    except Crowded as error:
        # Nothing was sent, so this doesn't count as an attempt.
        _change(attempt, replays=attempt.replays - 1, lease_until=timezone.now())
        order.postpone(timezone.now() + dt.timedelta(seconds=error.retry_after or 0.0))
        return
    except CarrierError:
        return _wait(order, attempt)
    _change(attempt, lease_until=timezone.now())
    recording.record_outcome(attempt, outcome)


def _change(attempt: BookingAttempt, **changes: Any) -> bool:
    """Change an unknown attempt, unless another process repeated or resolved it since."""
    mine = BookingAttempt.objects.filter(
        pk=attempt.pk, state=State.UNKNOWN, replays=attempt.replays
    )
    is_mine = bool(mine.update(**changes))
    attempt.replays = changes.get("replays", attempt.replays)
    return is_mine


def _wait(order: Order, attempt: BookingAttempt) -> None:
    _change(attempt, lease_until=timezone.now())
    seconds = WAITS[min(order.tries + 1, len(WAITS) - 1)] * settings.TIME_SCALE
    order.retry(timezone.now() + dt.timedelta(seconds=seconds))
