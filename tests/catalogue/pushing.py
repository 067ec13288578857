"""A carrier that pushes: one sound event, ways to spoil it, and the post that brings its bytes to the listener."""

import base64
import json
from typing import Any

from django.conf import settings
from django.test import Client

from tracking.models import WebhookDelivery

URL = "/webhooks/tracking/"
ID = "3f0a3d1c-2f5b-4c60-8a7d-6f0c9b0e5d21"
REFERENCE = "SQ7K2M"


def event(**changes: Any) -> dict[str, Any]:
    """A sound event (interface §2.2) with these members changed; a member that is `...` is left out."""
    sound = {
        "carrier_reference": REFERENCE,
        "event_id": ID,
        "event_type": "Pickup",
        "scan_time": "2026-11-18T21:21:05Z",
        "description": "Parcel picked up",
        "location_data": {"suburb": "Fitzroy", "state": "VIC", "postcode": "3065", "country": "AU"},
    }
    return {name: value for name, value in {**sound, **changes}.items() if value is not ...}


def wire(members: bytes = b"", **changes: Any) -> bytes:
    """The event as it travels, with more members behind it that json would not write."""
    body = json.dumps(event(**changes)).encode()
    return body[:-1] + b", " + members + b"}" if members else body


def basic(pair: str) -> str:
    return "Basic " + base64.b64encode(pair.encode()).decode()


def push(body: bytes, *, url: str = URL, content_type: str = "application/json", **extra: Any) -> Any:
    """Post these very bytes with the current secret, or with the `HTTP_AUTHORIZATION` given; "" sends none.

    An exception of the view is answered as a server would, so that a 500 shows as one.
    """
    extra.setdefault("HTTP_AUTHORIZATION", basic(settings.WEBHOOK_SECRETS[0]))
    if not extra["HTTP_AUTHORIZATION"]:
        del extra["HTTP_AUTHORIZATION"]
    browser = Client(enforce_csrf_checks=True, raise_request_exception=False)
    return browser.generic("POST", url, body, content_type=content_type, **extra)  # post() would recode the body


def last() -> WebhookDelivery:
    """The newest delivery that was stored."""
    return WebhookDelivery.objects.latest("pk")
