"""Storing one scan once, whichever way and however often it came, and folding a parcel's scans into its progress."""

import datetime as dt
import hashlib
import json
import uuid

from django.db import IntegrityError, transaction
from django.utils import timezone

from orders.contract import contract_of, settings_of
from orders.models import CarrierAccount, Order
from orders.progress import FUTURE_ALLOWED, Step, fold
from orders.transitions import advance
from shipping_portal.carrier.messages import Scan
from shipping_portal.jobs.registry import job
from tracking import erasing, vocabulary
from tracking.models import Parcel, TrackingEvent

Source = TrackingEvent.Source
PAST_ALLOWED = dt.timedelta(days=30)
LONG_BEFORE = "scan time is long before the booking"


class ContentDiffers(Exception):
    """An event id came again with other content; the first one is kept."""


def parcel_for(reference: str, *, account: CarrierAccount, at: dt.datetime, is_typed: bool = False) -> Parcel:
    """Return the parcel of this reference at this account, in whatever case it was known; made if it was not.

    It takes on the letters in which the carrier writes it. What a person typed tells those only until the carrier did,
    and not where it was typed in capitals alone.
    """
    parcel, _ = Parcel.objects.get_or_create(
        account=account, reference__upper=reference.upper(), defaults={"reference": reference, "created_at": at}
    )
    is_a_guess = is_typed and (reference.isupper() or parcel.order_id or parcel.last_scan_at)
    if parcel.reference != reference and not is_a_guess:
        parcel.reference = reference
        parcel.save(update_fields=["reference"])
    return parcel


def locked(parcel_id: int) -> Parcel:
    """Return the parcel with its account, ours until the transaction ends. Its scans may be written only after that: an
    insert shares a lock on the parcel, and two who share it and then want more lock each other out.
    """
    # Not its key: whoever has stored the same scan holds its id, and needs the parcel's key to commit.
    parcels = Parcel.objects.select_for_update(no_key=True, of=("self",)).select_related("account")
    return parcels.get(pk=parcel_id)


def fingerprint(reference: str, scan: Scan) -> str:
    """Return the fingerprint of a scan without an event id: same parcel, same kind, same instant."""
    parts = f"{reference.upper()}|{vocabulary.normalise(scan.event_type)}|{scan.scan_time.isoformat()}"
    return hashlib.sha256(parts.encode()).hexdigest()


def store(parcel: Parcel, scan: Scan, *, source: str, raw: bytes, at: dt.datetime) -> tuple[TrackingEvent, bool]:
    """Return the stored event and whether it is new. Raises ContentDiffers when its id is taken by other content."""
    known = _known(parcel, scan)
    if known is None:
        try:
            with transaction.atomic():
                return _create(parcel, scan, source=source, raw=raw, at=at), True
        except IntegrityError:  # the same scan arrived twice at once
            known = _known(parcel, scan)
            if known is None:
                raise
    _note_seen(known, scan, source=source, at=at)
    return known, False


def _known(parcel: Parcel, scan: Scan) -> TrackingEvent | None:
    """Find the event by its id; else by fingerprint, which also joins a pushed scan with its polled copy."""
    if scan.event_id:
        by_id = TrackingEvent.objects.filter(event_id=scan.event_id, account=parcel.account_id).first()
        if by_id:
            if not _same(by_id, parcel, scan):
                raise ContentDiffers(f"event {scan.event_id} is known with other content")
            return by_id
    alike = TrackingEvent.objects.filter(parcel=parcel, fingerprint=fingerprint(parcel.reference, scan))
    return alike.filter(event_id=None).first() if scan.event_id else alike.first()


def _same(event: TrackingEvent, parcel: Parcel, scan: Scan) -> bool:
    return (
        event.parcel_id == parcel.pk
        and event.fingerprint == fingerprint(parcel.reference, scan)
        and event.description == scan.description
    )


