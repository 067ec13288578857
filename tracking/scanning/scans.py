"""Store each scan once, however it arrived and however often, in parcels that are locked."""

import datetime as dt
import hashlib
import json
import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q

from orders.calling.contract import contract_of
from orders.models import CarrierAccount, Order
from shipping_portal.carrier.messages import Scan
from tracking.models import Parcel, TrackingEvent
from tracking.scanning import statements, vocabulary

Source = TrackingEvent.Source
ParcelKey = tuple[int, str]  # a parcel's account, and its reference in upper case
SEEN = ("event_id", "received_at", "pushed_at", "polled_at")
KNOWN_BY = (
    "parcel",
    "account",
    "fingerprint",
    "event_type",
    "scan_time",
    "description",
    "set_aside",
    *SEEN,
)


@dataclass(frozen=True)
class Held:
    """Parcels that are locked until the transaction ends, with their orders and all their scans."""

    parcels: dict[int, Parcel]
    orders: dict[int, Order]
    events: dict[int, list[TrackingEvent]]


@dataclass(frozen=True)
class Arrival:
    """A scan that arrived for a parcel: pushed or polled, its bytes, and when it arrived."""

    parcel: int
    scan: Scan
    source: str
    raw: bytes
    at: dt.datetime


@dataclass(frozen=True)
class Stored:
    """The event that an arrival created or matched, or None if other content has its event id."""

    event: TrackingEvent | None
    is_new: bool = False


def parcel_for(
    reference: str, *, account: CarrierAccount, at: dt.datetime, is_typed: bool = False
) -> Parcel:
    """Return the parcel of this reference at this account, in any case, creating it if needed.

    It gets the carrier's spelling. A spelling that a person typed is used only until the carrier's
    arrives, and never if it is all capitals.
    """
    parcel, _ = Parcel.objects.get_or_create(
        account=account,
        reference__upper=reference.upper(),
        defaults={"reference": reference, "created_at": at},
    )
    is_a_guess = is_typed and (reference.isupper() or parcel.order_id or parcel.last_scan_at)
    if not is_a_guess:
        take_spelling(parcel, reference)
    return parcel


def parcels_for(named: Mapping[ParcelKey, tuple[str, dt.datetime]]) -> dict[ParcelKey, int]:
    """Return the keys of many parcels; create missing ones with this spelling and time."""
    found = _find_parcels(named)
    missing = sorted(named.keys() - found.keys())
    if missing:
        made = (
            Parcel(account_id=name[0], reference=named[name][0], created_at=named[name][1])
            for name in missing
        )
        Parcel.objects.bulk_create(made, ignore_conflicts=True)
        found = _find_parcels(named)
    return found


def _find_parcels(named: Collection[ParcelKey]) -> dict[ParcelKey, int]:
    spelled = Parcel.objects.filter(reference__upper__in={upper for _, upper in named})
    rows = spelled.values_list("pk", "account_id", "reference")
    found = {(account, reference.upper()): pk for pk, account, reference in rows}
    return {name: found[name] for name in named if name in found}


def take_spelling(parcel: Parcel, reference: str) -> None:
    """Change the parcel's reference to this spelling."""
    if parcel.reference != reference:
        parcel.reference = reference
        parcel.save(update_fields=["reference"])


def lock_parcels(parcels: Collection[int]) -> Held:
    """Lock these parcels with their orders until the transaction ends.

    Only then may their scans be written: an insert takes a shared lock on the parcel, and two
    transactions that share it and then want more would deadlock. On PostgreSQL row locks, orders
    first, make projections run one at a time; on SQLite BEGIN IMMEDIATE does. The later one sees
    every scan.
    """
    locked = _orders_of(parcels)
    # Not its key: a process that stored the same scan holds its id and needs the parcel's key to
    # commit.
    rows = (
        Parcel.objects.select_for_update(no_key=True, of=("self",))
        .select_related("account")
        .order_by("pk")
    )
    held = {parcel.pk: parcel for parcel in rows.filter(pk__in=parcels)}
    # A parcel that was lost while we waited is left out; an order that it gained in that time isn't
    # locked: see projecting.
    owners = {
        pk: locked[parcel.order_id] for pk, parcel in held.items() if parcel.order_id in locked
    }
    events: dict[int, list[TrackingEvent]] = {pk: [] for pk in held}
    for event in TrackingEvent.objects.filter(parcel__in=held).only(*KNOWN_BY).order_by("pk"):
        events[event.parcel_id].append(event)
    return Held(held, owners, events)


def _orders_of(parcels: Collection[int]) -> dict[int, Order]:
    rows = Order.objects.select_for_update(of=("self",)).select_related("sender")
    return {order.pk: order for order in rows.filter(parcel__in=parcels).order_by("pk")}


