"""The days of a sender, counted from its parcels by a job: the reports add days up, and never read a history.

Nothing is ever added to a day. The last fourteen days are counted anew whenever something may have changed in them,
and all days once a day or after a report is posted. So what a late scan changes of an older day is seen the next day.
"""

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from django.db import transaction
from django.db.models import F, Max, Min, Q, QuerySet
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.models import BillingReport, Charge
from shipping_portal.jobs.erasing import deletes
from shipping_portal.jobs.registry import chore, job
from shipping_portal.reports import delivery, pickups, promises, sizes
from shipping_portal.reports.delivery import Times
from shipping_portal.reports.models import Counting, DayFigures
from shipping_portal.reports.shipments import Shipments
from shipping_portal.reports.sizes import Counts
from shipping_portal.reports.spans import CHOICES, Days, Span
from tracking.folding import PAST_ALLOWED
from tracking.models import TrackingEvent

deletes("sender", "figures of days", DayFigures.objects.all(), "sender")  # they name saved sizes

LATELY = dt.timedelta(days=14)
A_DAY = dt.timedelta(days=1)
AT_ONCE = dt.timedelta(days=28)  # counted in one go
LOOKS_EVERY = 300  # seconds
OVERLAP = dt.timedelta(seconds=2 * LOOKS_EVERY)
IN_A_TURN, A_TURN = 100, dt.timedelta(seconds=10)  # so that many at once hold up no other work
DAILY = 100  # senders whose days are all counted anew, of one look: 28,800 a day


@dataclass
class Figures:
    """What one day came to, or several: parcels by what is counted of them."""

    delivered: dict[str, Times] = field(default_factory=lambda: defaultdict(Times))  # by place
    promises: Counter[str] = field(default_factory=Counter)  # of what was delivered, by outcome
    late: list[int] = field(default_factory=list)  # the orders themselves, for who asks for a refund
    pickups: Counter[str] = field(default_factory=Counter)  # by outcome
    sizes: Counts = field(default_factory=dict)  # of what was booked

    def add(self, day: "Figures", *, is_over: bool = True) -> None:
        """Add another day; pickups only of one that is over."""
        for place, times in day.delivered.items():
            self.delivered[place].update(times)
        self.promises.update(day.promises)
        if is_over:
            self.pickups.update(day.pickups)
        for name, (parcels, charged) in day.sizes.items():
            so_far, of_them = self.sizes.get(name, (0, 0))
            self.sizes[name] = so_far + parcels, of_them + charged

    def as_json(self) -> dict[str, Any]:
        return {part.name: value for part in fields(self) if (value := getattr(self, part.name))}

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> "Figures":
        delivered = {
            place: Times({int(tenths): count for tenths, count in times.items()})
            for place, times in kept.get("delivered", {}).items()
        }
        counts = {name: (parcels, charged) for name, (parcels, charged) in kept.get("sizes", {}).items()}
        outcomes: Counter[str] = Counter(kept.get("promises"))
        pickups: Counter[str] = Counter(kept.get("pickups"))
        return cls(delivered, outcomes, kept.get("late", []), pickups, counts)


@dataclass(frozen=True)
class Found:
    """What a page shows of these weeks and of those before; `kept` is on time of how many with a day, by week."""

    now: Figures
    before: Figures
    kept: list[tuple[int, int]]


