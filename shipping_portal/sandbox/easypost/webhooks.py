"""Send events to the listener, with a signature of their bytes, until it answers with a 2xx."""

import functools
import hashlib
import hmac
import json
import unicodedata
from typing import Any

from shipping_portal.sandbox.easypost.documents import event_document
from shipping_portal.sandbox.easypost.shipments import Shipment, Shipments
from shipping_portal.sandbox.timeline import Timeline
from shipping_portal.sandbox.webhooks import post

RETRIES = 6


class Events:
    """Sends events and lists every attempt: event, reference, status or error."""

    def __init__(self, shipments: Shipments, timeline: Timeline, secret: str) -> None:
        self.shipments, self.timeline = shipments, timeline
        self._key = unicodedata.normalize("NFKD", secret).encode()

    def announce(self, shipment: Shipment, before: str, base_url: str) -> None:
        """Send a tracker's change if there is a listener."""
        if self.shipments.listener:
            event = event_document(shipment, before, base_url, self.shipments.stamp())
            self.timeline.after(0, functools.partial(self._try, event, 1))

    def signature(self, body: bytes) -> str:
        """Return the signature of a body."""
        return f"hmac-sha256-hex={hmac.new(self._key, body, hashlib.sha256).hexdigest()}"

    def _try(self, event: dict[str, Any], attempt: int) -> None:
        body, settings = json.dumps(event).encode(), self.shipments.settings
        signed = {"X-Hmac-Signature": self.signature(body)}
        url, timeout = self.shipments.listener, settings.webhook_timeout_seconds
        status, error = post(url, body, timeout=timeout, signature=signed)
        reference = event["result"]["tracking_code"]
        facts = {
            "event_id": event["id"],
            "reference": reference,
            "attempt": attempt,
            "status": status,
            "error": error,
        }
        self.shipments.deliveries.append(facts)
        if (status is None or not 200 <= status < 300) and attempt <= RETRIES:
            wait = settings.webhook_retry_seconds * 2 ** (attempt - 1)
            self.timeline.after(wait, functools.partial(self._try, event, attempt + 1))
