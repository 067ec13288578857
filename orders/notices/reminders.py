"""Send time-based notices: missed pickups, and labels unprinted on the pickup day."""

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any

from django.db.models import Q

from orders.labels.printing import IS_WORTHLESS
from orders.models import Order
from orders.models.statuses import Progress, Status
from orders.notices import notifications
from shipping_portal.accounts.mail import outbox
from shipping_portal.accounts.mail.outbox import Event
from shipping_portal.jobs.registry import chore

BATCH = 1000
MISSED_LATELY = 5  # days back: a missed pickup shows the day after, and holidays are skipped
PRINT_BETWEEN = range(7, 9)  # o'clock where the sender is
TO_PRINT = "{order} to {name}: its label isn't marked as printed, and the driver is due today."


@dataclass(frozen=True)
class Reminder:
    """Name an event, which is built only if nobody has been notified of it yet."""

    dedupe_key: str
    sender: int
    event: Callable[[], Event | None]


@chore("reminders", every=60)
def send_due_reminders(now: dt.datetime) -> None:
    """Notify once for each reminder that is due."""
    due = chain(_missed_days(now), _to_print(now))
    while batch := list(islice(due, BATCH)):
        known = outbox.known_events(
            {one.dedupe_key for one in batch}, {one.sender for one in batch}
        )
        events = (one.event() for one in batch if one.dedupe_key not in known)
        outbox.notify(*filter(None, events), now=now)


def _missed_days(now: dt.datetime) -> Iterator[Reminder]:
    days = [(now - dt.timedelta(days=back)).date() for back in range(MISSED_LATELY)]
    # If there is no day at all, it is the next business day after the booking
    # (orders/status/progress.py).
    blank = Q(pickup_date=None, booked_at__gte=now - dt.timedelta(days=2 * MISSED_LATELY))
    for order in _waiting_for_a_driver(days, or_without_a_day=blank):
        if order.shown_progress(now) == Progress.PICKUP_MISSED:
            missed = (order, Progress.PICKUP_MISSED, now)
            event = partial(notifications.progress_event, *missed)
            yield Reminder(notifications.pickup_key(*missed), order.sender_id, event)


def _to_print(now: dt.datetime) -> Iterator[Reminder]:
    # In the morning anywhere, it is the same day or the day before in UTC.
    days = [(now + dt.timedelta(days=ahead)).date() for ahead in (0, 1)]
    for order in _waiting_for_a_driver(days, ~IS_WORTHLESS, printed_at=None, returns=None):
        local = now.astimezone(order.sender.tzinfo)
        if local.date() == order.expected_pickup() and local.hour in PRINT_BETWEEN:
            key = f"not_printed:{order.pk}:{local.date()}"
            event = partial(notifications.make_event, order, "not_printed", key, TO_PRINT, now)
            yield Reminder(key, order.sender_id, event)


def _waiting_for_a_driver(
    days: list[dt.date], *also: Any, or_without_a_day: Q | None = None, **more: None
) -> Iterator[Order]:
    """Find booked orders to be collected on these days: see `Order.expected_pickup`."""
    quoted = Q(pickup_date=None, quoted_pickup_date__in=days)
    wished = Q(pickup_date__in=days) | quoted | (or_without_a_day or Q(pk__in=[]))
    expected = Q(carrier_pickup_date__in=days) | Q(wished, carrier_pickup_date=None)
    waiting = Order.objects.filter(
        expected, *also, status=Status.BOOKED, progress=Progress.NONE, first_mile="pickup", **more
    )
    return waiting.select_related("sender").order_by("pk").iterator(chunk_size=BATCH)
