"""What is known about a booking whose outcome is not: everything an operator needs to settle it on one page."""

import datetime as dt
from dataclasses import dataclass

from django.db.models import Min

from orders import gateway
from orders.models import BookingAttempt, Order
from shipping_portal.desk import queues
from shipping_portal.desk.masking import masked
from tracking.models import Parcel, TrackingEvent

EARLIER = dt.timedelta(minutes=30)
LATER = dt.timedelta(days=5)
MOST_CANDIDATES = 20


@dataclass(frozen=True)
class Step:
    """One line of the attempt's story."""

    at: dt.datetime
    words: str
    detail: str = ""


@dataclass(frozen=True)
class Candidate:
    """A reference that may be this booking's."""

    reference: str
    why: str
    first_scan_at: dt.datetime | None = None
    places: str = ""
    same_postcode: bool = False


@dataclass(frozen=True)
class Evidence:
    steps: list[Step]
    candidates: list[Candidate]
    request: str
    response: str


def evidence(order: Order) -> Evidence:
    """The last attempt's story, its masked request and answer, and the references it may have got."""
    attempts = list(order.attempts.order_by("pk"))
    last = attempts[-1] if attempts else None
    contract = gateway.contract()
    return Evidence(
        steps=_steps(order, attempts),
        candidates=_candidates(order, attempts),
        request=masked(last.body, contract) if last else "",
        response=masked(last.response, contract) if last and last.response else "",
    )


def _steps(order: Order, attempts: list[BookingAttempt]) -> list[Step]:
    steps = [Step(change.at, f"{change.old} → {change.new}", change.reason) for change in order.changes.all()]
    for attempt in attempts:
        steps.append(Step(attempt.sent_at, f"Attempt {attempt.generation} sent", f"key {attempt.key}"))
        if attempt.done_at:
            status = f"HTTP {attempt.http_status}. " if attempt.http_status else ""
            steps.append(Step(attempt.done_at, attempt.get_state_display(), f"{status}{attempt.error}"))
    steps += [
        Step(
            call.at,
            f"{call.operation}: {call.outcome}",
            f"{call.status or 'no status'}, {call.milliseconds} ms",
        )
        for call in order.calls.order_by("pk")
    ]
    return sorted(steps, key=lambda step: step.at)


def _candidates(order: Order, attempts: list[BookingAttempt]) -> list[Candidate]:
    """What a reply named comes first, then unknown references by postcode and by how soon they were first seen."""
    told = [
        Candidate(attempt.seen_reference, "The carrier's answer named it", same_postcode=True)
        for attempt in attempts
        if attempt.seen_reference
    ]
    if not attempts:
        return told
    return [*told, *_unknown_references(order, attempts[-1].sent_at)][:MOST_CANDIDATES]


def _unknown_references(order: Order, sent_at: dt.datetime) -> list[Candidate]:
    parcels = (
        Parcel.objects.filter(queues.unmatched())
        .annotate(first_scan_at=Min("events__scan_time"), heard_at=Min("events__received_at"))
        .filter(first_scan_at__gte=sent_at - EARLIER, heard_at__lte=sent_at + LATER)
        .order_by("heard_at")[:200]
    )
    found = {parcel.pk: parcel for parcel in parcels}
    postcodes = {order.receiver_postcode, order.pickup["postcode"]} - {""}
    places: dict[int, list[str]] = {}
    for event in TrackingEvent.objects.filter(parcel__in=found).order_by("scan_time"):
        places.setdefault(event.parcel_id, []).append(f"{event.suburb} {event.postcode}".strip())
    candidates = [_candidate(parcel, places.get(pk, []), postcodes) for pk, parcel in found.items()]
    return sorted(candidates, key=lambda candidate: not candidate.same_postcode)


def _candidate(parcel: Parcel, places: list[str], postcodes: set[str]) -> Candidate:
    same = any(place.endswith(postcode) for place in places for postcode in postcodes)
    return Candidate(
        reference=parcel.reference,
        why="Scanned where this parcel starts or ends" if same else "Scanned after this attempt",
        first_scan_at=parcel.first_scan_at,  # type: ignore[attr-defined]
        places=", ".join(dict.fromkeys(place for place in places if place)),
        same_postcode=same,
    )
