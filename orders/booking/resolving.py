"""Repeat unclear bookings under the same key, where that is safe."""

import datetime as dt
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from orders.booking import settling
from orders.calling import gateway
from orders.calling.contract import contract_of
from orders.models import BookingAttempt, Order, Restore
from orders.models.statuses import Status
from shipping_portal.carrier.errors import CarrierError, Crowded, Rejected
from shipping_portal.carrier.messages import Booked
from shipping_portal.jobs.models import lease_time
from shipping_portal.jobs.registry import job
from shipping_portal.ops.starting import end_if_restored

REPLAY_WAITS = (5, 15, 60, 300, 900, 3600, 14400)  # seconds between replays; the last one repeats
State = BookingAttempt.State


@job(
    "resolve",
    queue=Order.objects.filter(status=Status.UNCONFIRMED).select_related("account"),
    lane="sender",
    order=20,
)
def resolve_due_order(order: Order) -> None:
    """Resend the same bytes under the same key, if this carrier is known to keep keys.

    Never later than its lease allows, nor once another process resolved the attempt.
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
    """Return whether it was sent before a restore, and so may have been booked under another
    key.
    """
    return Restore.objects.since(attempt.sent_at).exists()


def _replay(order: Order, attempt: BookingAttempt) -> None:
    """Send it again. Only an acceptance or a valid rejection ends it; else it stays unknown."""
    client = gateway.carrier_of(order, first="book")
    until = timezone.now() + lease_time()
    with transaction.atomic(durable=True):
        end_if_restored()
        if not order.renew(until) or not _change(
            attempt, replays=attempt.replays + 1, lease_until=until
        ):
            return
    outcome: Booked | Rejected
    try:
        not_after = settling.send_until(until)
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
    settling.record_outcome(attempt, outcome)


def _change(attempt: BookingAttempt, **changes: Any) -> bool:
    """Change an unknown attempt, unless another process repeated or resolved it since it was
    read.
    """
    mine = BookingAttempt.objects.filter(
        pk=attempt.pk, state=State.UNKNOWN, replays=attempt.replays
    )
    is_mine = bool(mine.update(**changes))
    attempt.replays = changes.get("replays", attempt.replays)
    return is_mine


def _wait(order: Order, attempt: BookingAttempt) -> None:
    _change(attempt, lease_until=timezone.now())
    seconds = REPLAY_WAITS[min(attempt.replays, len(REPLAY_WAITS) - 1)] * settings.TIME_SCALE
    order.retry(timezone.now() + dt.timedelta(seconds=seconds))
