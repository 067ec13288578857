"""The parcels of both periods with what their scans say, read in a handful of queries however many there are."""

import datetime as dt
from dataclasses import dataclass

from django.db.models import Count, Min, Q, QuerySet
from django.db.models.fields.json import KT

from orders.models import Order
from orders.models.order import DAY, NO_DAY
from orders.models.statuses import STILL_AT_SENDER, Progress, Status
from shipping_portal.accounts import places
from shipping_portal.accounts.models import Sender, User
from shipping_portal.desk.reports.spans import Span
from tracking import vocabulary
from tracking.models import Parcel, TrackingEvent

MOVED = {*Progress} - {*STILL_AT_SENDER}
LONGEST_TO_A_PICKUP = dt.timedelta(days=10)  # from a booking without a day to the next business day, and more


@dataclass(frozen=True)
class Scans:
    """What the carrier's scans of one parcel say: when it first moved, and whether a driver came in vain or not."""

    moved_at: dt.datetime | None = None
    is_missed: bool = False
    is_futile: bool = False


@dataclass(frozen=True)
class Delivered:
    at: dt.datetime
    eta_from: dt.date | None
    eta_to: dt.date | None
    country: str
    state: str
    moved_at: dt.datetime | None


@dataclass(frozen=True)
class Planned:
    """A pickup whose day is over. `heard_at` is the last scan of whatever kind, for a parcel that never moved."""

    day: dt.date
    heard_at: dt.datetime | None
    scans: Scans


@dataclass(frozen=True)
class Journeys:
    delivered: list[Delivered]
    planned: list[Planned]

    @classmethod
    def of(cls, user: User, sender: Sender, span: Span) -> "Journeys":
        """Those delivered, and those to be picked up, in the span or in the one before it."""
        mine = Order.objects.for_user(user).filter(sender=sender, status=Status.BOOKED)
        arrived, picked = _arrived(span), _to_pick_up(span)
        mine = mine.annotate(day=DAY)
        scans = _scans(arrived | picked, mine)
        return cls(_delivered(mine.filter(arrived), scans), _planned(mine.filter(picked), scans, span))


def _arrived(span: Span) -> Q:
    return Q(progress=Progress.DELIVERED, progress_at__gte=span.before.start, progress_at__lt=span.end)


def _to_pick_up(span: Span) -> Q:
    """Pickups whose day is over; those of which nobody knows the day are told by their booking."""
    known = Q(day__gte=span.before.first, day__lt=span.last)
    booked = Q(booked_at__gte=span.before.start - LONGEST_TO_A_PICKUP, booked_at__lt=span.end)
    return Q(known | Q(day=NO_DAY) & booked, first_mile="pickup")


def _delivered(orders: QuerySet[Order], scans: dict[int, Scans]) -> list[Delivered]:
    columns = ("pk", "progress_at", "eta_from", "eta_to", "receiver_country", "receiver_state")
    nothing = Scans()
    return [
        Delivered(at, first, last, country, state, scans.get(key, nothing).moved_at)
        for key, at, first, last, country, state in orders.values_list(*columns).iterator()
    ]


def _planned(orders: QuerySet[Order], scans: dict[int, Scans], span: Span) -> list[Planned]:
    columns = ("pk", "day", "progress_at", "booked_at", KT("pickup__country"), KT("pickup__state"))
    nothing = Scans()
    found = []
    for key, day, heard_at, booked_at, *where in orders.values_list(*columns).iterator():
        if day == NO_DAY:  # left blank, it is the next business day (interface §2.1)
            day = places.next_business_day(*where, after=span.day_of(booked_at))
        found.append(Planned(day, heard_at, scans.get(key, nothing)))
    return found


def _scans(orders: Q, mine: QuerySet[Order]) -> dict[int, Scans]:
    """By order. The words are those that occur, so that every spelling of them counts."""
    parcels = Parcel.objects.filter(order__in=mine.filter(orders).values("pk"))
    events = TrackingEvent.objects.filter(parcel__in=parcels.values("pk"), set_aside="").order_by()
    words = list(events.values_list("event_type", flat=True).distinct())
    meanings = vocabulary.meanings(words)
    by_progress = {word: meanings[vocabulary.fold_word(word)] for word in words}
    found = events.values_list("parcel__order").annotate(
        Min("scan_time", filter=Q(event_type__in=_meaning(by_progress, MOVED))),
        Count("pk", filter=Q(event_type__in=_meaning(by_progress, {Progress.PICKUP_MISSED}))),
        Count("pk", filter=Q(event_type__in=_meaning(by_progress, {Progress.PICKUP_FUTILE}))),
    )
    return {
        key: Scans(moved_at, bool(missed), bool(futile)) for key, moved_at, missed, futile in found.iterator()
    }


def _meaning(words: dict[str, str], wanted: set[Progress]) -> list[str]:
    return [word for word, progress in words.items() if progress in wanted]
