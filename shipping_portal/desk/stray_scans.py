"""What the scans of a reference tell of it: evidence for a booking that nobody knows the end of."""

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, F, Min, OuterRef, QuerySet

from orders.models import Order
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.naming import Names, names_in
from shipping_portal.desk import queues
from tracking.models import Parcel, TrackingEvent

MOST = 20


@dataclass(frozen=True)
class Scanned:
    """One reference. `heard_at` is by our own clock, `first_scan_at` by the carrier's; `said` is what they call it."""

    reference: str
    heard_at: dt.datetime
    first_scan_at: dt.datetime | None
    places: str  # in the order of the scans, each once
    postcodes: frozenset[str]
    said: tuple[Names, ...]


def of(references: Collection[str], contract: Contract) -> dict[str, Scanned]:
    """What is known of each of these, in the very case they are written; their scans read by this contract."""
    found = _dated(Parcel.objects.filter(reference__in=references))
    return {one.reference: one for one in _scanned(found, contract)}


def nobodys(
    known_from: dt.datetime,
    first_scan_from: dt.datetime,
    until: dt.datetime,
    near: Collection[str],
    contract: Contract,
) -> list[Scanned]:
    """First heard of in this time and nobody's: those at one of these postcodes first, then the soonest."""
    unmatched = _dated(Parcel.objects.filter(queues.unmatched(), created_at__gte=known_from))
    in_time = unmatched.filter(heard_at__range=(known_from, until), first_scan_at__gte=first_scan_from)
    at_its_ends = TrackingEvent.objects.filter(parcel=OuterRef("pk"), postcode__in=near)
    nearest = in_time.annotate(near=Exists(at_its_ends)).order_by("-near", "first_scan_at")[:MOST]
    return _scanned(nearest, contract)


def as_seen(typed: str) -> tuple[str, dt.datetime | None]:
    """A typed reference in the case its scans have it, and when we first heard of it; as typed if we never did."""
    known = _dated(Parcel.objects.filter(reference__iexact=typed.strip()))
    seen = known.order_by(F("last_scan_at").desc(nulls_last=True)).first()
    return (seen.reference, _heard_at(seen)) if seen else (typed, None)


def postcodes_of(order: Order) -> tuple[set[str], set[str]]:
    """Of its start and of its end, with and without their spaces; none for a country that has none."""
    ends = (order.pickup["postcode"], order.receiver_postcode)
    start, end = ({typed, typed.replace(" ", "")} - {""} for typed in ends)
    return start, end


def _dated(parcels: QuerySet[Parcel]) -> QuerySet[Any]:
    return parcels.annotate(first_scan_at=Min("events__scan_time"), heard_at=Min("events__received_at"))


def _heard_at(parcel: Any) -> dt.datetime:
    """A scan may have been read late, and somebody may have watched the reference before any scan came."""
    heard_at: dt.datetime = min(parcel.created_at, parcel.heard_at or parcel.created_at)
    return heard_at


def _scanned(parcels: QuerySet[Any], contract: Contract) -> list[Scanned]:
    found: list[Any] = list(parcels)
    scans: dict[int, list[TrackingEvent]] = {parcel.pk: [] for parcel in found}
    for scan in TrackingEvent.objects.filter(parcel__in=found).order_by("scan_time"):
        scans[scan.parcel_id].append(scan)
    return [_one(parcel, scans[parcel.pk], contract) for parcel in found]


def _one(parcel: Any, scans: Sequence[TrackingEvent], contract: Contract) -> Scanned:
    places = (f"{scan.suburb} {scan.postcode}".strip() for scan in scans)
    return Scanned(
        parcel.reference,
        _heard_at(parcel),
        parcel.first_scan_at,
        ", ".join(dict.fromkeys(place for place in places if place)),
        frozenset(scan.postcode for scan in scans),
        tuple({names_in(bytes(scan.raw), contract) for scan in scans}),
    )
