"""The webhook's journey: raw bytes stored first, read afterwards, acknowledged once stored (interface §6)."""

import datetime as dt
import hashlib
import logging

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from orders import gateway
from shipping_portal.carrier.scans import BadScan, read_event
from tracking import scans
from tracking.models import Parcel, TrackingEvent, WebhookDelivery, WebhookTally

State = WebhookDelivery.State
logger = logging.getLogger(__name__)


def receive(body: bytes, *, now: dt.datetime) -> WebhookDelivery:
    """Store a delivery and read it at once. Raises only while nothing is stored yet."""
    delivery = WebhookDelivery.objects.create(
        received_at=now, body=body, sha256=hashlib.sha256(body).hexdigest()
    )
    try:
        read(delivery.pk)
    except Exception:  # stored already: the carrier must not send it again, the sweep reads it again
        logger.exception("delivery_not_read", extra={"delivery": delivery.pk})
    return delivery


def read(delivery_id: int) -> None:
    """Turn a stored delivery into a scan, or say why not. Safe to repeat: a replay finds the scan it made."""
    delivery = WebhookDelivery.objects.get(pk=delivery_id)
    body = bytes(delivery.body)
    try:
        scan = read_event(body, gateway.contract())
    except BadScan as error:
        return _set(delivery, State.QUARANTINED, str(error))
    now = timezone.now()
    try:
        with transaction.atomic():
            parcel = scans.parcel_for(scan.reference, at=now)
            event, is_new = scans.store(parcel, scan, source=TrackingEvent.Source.PUSH, raw=body, at=now)
            state = State.STORED if is_new or delivery.event_id == event.pk else State.DUPLICATE
            _set(delivery, state, "", event=event)
            Parcel.objects.filter(pk=parcel.pk).update(fold_due_at=now)
    except scans.Differs as error:
        return _set(delivery, State.DIFFERS, str(error))
    scans.project(parcel.pk)


def refuse(reason: str, *, now: dt.datetime) -> None:
    """Count a delivery that was not stored: wrong secret, too large."""
    tally, _ = WebhookTally.objects.get_or_create(day=now.date(), reason=reason)
    WebhookTally.objects.filter(pk=tally.pk).update(count=F("count") + 1)


def _set(delivery: WebhookDelivery, state: str, reason: str, *, event: TrackingEvent | None = None) -> None:
    WebhookDelivery.objects.filter(pk=delivery.pk).update(state=state, reason=reason[:300], event=event)
