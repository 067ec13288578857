"""Read the parcels of some days with their scans, in a handful of queries."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, Min, Q, QuerySet, TextField, Value, When
from django.db.models.fields.json import KT

from orders.models import Order
from orders.models.order import DAY, NO_DAY
from orders.models.statuses import STILL_AT_SENDER, Progress, Status
from shipping_portal.accounts.address import places
from shipping_portal.accounts.models import Sender
from shipping_portal.reports.spans import Days
from tracking.models import Parcel, TrackingEvent, happened_at
from tracking.scanning import vocabulary

MOVED = {*Progress} - {*STILL_AT_SENDER}
# from a booking without a day to the next business day, with some margin
LONGEST_TO_A_PICKUP = dt.timedelta(days=10)


@dataclass(frozen=True)
class Scans:
    """One parcel's scans: when it first moved, and whether a driver failed to collect it."""

    moved_at: dt.datetime | None = None
    is_missed: bool = False
    is_futile: bool = False


NO_SCANS = Scans()
COLUMNS = (
    "pk",
    "progress_at",
    "progress",
    "first_mile",
    "day",
    "booked_at",
    "eta_from",
    "eta_to",
    "receiver_country",
    "receiver_state",
    "returns",
)


@dataclass(frozen=True)
class Delivered:
    """A delivery. `day` is the date of `at` for the sender, `order` the order's key."""

    order: int
    at: dt.datetime
    day: dt.date
    eta_from: dt.date | None
    eta_to: dt.date | None
    country: str
    state: str
    is_return: bool
    moved_at: dt.datetime | None


@dataclass(frozen=True)
class Planned:
    """A pickup with its day.

    `heard_at` is the last scan of any kind, for a parcel that never moved.
    """

    day: dt.date
    heard_at: dt.datetime | None
    scans: Scans


@dataclass(frozen=True)
class Shipments:
    delivered: list[Delivered]
    planned: list[Planned]

    @classmethod
    def of(cls, sender: Sender, days: Days) -> "Shipments":
        """Read parcels delivered on these days, and those to be picked up on them.

        A parcel may be both. A return isn't picked up from the sender.
        """
        mine = Order.objects.filter(sender=sender, status=Status.BOOKED).annotate(day=DAY)
        # Pickups without a known day are found by booking time.
        known = Q(day__gte=days.first, day__lte=days.last)
        booked = Q(booked_at__gte=days.start - LONGEST_TO_A_PICKUP, booked_at__lt=days.end)
        orders = mine.filter(
            _arrived_in(days) | Q(known | Q(day=NO_DAY) & booked, first_mile="pickup")
        )
        scans, found = _scans_by_order(orders), cls([], [])
        for row in orders.values_list(*COLUMNS, *_where_from()).iterator():
            found._take(row, scans.get(row[0], NO_SCANS), days)
        return found

    def _take(self, row: tuple[Any, ...], scans: Scans, days: Days) -> None:
        order, at, progress, first_mile, planned, booked_at, first, last, *place = row
        country, state, returns, *where = place
        if progress == Progress.DELIVERED and at and days.holds(day := days.day_of(at)):
            self.delivered.append(
                Delivered(
                    order, at, day, first, last, country, state, bool(returns), scans.moved_at
                )
            )
        if first_mile == "pickup" and not returns:
            # If it is blank, it is the next business day (interface §2.1).
            if planned == NO_DAY:
                planned = places.next_business_day(*where, after=days.day_of(booked_at))
            if days.holds(planned):
                self.planned.append(Planned(planned, at, scans))


def _where_from() -> tuple[Case, Case]:
    """Read the pickup's country and state from its JSON, for the few without a known day."""
    known = Value("", output_field=TextField())
    country, state = (
        Case(When(day=NO_DAY, then=KT(f"pickup__{part}")), default=known)
        for part in ("country", "state")
    )
    return country, state


def _arrived_in(days: Days) -> Q:
    return Q(progress=Progress.DELIVERED, progress_at__gte=days.start, progress_at__lt=days.end)


def _scans_by_order(orders: QuerySet[Order]) -> dict[int, Scans]:
    """Return the scans by order. Every spelling of a word counts."""
    parcels = Parcel.objects.filter(order__in=orders.values("pk"))
    events = TrackingEvent.objects.filter(parcel__in=parcels.values("pk"), set_aside="").order_by()
    known = vocabulary.meanings_everywhere()
    found = events.values_list("parcel__order").annotate(
        moved_at=Min(happened_at(), filter=vocabulary.means_one_of(MOVED, known)),
        missed=Count("pk", filter=vocabulary.means_one_of({Progress.PICKUP_MISSED}, known)),
        futile=Count("pk", filter=vocabulary.means_one_of({Progress.PICKUP_FUTILE}, known)),
    )
    return {
        key: Scans(moved_at, bool(missed), bool(futile))
        for key, moved_at, missed, futile in found.iterator()
    }
