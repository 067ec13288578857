"""Store a sender's daily figures, which are counted from parcels and added up by the reports."""

import datetime as dt
from collections import Counter, defaultdict
from dataclasses import dataclass, field, fields
from typing import Any

from django.db import transaction

from shipping_portal.accounts.models import Sender, User
from shipping_portal.reports import delivery, pickups, promises, sizes
from shipping_portal.reports.delivery import Times
from shipping_portal.reports.models import DayFigures
from shipping_portal.reports.shipments import Shipments
from shipping_portal.reports.sizes import Counts
from shipping_portal.reports.spans import Days, Span


@dataclass
class Figures:
    """The figures of one or several days, as numbers of parcels."""

    delivered: dict[str, Times] = field(default_factory=dict)  # by place
    promises: Counter[str] = field(default_factory=Counter)  # delivered parcels, by outcome
    pickups: Counter[str] = field(default_factory=Counter)  # by outcome
    sizes: Counts = field(default_factory=dict)  # booked parcels
    returns: int = 0  # parcels that arrived back; they count nowhere else here

    def add(self, day: "Figures", *, is_over: bool = True) -> None:
        """Add another day, with its pickups only if the day is over."""
        for place, times in day.delivered.items():
            self.delivered[place] = delivery.added_up(self.delivered.get(place, []), times)
        self.promises.update(day.promises)
        self.returns += day.returns
        if is_over:
            self.pickups.update(day.pickups)
        for name, (parcels, charged) in day.sizes.items():
            so_far, of_them = self.sizes.get(name, (0, 0))
            self.sizes[name] = so_far + parcels, of_them + charged

    def took(self, place: str, tenths: int) -> None:
        """Count a parcel that took this many tenths of a day to get to a place."""
        times = self.delivered.setdefault(place, [])
        times += [0] * (tenths + 1 - len(times))
        times[tenths] += 1

    def as_json(self) -> dict[str, Any]:
        return {part.name: value for part in fields(self) if (value := getattr(self, part.name))}

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> "Figures":
        counts = {
            name: (parcels, charged) for name, (parcels, charged) in kept.get("sizes", {}).items()
        }
        outcomes: Counter[str] = Counter(kept.get("promises"))
        pickups: Counter[str] = Counter(kept.get("pickups"))
        return cls(kept.get("delivered", {}), outcomes, pickups, counts, kept.get("returns", 0))


@dataclass(frozen=True)
class Found:
    """The figures of these weeks and of the weeks before; `kept` is (on time, promised) by week."""

    now: Figures
    before: Figures
    kept: list[tuple[int, int]]


def read_days(user: User, sender: Sender, span: Span) -> Found:
    """Add up the days of both periods, in one query however many parcels there are."""
    mine = DayFigures.objects.for_user(user).filter(
        sender=sender, day__gte=span.before.first, day__lte=span.last
    )
    now, before, weeks = Figures(), Figures(), dict[int, Counter[str]]()
    for day, kept in mine.order_by("day").values_list("day", "figures"):
        figures = Figures.from_json(kept)
        if span.holds(day):
            now.add(figures, is_over=day < span.last)
            weeks.setdefault((day - span.first).days // 7, Counter()).update(figures.promises)
        elif span.before.holds(day):
            before.add(figures)
    return Found(now, before, [promises.count_kept(counts) for _, counts in sorted(weeks.items())])


def late_orders(sender: Sender, since: dt.date) -> set[int]:
    """Return the orders that were delivered late from that day on."""
    days = DayFigures.objects.filter(sender=sender, day__gte=since).exclude(late=[])
    return {order for orders in days.values_list("late", flat=True) for order in orders}


def count_days(sender: Sender, days: Days) -> None:
    """Recount these days, and store each one's figures."""
    found: dict[dt.date, Figures] = defaultdict(Figures)
    late_ones: dict[dt.date, list[int]] = defaultdict(list)
    shipments = Shipments.of(sender, days)
    for one in shipments.delivered:
        outcome = promises.promise_outcome(one)
        if outcome == promises.LATE:
            late_ones[one.day].append(one.order)
        if one.is_return:
            found[one.day].returns += 1
            continue
        found[one.day].promises[outcome] += 1
        tenths = delivery.tenths_of_days(one)
        if tenths is not None:
            found[one.day].took(delivery.place_of(one, sender), tenths)
    for pickup in shipments.planned:
        found[pickup.day].pickups[pickups.pickup_outcome(pickup, days)] += 1
    for day, counts in sizes.counts_by_day(sender, days).items():
        found[day].sizes = counts
    with transaction.atomic():
        DayFigures.objects.filter(sender=sender, day__gte=days.first, day__lte=days.last).delete()
        DayFigures.objects.bulk_create(
            DayFigures(sender=sender, day=day, figures=figures.as_json(), late=late_ones[day])
            for day, figures in found.items()
        )
