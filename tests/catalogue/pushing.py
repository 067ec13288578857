"""A carrier that pushes events: a valid event, ways to spoil it, and a post that sends its bytes to the listener.

They go to its address, through all middleware, or through the short cut (tracking/receiving/short_cut.py).
"""

import base64
import json
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.test import Client, RequestFactory

from tracking.models import WebhookDelivery
from tracking.receiving import short_cut
from tracking.scanning import reading

URL = "/webhooks/tracking/"
ID = "3f0a3d1c-2f5b-4c60-8a7d-6f0c9b0e5d21"
REFERENCE = "SQ7K2M"


def event(**changes: Any) -> dict[str, Any]:
    """Return a valid event (interface §2.2) with these members changed. A member set to `...` is left out."""
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
    """Return the event's bytes, with extra members at the end that json can't write."""
    body = json.dumps(event(**changes)).encode()
    return body[:-1] + b", " + members + b"}" if members else body


def basic(pair: str) -> str:
    return "Basic " + base64.b64encode(pair.encode()).decode()


def by_its_address(method: str, url: str, body: bytes, **extra: Any) -> Any:
    """Send it through Django. An exception in the view becomes a 500, as on a server."""
    browser = Client(enforce_csrf_checks=True, raise_request_exception=False)
    return browser.generic(method, url, body, **extra)  # post() would recode the body


def by_the_short_cut(method: str, url: str, body: bytes, **extra: Any) -> Any:
    """Send it as the WSGI server does. The portal behind the short cut answers 404."""
    found: list[Any] = []
    nothing = HttpResponse("The portal was asked.", status=404)
    application = short_cut.webhooks_first(lambda environ, start: found.append(("404", [])) or nothing)
    environ = RequestFactory().generic(method, url, body, **extra).environ
    content = b"".join(application(environ, lambda *line: found.append(line)))
    [(status, headers)] = found
    return HttpResponse(content, status=int(status.split()[0]), headers=dict(headers))


def push(body: bytes, *, url: str = URL, content_type: str = "application/json", **extra: Any) -> Any:
    """Post exactly these bytes with the current secret, or with the `HTTP_AUTHORIZATION` given; "" sends none.

    A stored delivery is read at once; normally a worker does that a moment later.
    """
    extra.setdefault("HTTP_AUTHORIZATION", basic(settings.WEBHOOK_SECRETS[0]))
    if not extra["HTTP_AUTHORIZATION"]:
        del extra["HTTP_AUTHORIZATION"]
    answer = way["push"]("POST", url, body, content_type=content_type, **extra)
    reading.read_due()
    return answer


way = {"push": by_its_address}  # or the other


def last() -> WebhookDelivery:
    """Return the newest stored delivery."""
    return WebhookDelivery.objects.latest("pk")