def store_scans(arrivals: Sequence[Arrival], held: Held) -> list[Stored]:
    """Store scans of locked parcels once each, and return the results; new scans join `held`."""
    known = _Known(arrivals, held)
    stored = [_store_scan(arrival, held, known) for arrival in arrivals]
    new = [one.event for one in stored if one.event and one.is_new]
    TrackingEvent.objects.bulk_create(new)
    statements.update_each(TrackingEvent, known.seen_again.values(), SEEN)
    contracts = {parcel.account_id: contract_of(parcel.account) for parcel in held.parcels.values()}
    vocabulary.note_unknown_words(
        (event.event_type, event.received_at, contracts[event.account_id]) for event in new
    )
    return stored


class _Known:
    """The events that arrivals may match, by id and fingerprint, including those of this batch."""

    def __init__(self, arrivals: Sequence[Arrival], held: Held) -> None:
        self.by_id: dict[tuple[int, uuid.UUID], TrackingEvent] = {}
        self.alike: dict[tuple[int, str], list[TrackingEvent]] = defaultdict(list)
        self.seen_again: dict[int, TrackingEvent] = {}
        ids = {arrival.scan.event_id for arrival in arrivals if arrival.scan.event_id}
        of_others = Q(
            account__in={parcel.account_id for parcel in held.parcels.values()}, event_id__in=ids
        )
        for event in (
            TrackingEvent.objects.filter(of_others).exclude(parcel__in=held.parcels).only(*KNOWN_BY)
        ):
            self.add_id(event)
        for events in held.events.values():
            for event in events:
                self.add(event)

    def add(self, event: TrackingEvent) -> None:
        self.alike[event.parcel_id, event.fingerprint].append(event)
        self.add_id(event)

    def add_id(self, event: TrackingEvent) -> None:
        if event.event_id:
            self.by_id[event.account_id, event.event_id] = event

    def find(self, parcel: Parcel, event_id: uuid.UUID | None, digest: str) -> TrackingEvent | None:
        """Find an event by its id, else by fingerprint.

        This also matches a pushed scan with the polled one.
        """
        if event_id and (by_id := self.by_id.get((parcel.account_id, event_id))):
            return by_id
        alike = self.alike[parcel.pk, digest]
        return next((event for event in alike if not (event_id and event.event_id)), None)


def _store_scan(arrival: Arrival, held: Held, known: _Known) -> Stored:
    parcel, scan = held.parcels[arrival.parcel], arrival.scan
    event_id = uuid.UUID(scan.event_id) if scan.event_id else None
    digest = scan_fingerprint(parcel.reference, scan)
    event = known.find(parcel, event_id, digest)
    if event is None:
        made = _make_event(arrival, parcel, event_id, digest)
        known.add(made)
        held.events[parcel.pk].append(made)
        return Stored(made, is_new=True)
    is_same = (event.parcel_id, event.fingerprint, event.description) == (
        parcel.pk,
        digest,
        scan.description,
    )
    if event_id and event.event_id == event_id and not is_same:
        return Stored(None)
    _note_seen(event, event_id, arrival, known)
    return Stored(event)


def _make_event(
    arrival: Arrival, parcel: Parcel, event_id: uuid.UUID | None, digest: str
) -> TrackingEvent:
    scan, at = arrival.scan, arrival.at
    return TrackingEvent(
        parcel=parcel,
        account_id=parcel.account_id,
        event_id=event_id,
        fingerprint=digest,
        event_type=scan.event_type,
        scan_time=scan.scan_time,
        description=scan.description,
        suburb=scan.suburb[:120],
        state=scan.state[:120],
        postcode=scan.postcode[:40],
        country=scan.country[:120],
        raw=arrival.raw,
        source=arrival.source,
        received_at=at,
        pushed_at=at if arrival.source == Source.PUSH else None,
        polled_at=at if arrival.source == Source.POLL else None,
    )


def _note_seen(
    event: TrackingEvent, event_id: uuid.UUID | None, arrival: Arrival, known: _Known
) -> None:
    """Give a polled scan its pushed copy's event id; keep the earliest receipt of each.

    A poll may overtake a delivery, so the first one we read isn't always the earliest.
    """
    before = [getattr(event, name) for name in SEEN]
    if event_id and event.event_id is None:
        event.event_id = event_id
        known.add_id(event)
    for seen in ("received_at", "pushed_at" if arrival.source == Source.PUSH else "polled_at"):
        setattr(event, seen, min(getattr(event, seen) or arrival.at, arrival.at))
    if event.pk and before != [getattr(event, name) for name in SEEN]:
        known.seen_again[event.pk] = event


def scan_fingerprint(reference: str, scan: Scan) -> str:
    """Return the fingerprint of a scan without an event id.

    It covers the same parcel, kind and instant.
    """
    word = vocabulary.normalise_word(scan.event_type)
    parts = f"{reference.upper()}|{word}|{scan.scan_time.isoformat()}"
    return hashlib.sha256(parts.encode()).hexdigest()


def as_bytes(raw: object) -> bytes:
    """Return a polled scan as the bytes we store."""
    return json.dumps(raw, ensure_ascii=True, default=str).encode()
