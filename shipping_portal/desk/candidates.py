"""References that may be an unclear booking's: those a reply named, then those that webhooks and reports brought.

What a webhook or a line of a billing report names is a candidate while nobody owns it.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.db.models import Exists, F, Min, OuterRef, QuerySet

from orders import gateway
from orders.models import BookingAttempt, Order
from orders.models.statuses import Status
from shipping_portal.desk import queues
from shipping_portal.desk.stray_charges import billed
from tracking.models import Parcel, TrackingEvent

EARLIER = dt.timedelta(minutes=30)
LATER = dt.timedelta(days=5)
MOST = 20
NEVER_ARRIVED = {BookingAttempt.State.NOT_SENT, BookingAttempt.State.REJECTED}


@dataclass(frozen=True)
class Candidate:
    """A reference, why it may be this booking's, and what speaks for or against it."""

    reference: str
    why: str
    first_scan_at: dt.datetime | None = None
    places: str = ""
    same_postcode: bool = False
    was_named: bool = False  # by a reply of the carrier's to this very booking
    taken_by: Order | None = None  # another order has it: it cannot be this one's
    billed: str = ""  # what the carrier charges for it

    @property
    def is_strong(self) -> bool:
        return (self.was_named or self.same_postcode) and self.taken_by is None


def candidates(order: Order, attempts: list[BookingAttempt]) -> list[Candidate]:
    """All of them, the likeliest first, each reference once."""
    found: dict[str, Candidate] = {}
    for candidate in (*_named(order, attempts), *_heard(order, attempts)):
        found.setdefault(candidate.reference.casefold(), candidate)
    for reference, charged in billed(order, *_span(order, attempts)).items():
        known = found.get(reference.casefold()) or Candidate(
            reference, "Charged by the carrier, and nobody's"
        )
        found[reference.casefold()] = replace(known, billed=charged)
    return list(found.values())[:MOST]


def likeliest(order: Order, found: list[Candidate]) -> str:
    """The one reference an operator starts from; "" where several compete, and never for answers that disagree."""
    strong = [candidate.reference for candidate in found if candidate.is_strong]
    return strong[0] if len(strong) == 1 and order.status == Status.UNCONFIRMED else ""


def as_seen(typed: str) -> str:
    """A typed reference in the case its scans have it; as typed if none came."""
    seen = Parcel.objects.filter(reference__iexact=typed.strip()).order_by(
        F("last_scan_at").desc(nulls_last=True)
    )
    return seen.values_list("reference", flat=True).first() or typed


def _named(order: Order, attempts: list[BookingAttempt]) -> Iterator[Candidate]:
    """Read in replies that were not trusted."""
    tellers = {attempt.seen_reference: attempt for attempt in attempts if attempt.seen_reference}
    taken = {other.carrier_reference: other for other in Order.objects.filter(carrier_reference__in=tellers)}
    parcels = _dated(Parcel.objects.filter(reference__in=tellers)).in_bulk(field_name="reference")
    places = _places(list(parcels.values()))
    for reference, attempt in tellers.items():
        parcel = parcels.get(reference)
        doubt = f", and was not trusted: {attempt.error}" if attempt.error else ", too late to be taken"
        yield Candidate(
            reference=reference,
            why=f"The carrier's answer to attempt {attempt.generation} named it{doubt}",
            first_scan_at=parcel.first_scan_at if parcel else None,  # type: ignore[attr-defined]
            places=_joined(places.get(parcel.pk, [])) if parcel else "",
            was_named=True,
            taken_by=taken.get(reference) if taken.get(reference) != order else None,
        )


def _heard(order: Order, attempts: list[BookingAttempt]) -> list[Candidate]:
    """Scanned in the time of this booking, and nobody's: at one of its two ends first, then the soonest."""
    early, late = _span(order, attempts)
    if early is None:
        return []
    ends = _postcodes(order.pickup["postcode"]) | _postcodes(order.receiver_postcode)
    near = TrackingEvent.objects.filter(parcel=OuterRef("pk"), postcode__in=ends)
    nobodys = _dated(Parcel.objects.filter(queues.unmatched())).annotate(
        near=Exists(near), heard_at=Min("events__received_at")
    )
    in_time = nobodys.filter(first_scan_at__gte=early, heard_at__lte=late)  # type: ignore[misc]
    parcels = list(in_time.order_by("-near", "first_scan_at")[:MOST])  # type: ignore[misc]
    places, is_ours = _places(parcels), gateway.is_ours(order)
    return [_heard_of(order, parcel, places.get(parcel.pk, []), is_ours=is_ours) for parcel in parcels]


def _span(order: Order, attempts: list[BookingAttempt]) -> tuple[dt.datetime | None, dt.datetime | None]:
    """When a parcel of these attempts may show itself; nothing where none of them reached the carrier.

    What a restored backup owed may have been sent at any time up to the restore, by attempts that it knows nothing of.
    """
    sent = [attempt.sent_at for attempt in attempts if attempt.state not in NEVER_ARRIVED]
    if order.problem.get("kind") == "restored":
        fenced = order.changes.filter(new=Status.UNCONFIRMED).values_list("at", flat=True)
        sent += [order.created_at, *fenced]
    return (min(sent) - EARLIER, max(sent) + LATER) if sent else (None, None)


def _heard_of(order: Order, parcel: Parcel, scans: list[TrackingEvent], *, is_ours: bool) -> Candidate:
    postcodes = {scan.postcode for scan in scans}
    starts = bool(postcodes & _postcodes(order.pickup["postcode"]))
    ends = bool(postcodes & _postcodes(order.receiver_postcode))
    where = {
        (True, True): "Scanned where this parcel starts and where it ends",
        (True, False): "Scanned where this parcel starts",
        (False, True): "Scanned where this parcel ends",
        (False, False): "Scanned after this attempt, elsewhere",
    }[starts, ends]
    return Candidate(
        reference=parcel.reference,
        why=where if is_ours else f"{where}; but on another carrier account than this order's",
        first_scan_at=parcel.first_scan_at,  # type: ignore[attr-defined]
        places=_joined(scans),
        same_postcode=starts or ends,
    )


def _dated(parcels: QuerySet[Parcel]) -> QuerySet[Parcel]:
    return parcels.annotate(first_scan_at=Min("events__scan_time"))


def _places(parcels: Sequence[Parcel]) -> dict[int, list[TrackingEvent]]:
    scans: dict[int, list[TrackingEvent]] = {}
    for scan in TrackingEvent.objects.filter(parcel__in=parcels).defer("raw").order_by("scan_time"):
        scans.setdefault(scan.parcel_id, []).append(scan)
    return scans


def _joined(scans: list[TrackingEvent]) -> str:
    """Suburbs and postcodes in the order of the scans, each once."""
    places = (f"{scan.suburb} {scan.postcode}".strip() for scan in scans)
    return ", ".join(dict.fromkeys(place for place in places if place))


def _postcodes(typed: str) -> set[str]:
    """A postcode with and without its space; none for a country that has none."""
    return {typed, typed.replace(" ", "")} - {""}
