"""Decide when a parcel is polled next: hourly, or rarely while its account's webhook proves itself.

The rule and what it costs are in docs/decisions/0049-polls-check-the-webhook.md.
"""

import datetime as dt
import random
from dataclasses import dataclass

from django.conf import settings

from orders.models import Order
from orders.models.statuses import STILL_AT_SENDER, Progress
from orders.status.progress import TERMINAL
from shipping_portal.accounts.address import places
from shipping_portal.carrier.messages import Party
from tracking.models import Parcel, Poll

WATCH_CANCELLED = dt.timedelta(days=60)
GIVE_UP_SILENT = dt.timedelta(days=45)
# A driver may come on the pickup day or the next; no scan is expected before.
AWAITED = dt.timedelta(days=2)
# How often, in multiples of POLL_SECONDS (one hour by default). No carrier wants to be asked about
# one parcel more often than hourly, at any stage.
BEFORE_PICKUP, HOURLY, DAILY = 6.0, 1.0, 24.0
# While webhooks bring the scans: how long a stage usually lasts without one, how long a row may go
# unchecked, and how rarely a parcel is polled as a sample: four in a hundred each hour.
USUAL, USUAL_LAST_DAY, AWAKE, SAMPLE = 24.0, 12.0, 12.0, 25.0


@dataclass(frozen=True)
class Due:
    """The next poll. It is optional if scans from webhooks postpone it again."""

    at: dt.datetime
    is_optional: bool = False


def next_poll(parcel: Parcel, *, now: dt.datetime, is_answered: bool = True) -> Due | None:
    """Return when to poll a parcel again after a poll, or None at its journey's end.

    After a poll without an answer, webhooks don't postpone the next one.
    """
    factor = poll_interval(parcel, now=now)
    if factor is None:
        return None
    if is_answered and relies_on_webhook(parcel):
        return _next_check(parcel, polled_at=now, now=now)
    return Due(now + _hours(factor * _random_jitter()))


def postponed_until(poll: Poll, *, now: dt.datetime) -> Due | None:
    """Return when to check again if an optional poll isn't needed yet, or None to poll now."""
    parcel = poll.parcel
    if not poll.is_optional or not relies_on_webhook(parcel):
        return None
    if poll_interval(parcel, now=now) is None:
        return None
    due = _next_check(parcel, polled_at=poll.polled_at, now=now)
    return due if due and due.at > now else None


def relies_on_webhook(parcel: Parcel) -> bool:
    """Return whether the carrier should send webhooks for this parcel, and has done so lately."""
    order = parcel.order
    is_subscribed = parcel.subscription == Parcel.Subscription.ON
    is_expected = not _cancelled_at(order) if order else is_subscribed
    return is_expected and parcel.account.webhook_proven_at is not None


def poll_interval(parcel: Parcel, *, now: dt.datetime) -> float | None:
    """Return the time to the next poll in multiples of POLL_SECONDS, None at the journey's end.

    This is the pace for parcels whose webhooks aren't proven.
    """
    order = parcel.order
    if order and (cancelled_at := _cancelled_at(order)):
        return DAILY if now - cancelled_at < WATCH_CANCELLED else None
    if order is None and not parcel.watches.exists():
        return None
    quiet = now - (parcel.last_scan_at or parcel.created_at)
    if parcel.progress in TERMINAL:
        return next(
            (hours for hours in (1.0, 24.0, 72.0) if quiet < dt.timedelta(hours=hours)), None
        )
    if quiet > GIVE_UP_SILENT:
        return None
    is_waiting = parcel.progress in STILL_AT_SENDER and not _is_awaited(parcel, now)
    return BEFORE_PICKUP if is_waiting else HOURLY


def _cancelled_at(order: Order) -> dt.datetime | None:
    return None if order.used_after_cancel_at else order.cancelled_at


def _is_awaited(parcel: Parcel, now: dt.datetime) -> bool:
    """Return whether its first scan may come around now."""
    begins = _pickup_day(parcel) or parcel.created_at
    return begins <= now < begins + AWAITED


def _pickup_day(parcel: Parcel) -> dt.datetime | None:
    """Return the start of the day on which a driver is expected, if any."""
    order = parcel.order
    day = order.expected_pickup() if order and order.first_mile != "drop-off" else None
    return places.start_of(day, Party(**order.pickup)) if order and day else None


def _next_check(parcel: Parcel, *, polled_at: dt.datetime | None, now: dt.datetime) -> Due | None:
    """Return when its silence becomes unusual, or sooner if the parcel is picked as a sample.

    It is never within an hour of the last poll. Returns None at the journey's end, which is checked
    once.
    """
    check = _silent_too_long_at(parcel)
    if polled_at and polled_at >= check:
        if parcel.progress in TERMINAL:
            return None
        check = polled_at + _hours(USUAL)
    earliest = polled_at + _hours(HOURLY) if polled_at else now
    sample = now + _hours(_random_wait())
    awake = now + _hours(AWAKE * _random_jitter())
    if sample < min(check, awake):
        return Due(max(sample, earliest))
    return Due(max(min(check, awake), earliest), is_optional=True)


def _silent_too_long_at(parcel: Parcel) -> dt.datetime:
    since = parcel.last_scan_at or parcel.created_at
    if parcel.progress in STILL_AT_SENDER and (day := _pickup_day(parcel)):
        return max(since, day + dt.timedelta(days=1))
    is_last_day = parcel.progress == Progress.OUT_FOR_DELIVERY
    return since + _hours(USUAL_LAST_DAY if is_last_day else USUAL)


def _hours(factor: float) -> dt.timedelta:
    return dt.timedelta(seconds=factor * settings.POLL_SECONDS)


def first_wait() -> dt.timedelta:
    """Return how long to wait before a new parcel's first poll."""
    return _hours(HOURLY * _random_jitter())


def _random_jitter() -> float:
    return random.uniform(1.0, 1.05)  # noqa: S311  (spreads polls, not a secret)


def _random_wait() -> float:
    return random.expovariate(1 / SAMPLE)
