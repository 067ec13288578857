"""Webhooks are stored as they come, by one statement, and acknowledged once stored (interface §6).

Whatever they hold is read later, many at once (tracking/scanning/reading.py).
"""

import datetime as dt
import hashlib
import uuid

import structlog
from django.db import InterfaceError, OperationalError, connection
from django.db.models import F

from orders.calling import gateway
from orders.calling.carrier_settings import CarrierSettings
from shipping_portal.carrier.scans import Named, named_in
from tracking.models import WebhookTally
from tracking.scanning import statements

logger = structlog.get_logger(__name__)


def receive(body: bytes, configured: CarrierSettings, *, now: dt.datetime) -> int:
    """Store what the carrier of this account delivered; returns its key. Raises only while nothing is stored."""
    try:
        key = _stored(body, configured, now)
    except (OperationalError, InterfaceError):
        # A server that was restarted is noticed by the first statement after it. Stored twice, it is a duplicate.
        if connection.in_atomic_block or connection.is_usable():
            raise
        connection.close()
        key = _stored(body, configured, now)
    logger.debug("webhook_stored", delivery=key)  # it is on the desk, and a line each costs a fifth of the rate
    return key


def _stored(body: bytes, configured: CarrierSettings, now: dt.datetime) -> int:
    named = _named(body, configured)
    values = {
        "received_at": now,
        "body": body,
        "sha256": hashlib.sha256(body).hexdigest(),
        "due_at": now,
        "reference": named.reference[:100],
        "carrier_event_id": uuid.UUID(named.event_id) if named.event_id else None,
        "scan_time": named.scan_time,
    }
    while (key := statements.insert_delivery(configured.fingerprint, **values)) is None:
        gateway.account_of(configured)  # the first of its account
    return key


def _named(body: bytes, configured: CarrierSettings) -> Named:
    """Return what it says it is about, for those who look for it: no reason not to store it."""
    try:
        return named_in(body, configured.contract)
    except Exception:
        logger.exception("webhook_not_named")
        return Named()


def refuse(reason: str, *, now: dt.datetime) -> None:
    """Count a delivery that was not stored: wrong secret, too large."""
    logger.warning("webhook_refused", reason=reason)
    tally, _ = WebhookTally.objects.get_or_create(day=now.date(), reason=reason)
    WebhookTally.objects.filter(pk=tally.pk).update(count=F("count") + 1)
