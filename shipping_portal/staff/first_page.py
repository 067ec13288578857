"""Show the admin's first page: queues with work, most urgent first, and the last 24 hours."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Value
from django.db.models.functions import TruncHour
from django.utils import timezone

from orders.models import Order, OrderChange
from orders.models.statuses import Status
from shipping_portal.accounts.adminkit.queues import Queue, age_words

HOURS = 24
TONES = ("bad", "warn", "on")  # the most urgent first
ICONS = {
    "order": "box",
    "label": "printer",
    "carrieraccount": "truck",
    "sender": "people",
    "deadletter": "alert",
}
# in percent of the chart: the highest bar, the baseline, the longest refusal
HEIGHT, FLOOR, HANGING = 52.0, 72.0, 12.0


@dataclass(frozen=True)
class Line:
    """One queue with work: its tone, the age of its oldest row in words, and its icon."""

    queue: Queue
    tone: str
    age: str
    icon: str


def queue_lines(found: list[Queue], now: dt.datetime) -> list[Line]:
    """Return the queues with work, most urgent first, then in the order of their cost."""
    made = [_queue_line(queue, now) for queue in found if queue.count]
    return sorted(made, key=lambda line: TONES.index(line.tone))


def _queue_line(queue: Queue, now: dt.datetime) -> Line:
    tone, age = age_words(queue.oldest, queue.term, now)
    icon = ICONS.get(queue.name.partition("-")[0], "receipt" if "billing" in queue.url else "info")
    return Line(queue, tone, age, icon)


@dataclass(frozen=True)
class Hour:
    """One hour of the chart: submitted and booked, refused, and the bars' positions in percent."""

    at: dt.datetime
    booked: int
    refused: int
    x: float
    y: float
    height: float
    hanging: float


@dataclass(frozen=True)
class Strip:
    """The last 24 hours, and the sentence that sums them up."""

    hours: list[Hour]
    booked: int
    refused: int
    most: Hour | None
    worst: Hour | None

    @property
    def described(self) -> str:
        """The chart in words, for people who can't see it."""
        booked, refused = f"{self.booked:,} in all", f"{self.refused:,} refused"
        if self.most:
            booked = f"{booked}, most at {_format_time(self.most.at)} with {self.most.booked:,}"
        if self.worst:
            refused = f"{refused}, {self.worst.refused:,} of them at {_format_time(self.worst.at)}"
        return f"Bookings by hour: {booked}. {refused}."


def _format_time(at: dt.datetime) -> str:
    return f"{timezone.localtime(at):%H:%M %Z}"


def day_strip(now: dt.datetime) -> Strip:
    """Count the last 24 hours in one query: bookings and refusals, each by their own index."""
    first = now.replace(minute=0, second=0, microsecond=0) - dt.timedelta(hours=HOURS - 1)
    sent = _by_hour(
        "booked",
        Order.objects.filter(submitted_at__gte=first, booked_at__isnull=False),
        "submitted_at",
    )
    noes = _by_hour("refused", OrderChange.objects.filter(new=Status.REJECTED, at__gte=first), "at")
    counted: dict[str, dict[dt.datetime, int]] = {"booked": {}, "refused": {}}
    for row in sent.union(noes, all=True):
        counted[row["kind"]][row["hour"]] = row["n"]
    booked, refused = counted["booked"], counted["refused"]
    tallest, longest = max(booked.values(), default=0), max(refused.values(), default=0)
    hours = []
    for place in range(HOURS):
        at = first + dt.timedelta(hours=place)
        high, low = booked.get(at, 0), refused.get(at, 0)
        height = HEIGHT * high / tallest if high else 0.0
        hanging = HANGING * low / longest if low else 0.0
        hours.append(
            Hour(at, high, low, 100 * place / HOURS + 0.4, FLOOR - height, height, hanging)
        )
    most = max(hours, key=lambda hour: hour.booked) if tallest else None
    worst = max(hours, key=lambda hour: hour.refused) if longest else None
    return Strip(hours, sum(booked.values()), sum(refused.values()), most, worst)


def _by_hour(kind: str, rows: Any, column: str) -> Any:
    marked = rows.order_by().annotate(kind=Value(kind), hour=TruncHour(column, tzinfo=dt.UTC))
    return marked.values("kind", "hour").annotate(n=Count("pk"))
