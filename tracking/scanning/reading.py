"""Read stored webhooks: many in one transaction, projecting each of their parcels once.

A worker checks every quarter of a second; without workers the sweep reads them. Several readers
share the backlog and never wait for each other's rows.
"""

import datetime as dt
import json
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import structlog
from celery.signals import worker_ready, worker_shutting_down
from django.db import Error, close_old_connections, connection, transaction
from django.utils import timezone

from orders.calling.contract import contract_of
from orders.models import CarrierAccount, Restore
from orders.status.references import is_same
from shipping_portal.carrier.messages import Scan
from shipping_portal.carrier.scans import (
    BadScan,
    read_event,
    read_reference_to_look_at,
    read_scan,
)
from shipping_portal.http.database_outage import database_answers
from shipping_portal.jobs.models import UNDER_WAY, lease_time
from shipping_portal.jobs.registry import chore, job
from tracking.models import Poll, TrackingEvent, WebhookDelivery
from tracking.receiving import looks
from tracking.scanning import projecting, scans, statements

State, Source = WebhookDelivery.State, TrackingEvent.Source
logger = structlog.get_logger(__name__)
BATCH = 250
LOOKS_EVERY = 0.25  # seconds
SWEPT_AFTER = dt.timedelta(seconds=2)  # if no worker has taken it after this time
SWEEP_SECONDS = 10.0
ENDED = ("state", "reason", "event", "due_at", *WebhookDelivery.AFRESH)


@dataclass(frozen=True)
class Parsed:
    """A delivery with its scan and how it arrived, a parcel to poll, or the reason for neither."""

    delivery: WebhookDelivery
    scan: Scan | None = None
    reference: str = ""
    source: str = Source.PUSH
    why_not: str = ""

    @property
    def parcel(self) -> scans.ParcelKey:
        return self.delivery.account_id, self.reference.upper()

    @property
    def is_look(self) -> bool:
        return not (self.scan or self.why_not)


def read_due(*, before: dt.datetime | None = None) -> int:
    """Process a batch of unread deliveries; return how many.

    Each is first claimed for one lease, and its attempt counted. If the batch fails, or its process
    dies, each becomes a separate job, so that one that can't be read doesn't hold up the others.
    """
    keys = _claim_batch(before or timezone.now())
    if not keys:
        return 0
    try:
        read_deliveries(*keys)
    except Exception:
        if not database_answers():
            raise
        logger.exception("deliveries_not_read", deliveries=keys)
        WebhookDelivery.objects.filter(pk__in=keys, state=State.NEW).update(due_at=timezone.now())
    return len(keys)


def _claim_batch(before: dt.datetime) -> list[int]:
    due = WebhookDelivery.objects.filter(
        state=State.NEW, failures=0, parked_at=None, due_at__lte=before
    )
    # SQLite has one lock for all writes.
    if not due.exists():
        return []
    with transaction.atomic():
        first = due.select_for_update(skip_locked=True).order_by("due_at")
        keys = list(first.values_list("pk", flat=True)[:BATCH])
        until = timezone.now() + lease_time()
        WebhookDelivery.objects.filter(pk__in=keys).update(
            due_at=until, failures=1, last_error=UNDER_WAY
        )
    return keys


@job("read", queue=WebhookDelivery.objects.filter(state=State.NEW), order=70)
def read_due_delivery(delivery: WebhookDelivery) -> None:
    """Read a single delivery, such as one whose batch failed."""
    read_deliveries(delivery.pk)


@chore("webhooks")
def read_overdue(now: dt.datetime) -> None:
    """Read what has waited too long for a worker, for a limited time."""
    ends = time.monotonic() + SWEEP_SECONDS
    while time.monotonic() < ends and read_due(before=now - SWEPT_AFTER):
        pass


def read_deliveries(*keys: int) -> None:
    """Turn stored deliveries into scans, or store why not. Safe to repeat: a replay finds its scan.

    A scan counts as received when its delivery was received, however late it is read. A delivery
    with a stored scan keeps it, even if its account's current contract would read the body
    differently. If a delivery means *look*, its parcel's poll becomes due instead.
    """
    parsed = _parse_deliveries(keys)
    found = [one for one in parsed if one.scan]
    naming = [one for one in parsed if not one.why_not]
    named = {one.parcel: (one.reference, one.delivery.received_at) for one in reversed(naming)}
    # Before the transaction, so that nobody waits for a row that isn't committed yet.
    parcels = scans.parcels_for(named)
    for parcel in sorted({parcels[one.parcel] for one in naming if one.is_look}):
        looks.request_poll(parcel, now=timezone.now())
    with transaction.atomic():
        _lock_deliveries(parsed)
        held = scans.lock_parcels(parcels.values())
        arrivals = [
            scans.Arrival(
                parcels[one.parcel],
                one.scan,
                one.source,
                bytes(one.delivery.body),
                one.delivery.received_at,
            )
            for one in found
            if one.scan
        ]
        stored = dict(
            zip((one.delivery.pk for one in found), scans.store_scans(arrivals, held), strict=True)
        )
        for one in parsed:
            _record_outcome(one, stored.get(one.delivery.pk))
        statements.update_each(WebhookDelivery, (one.delivery for one in parsed), ENDED)
        for one in naming:
            scans.take_spelling(held.parcels[parcels[one.parcel]], one.reference)
        _poll_unknown_reference(held)
        projecting.project_held(held)
    for one in parsed:
        _log_delivery(one)