def _create(parcel: Parcel, scan: Scan, *, source: str, raw: bytes, at: dt.datetime) -> TrackingEvent:
    vocabulary.note(scan.event_type, at, contract_of(parcel.account))
    return TrackingEvent.objects.create(
        parcel=parcel,
        account_id=parcel.account_id,
        event_id=uuid.UUID(scan.event_id) if scan.event_id else None,
        fingerprint=fingerprint(parcel.reference, scan),
        event_type=scan.event_type,
        scan_time=scan.scan_time,
        description=scan.description,
        suburb=scan.suburb[:120],
        state=scan.state[:120],
        postcode=scan.postcode[:40],
        country=scan.country[:120],
        raw=raw,
        source=source,
        received_at=at,
        pushed_at=at if source == Source.PUSH else None,
        polled_at=at if source == Source.POLL else None,
        set_aside="scan time is more than a day ahead" if scan.scan_time > at + FUTURE_ALLOWED else "",
    )


def _note_seen(event: TrackingEvent, scan: Scan, *, source: str, at: dt.datetime) -> None:
    """Give a polled scan the event id of its pushed copy; keep each channel's first sight for webhook health."""
    changes: dict[str, object] = {}
    if scan.event_id and event.event_id is None:
        changes["event_id"] = uuid.UUID(scan.event_id)
    seen = "pushed_at" if source == Source.PUSH else "polled_at"
    if getattr(event, seen) is None:
        changes[seen] = at
    if changes:
        TrackingEvent.objects.filter(pk=event.pk).update(**changes)


def project(parcel_id: int) -> None:
    """Fold all of a parcel's scans and write what they say, on the parcel and on its order. Safe to repeat."""
    now = timezone.now()
    with transaction.atomic():
        # The row locks, order first, serialise folds on PostgreSQL, BEGIN IMMEDIATE on SQLite: the later one sees
        # every scan. An order that gets this parcel in between folds it itself.
        order = Order.objects.select_for_update(of=("self",)).filter(parcel=parcel_id).first()
        parcel = locked(parcel_id)
        if order and parcel.order_id != order.pk:  # taken from it while we waited for its lock
            order = None
        # Its words mean nothing in another's contract.
        if settings_of(parcel.account) is None:
            Parcel.objects.filter(pk=parcel.pk).update(due_at=None, **Parcel.AFRESH)
            return
        events = _usable(parcel, order)
        words = vocabulary.meanings((event.event_type for event in events), contract_of(parcel.account))
        result = fold((_step(event, words) for event in events), now=now)
        Parcel.objects.filter(pk=parcel.pk).update(
            progress=result.progress,
            progress_at=result.progress_at,
            last_scan_at=result.last_scan_at,
            due_at=None,
            **Parcel.AFRESH,
        )
        if order:
            # A scan that says nothing about where the parcel is still shows that somebody had it in hand.
            advance(order, result.progress, at=result.progress_at or result.last_scan_at)
            if order.erased_at:  # what came after its receiver was erased says who signed for it
                erasing.erase_scans([order.pk])


@job("fold", queue=Parcel.objects.all(), lane="order__sender", order=80)
def work(parcel: Parcel) -> None:
    """Fold a parcel's scans again, as their words mean something else by now, or a worker died before it did."""
    project(parcel.pk)


def _usable(parcel: Parcel, order: Order | None) -> list[TrackingEvent]:
    """Return the scans that count.

    Those from long before the booking are set aside: clocks that lost their date (F30).
    """
    events = list(parcel.events.filter(set_aside=""))
    if order is None:
        return events
    first = order.created_at - PAST_ALLOWED
    absurd = [event.pk for event in events if event.scan_time < first]
    if absurd:
        parcel.events.filter(pk__in=absurd).update(set_aside=LONG_BEFORE)
    return [event for event in events if event.scan_time >= first]


def _step(event: TrackingEvent, words: dict[str, str]) -> Step:
    return Step(
        event.scan_time, str(event.event_id or event.fingerprint), words[vocabulary.normalise(event.event_type)]
    )


def as_bytes(raw: object) -> bytes:
    """Return a polled scan as the bytes we keep of it."""
    return json.dumps(raw, ensure_ascii=True, default=str).encode()
