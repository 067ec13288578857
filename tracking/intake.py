"""Webhooks: raw bytes stored first, read afterwards, acknowledged once stored (interface §6)."""

import datetime as dt
import hashlib
import json

import structlog
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from orders.contract import contract_of
from orders.models import CarrierAccount, Restore
from orders.references import is_same
from shipping_portal.carrier.messages import Scan
from shipping_portal.carrier.scans import BadScan, read_event, read_scan
from shipping_portal.jobs.registry import job
from tracking import scans
from tracking.models import Parcel, Poll, TrackingEvent, WebhookDelivery, WebhookTally

State = WebhookDelivery.State
logger = structlog.get_logger(__name__)
READ_BY_JOB_AFTER = dt.timedelta(seconds=10)  # read at once where it is received; later only if that process died


def receive(body: bytes, account: CarrierAccount, *, now: dt.datetime) -> WebhookDelivery:
    """Store what the carrier of this account delivered and read it at once. Raises only while nothing is stored yet."""
    sha256 = hashlib.sha256(body).hexdigest()
    delivery = WebhookDelivery.objects.create(
        account=account, received_at=now, body=body, sha256=sha256, due_at=now + READ_BY_JOB_AFTER
    )
    try:
        read(delivery.pk)
    except Exception:  # stored already: the carrier must not send it again, the sweep reads it again
        logger.exception("delivery_not_read", delivery=delivery.pk)
    return delivery


def read(delivery_id: int) -> None:
    """Turn a stored delivery into a scan, or say why not. Safe to repeat: a replay finds the scan it made.

    The scan counts as received when the delivery was, however late it is read. A delivery whose scan is stored
    keeps it, even if its account's contract of today would read the body otherwise.
    """
    delivery = WebhookDelivery.objects.select_related("account").get(pk=delivery_id)
    try:
        scan, reference, source = _scan_in(delivery)
    except BadScan as error:
        return _set_aside(delivery, State.QUARANTINED, str(error))
    try:
        with transaction.atomic():
            named = scans.parcel_for(reference, account=delivery.account, at=delivery.received_at)
            parcel = scans.locked(named.pk)
            event, is_new = scans.store(parcel, scan, source=source, raw=bytes(delivery.body), at=delivery.received_at)
            is_its_own = is_new or (delivery.event_id == event.pk and delivery.state != State.DUPLICATE)
            state = State.STORED if is_its_own else State.DUPLICATE
            WebhookDelivery.objects.filter(pk=delivery.pk).update(
                state=state, reason=scan.remark, event=event, due_at=None, **WebhookDelivery.AFRESH
            )
            Parcel.objects.filter(pk=parcel.pk).update(due_at=timezone.now(), **Parcel.AFRESH)
            _ask_for_the_rest(parcel)
    except scans.ContentDiffers as error:
        return _set_aside(delivery, State.DIFFERS, str(error))
    logger.info("scan_read", delivery=delivery.pk, reference=reference, event_type=event.event_type, state=str(state))
    scans.project(parcel.pk)


def _ask_for_the_rest(parcel: Parcel) -> None:
    """Poll a reference nobody here knows once, while a restore's gap is open: its first scans came before it."""
    is_unknown = parcel.order_id is None and not parcel.last_scan_at
    if is_unknown and Restore.objects.open().exists():
        Poll.objects.get_or_create(parcel=parcel, defaults={"due_at": timezone.now()})


@job("read", queue=WebhookDelivery.objects.filter(state=State.NEW), order=70)
def work(delivery: WebhookDelivery) -> None:
    """Read a delivery that its receiver did not."""
    read(delivery.pk)


def _scan_in(delivery: WebhookDelivery) -> tuple[Scan, str, TrackingEvent.Source]:
    """Return the scan, its parcel's reference and the way it came. Raises BadScan."""
    body, contract = bytes(delivery.body), contract_of(delivery.account)
    if not delivery.polled_for:
        scan = read_event(body, contract)
        return scan, scan.reference, TrackingEvent.Source.PUSH
    scan = read_scan(json.loads(body), contract)  # we wrote this JSON ourselves
    if scan.reference and not is_same(scan.reference, delivery.polled_for):
        raise BadScan(f"the scan names {scan.reference}")
    return scan, delivery.polled_for, TrackingEvent.Source.POLL


def refuse(reason: str, *, now: dt.datetime) -> None:
    """Count a delivery that was not stored: wrong secret, too large."""
    tally, _ = WebhookTally.objects.get_or_create(day=now.date(), reason=reason)
    WebhookTally.objects.filter(pk=tally.pk).update(count=F("count") + 1)


def _set_aside(delivery: WebhookDelivery, state: str, reason: str) -> None:
    logger.warning("delivery_set_aside", delivery=delivery.pk, state=str(state))
    WebhookDelivery.objects.filter(pk=delivery.pk, event=None).update(
        state=state, reason=reason[:300], due_at=None, **WebhookDelivery.AFRESH
    )