def _parse_deliveries(keys: Collection[int]) -> list[Parsed]:
    deliveries = list(WebhookDelivery.objects.filter(pk__in=keys).order_by("pk"))
    accounts = CarrierAccount.objects.in_bulk({delivery.account_id for delivery in deliveries})
    return [_read_body(delivery, accounts[delivery.account_id]) for delivery in deliveries]


def _read_body(delivery: WebhookDelivery, account: CarrierAccount) -> Parsed:
    body, contract = bytes(delivery.body), contract_of(account)
    try:
        if not delivery.polled_for and contract.webhook_means == "look":
            return Parsed(delivery, reference=read_reference_to_look_at(body, contract))
        if not delivery.polled_for:
            scan = read_event(body, contract)
            return Parsed(delivery, scan, scan.reference)
        scan = read_scan(json.loads(body), contract)  # we wrote this JSON ourselves
        if scan.reference and not is_same(scan.reference, delivery.polled_for):
            raise BadScan(f"the scan names {scan.reference}")
        return Parsed(delivery, scan, delivery.polled_for, Source.POLL)
    except BadScan as error:
        return Parsed(delivery, why_not=str(error))


def _lock_deliveries(parsed: list[Parsed]) -> None:
    """Reload and lock each delivery until the transaction ends."""
    rows = WebhookDelivery.objects.select_for_update(of=("self",)).order_by("pk")
    now = rows.filter(pk__in=[one.delivery.pk for one in parsed]).values_list(
        "pk", "state", "event_id"
    )
    states = {pk: (state, event) for pk, state, event in now}
    for one in parsed:
        one.delivery.state, one.delivery.event_id = states[one.delivery.pk]


def _record_outcome(one: Parsed, stored: scans.Stored | None) -> None:
    """Store the outcome on the delivery."""
    delivery = one.delivery
    if stored is not None and stored.event is not None:
        is_its_own = stored.is_new or (
            delivery.event_id == stored.event.pk and delivery.state != State.DUPLICATE
        )
        delivery.state = State.STORED if is_its_own else State.DUPLICATE
        delivery.event, delivery.reason = stored.event, one.scan.remark if one.scan else ""
    elif delivery.event_id is None and one.scan:
        delivery.state, delivery.reason = (
            State.DIFFERS,
            f"event {one.scan.event_id} is known with other content",
        )
    elif delivery.event_id is None and one.is_look:
        delivery.state, delivery.reason = State.LOOK, ""
    elif delivery.event_id is None:
        delivery.state, delivery.reason = State.QUARANTINED, one.why_not[:300]
    for name, value in {"due_at": None, **WebhookDelivery.AFRESH}.items():
        setattr(delivery, name, value)


def _poll_unknown_reference(held: scans.Held) -> None:
    """Poll an unknown reference once while the gap of a restore is open.

    Our copy may lack its first scans.
    """
    unknown = [
        pk
        for pk, parcel in held.parcels.items()
        if parcel.order_id is None and not parcel.last_scan_at
    ]
    if unknown and Restore.objects.open().exists():
        polls = (Poll(parcel_id=pk, due_at=timezone.now()) for pk in unknown)
        Poll.objects.bulk_create(polls, ignore_conflicts=True)


def _log_delivery(one: Parsed) -> None:
    facts = {"delivery": one.delivery.pk, "state": str(one.delivery.state)}
    if one.delivery.state in WebhookDelivery.SET_ASIDE:
        logger.warning("delivery_set_aside", **facts)
    elif one.scan:
        logger.info("scan_read", reference=one.reference, event_type=one.scan.event_type, **facts)


class WebhookReader(threading.Thread):
    """A thread that reads while its worker lives. It finishes the current batch when stopped."""

    def __init__(self) -> None:
        super().__init__(name="reader of webhooks", daemon=True)
        self.stopped = threading.Event()

    def run(self) -> None:
        while not self.stopped.is_set():
            if self._look() < BATCH:
                self.stopped.wait(LOOKS_EVERY)
        connection.close()

    def _look(self) -> int:
        try:
            close_old_connections()
            return read_due()
        except Error as error:
            logger.warning("database_unreachable", error=type(error).__name__)
        except Exception:
            logger.exception("reader_failed")
        self.stopped.wait(1.0)
        return 0

    def stop(self) -> None:
        self.stopped.set()
        if self.is_alive():
            self.join()


_reader = WebhookReader()


@worker_ready.connect
def _start_reader(**kwargs: Any) -> None:
    _reader.start()


@worker_shutting_down.connect
def _stop_reader(**kwargs: Any) -> None:
    _reader.stop()
