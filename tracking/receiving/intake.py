"""Store webhooks unchanged with one statement, then acknowledge them (interface §6).

Their content is read later, many at once (tracking/scanning/reading.py).
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


def receive_delivery(body: bytes, configured: CarrierSettings, *, now: dt.datetime) -> int:
    """Store a delivery for this account and return its key. Raises only if nothing was stored."""
    try:
        key = _store_delivery(body, configured, now)
    except (OperationalError, InterfaceError):
        # The first statement after a server restart fails. A delivery that gets stored twice is a
        # duplicate.
        if connection.in_atomic_block or connection.is_usable():
            raise
        connection.close()
        key = _store_delivery(body, configured, now)
    # Deliveries are in the admin, and a log line for each would cost a fifth of the rate.
    logger.debug("webhook_stored", delivery=key)
    return key


def _store_delivery(body: bytes, configured: CarrierSettings, now: dt.datetime) -> int:
    named = _named_reference(body, configured)
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
        gateway.account_of(configured)  # the account's first delivery
    return key


def _named_reference(body: bytes, configured: CarrierSettings) -> Named:
    """Return the reference and event id that the body names.

    A failure here mustn't prevent storing it.
    """
    try:
        return named_in(body, configured.contract)
    except Exception:
        logger.exception("webhook_not_named")
        return Named()


def count_refusal(reason: str, *, now: dt.datetime) -> None:
    """Count a delivery that was not stored: wrong secret, too large."""
    logger.warning("webhook_refused", reason=reason)
    tally, _ = WebhookTally.objects.get_or_create(day=now.date(), reason=reason)
    WebhookTally.objects.filter(pk=tally.pk).update(count=F("count") + 1)