def read(user: User, sender: Sender, span: Span) -> Found:
    """Add up the days of both periods. One query, however many parcels there are."""
    mine = DayFigures.objects.for_user(user).filter(sender=sender, day__gte=span.before.first, day__lte=span.last)
    now, before, weeks = Figures(), Figures(), dict[int, Counter[str]]()
    for day, kept in mine.order_by("day").values_list("day", "figures"):
        figures = Figures.from_json(kept)
        if span.holds(day):
            now.add(figures, is_over=day < span.last)
            weeks.setdefault((day - span.first).days // 7, Counter()).update(figures.promises)
        elif span.before.holds(day):
            before.add(figures)
    return Found(now, before, [promises.kept_of(counts) for _, counts in sorted(weeks.items())])


def late(sender: Sender, since: dt.date) -> set[int]:
    """Return the orders that were delivered late from that day on."""
    days = DayFigures.objects.filter(sender=sender, day__gte=since, figures__has_key="late")
    return {order for orders in days.values_list("figures__late", flat=True) for order in orders}


def count_days(sender: Sender, days: Days) -> None:
    """Count these days anew."""
    found: dict[dt.date, Figures] = defaultdict(Figures)
    shipments = Shipments.of(sender, days)
    for one in shipments.delivered:
        outcome = promises.outcome(one)
        found[one.day].promises[outcome] += 1
        found[one.day].late += [one.order] if outcome == promises.LATE else []
        tenths = delivery.tenths_of_days(one)
        if tenths is not None:
            found[one.day].delivered[delivery.place_of(one, sender)][tenths] += 1
    for pickup in shipments.planned:
        found[pickup.day].pickups[pickups.outcome(pickup, days)] += 1
    for day, counts in sizes.counts_by_day(sender, days).items():
        found[day].sizes = counts
    with transaction.atomic():
        DayFigures.objects.filter(sender=sender, day__gte=days.first, day__lte=days.last).delete()
        DayFigures.objects.bulk_create(
            DayFigures(sender=sender, day=day, figures=figures.as_json()) for day, figures in found.items()
        )


@job("count", queue=Counting.objects.select_related("sender"), lane="sender", order=200)
def work(counting: Counting) -> None:
    """Count the last days of a sender, or all of them where that is due, some weeks at once."""
    sender, now, last = counting.sender, timezone.now(), counting.all_counted_at
    today = now.astimezone(sender.tzinfo).date()
    is_in_full = last is None or last <= now - A_DAY or counting.zone != sender.zone
    first = _first_day(sender, today) if is_in_full else today - LATELY
    for days in _in_parts(first, today, sender):
        count_days(sender, days)
        if not counting.renew():
            return
    if is_in_full:
        DayFigures.objects.filter(sender=sender).exclude(day__range=(first, today)).delete()
    counting.finish(counted_at=now, zone=sender.zone, all_counted_at=now if is_in_full else last)


def owe_days(sender: Sender, at: dt.datetime) -> None:
    """Let all days of a sender be counted at that time, whatever was counted of them before."""
    afresh = {"due_at": at, "all_counted_at": None, **Counting.AFRESH}
    Counting.objects.update_or_create(sender=sender, defaults=afresh)


def _first_day(sender: Sender, today: dt.date) -> dt.date:
    """Return the first day that a report shows and on which there may be something to count."""
    farthest = today - dt.timedelta(weeks=2 * max(CHOICES))
    booked = Order.objects.filter(sender=sender).aggregate(Min("booked_at"))["booked_at__min"]
    first = (booked - PAST_ALLOWED).astimezone(sender.tzinfo).date() if booked else today
    return max(farthest, first)


def _in_parts(first: dt.date, last: dt.date, sender: Sender) -> Iterator[Days]:
    while first <= last:
        yield Days(first, min(first + AT_ONCE, last), sender.tzinfo)
        first += AT_ONCE + A_DAY


@chore("days to count", every=LOOKS_EVERY)
def look(now: dt.datetime) -> None:
    """Let the days be counted of those to whom something happened since the last look, and whose turn it is."""
    Counting.objects.bulk_create(
        [Counting(sender=sender) for sender in Sender.objects.filter(counting=None)], ignore_conflicts=True
    )
    last = Counting.objects.aggregate(Max("counted_at"))["counted_at__max"] or now
    since = min(last, now) - OVERLAP
    billed = Charge.objects.posted().filter(report__in=BillingReport.objects.filter(ended_at__gte=since))
    Counting.objects.filter(sender__in=_distinct(billed, "sender")).update(all_counted_at=None)
    scanned = TrackingEvent.objects.filter(received_at__gte=since, parcel__order__isnull=False)
    booked = Order.objects.filter(submitted_at__gte=since)
    changed = _distinct(scanned, "parcel__order__sender") | _distinct(booked, "sender")
    idle = Counting.objects.filter(due_at=None).order_by()
    by_turn = idle.filter(all_counted_at__lte=now - A_DAY).order_by("all_counted_at").values_list("pk", flat=True)
    is_due = Q(pk__in=changed | {*by_turn[:DAILY]}) | Q(all_counted_at=None) | ~Q(zone=F("sender__zone"))
    due = list(idle.filter(is_due).values_list("pk", flat=True))
    for turn, first in enumerate(range(0, len(due), IN_A_TURN)):
        mine = idle.filter(pk__in=due[first : first + IN_A_TURN])
        mine.update(due_at=now + turn * A_TURN)


def _distinct(rows: QuerySet[Any], sender: str) -> set[int]:
    return set(rows.order_by().values_list(sender, flat=True).distinct())
