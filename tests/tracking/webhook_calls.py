"""Webhook deliveries as the carrier sends them."""

import base64
import json
import uuid
from typing import Any

from django.conf import settings
from django.test import Client

from tracking.scanning import reading

URL = "/webhooks/tracking/"


def event(**changes: Any) -> dict[str, Any]:
    return {
        "carrier_reference": "SQ7K2M",
        "event_id": str(uuid.uuid4()),
        "event_type": "Pickup",
        "scan_time": "2026-11-18T21:21:05Z",
        "description": "Parcel picked up",
        "location_data": {"suburb": "Fitzroy", "state": "VIC", "postcode": "3065", "country": "AU"},
        **changes,
    }


def post(body: Any, *, secret: str | None = None, url: str = URL, **extra: Any) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = settings.WEBHOOK_SECRETS[0] if secret is None else secret
    if given:
        extra["HTTP_AUTHORIZATION"] = "Basic " + base64.b64encode(given.encode()).decode()
    answer = Client(enforce_csrf_checks=True).post(url, raw, content_type="application/json", **extra)
    reading.read_due()
    return answer
