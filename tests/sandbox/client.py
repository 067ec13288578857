"""A small client for the sandbox carrier over real HTTP. It shares nothing with the portal's own client."""

import base64
import copy
import http.client
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

CREDENTIALS = {"Authorization": "Basic " + base64.b64encode(b"demo-account:demo-key").decode()}
AGENT = {"User-Agent": "PortalTests/1.0 (tests@portal.example)"}

ORDER: dict[str, Any] = {
    "sender": {
        "contact": {"name": "Ira Quill", "phone": "0491 570 006", "email": "ira.quill@example.com"},
        "address": {"address_line1": "12 Example Lane", "suburb": "Fitzroy", "state_name": "VIC",
                    "postcode": "3065", "country": "AU"},
        "instructions": "Collect from reception",
    },
    "receiver": {
        "contact": {"name": "Noor Tamsin", "phone": "0491 570 156", "email": "noor.tamsin@example.net"},
        "address": {"address_line1": "4 Sample Street", "suburb": "Hobart", "state_name": "TAS",
                    "postcode": "7000", "country": "AU"},
        "instructions": "Authority To Leave",
    },
    "description": "Boxed ceramic mugs",
    "weight": {"value": "2.4", "units": "kg"},
    "dimensions": {"length": "32.0", "width": "24.0", "height": "11.0", "units": "cm"},
    "product_code": "STANDARD-PICKUP",
    "customer_reference": "PORTAL-100234",
    "metadata": {"partner_id": "PRT-0001", "portal_order": "order-1"},
}  # fmt: skip

QUERY = {
    "sender_suburb": "FITZROY", "sender_postcode": "3065", "sender_country": "AU",
    "receiver_suburb": "HOBART", "receiver_postcode": "7000", "receiver_country": "AU",
    "weight_value": "2.4", "weight_units": "kg", "length_value": "32", "width_value": "24",
    "height_value": "11", "dimension_units": "cm", "partner_id": "PRT-0001",
}  # fmt: skip

ABROAD = {
    "address_line1": "500 SW Placeholder Ave", "suburb": "Portland", "state_name": "OR",
    "postcode": "97205", "country": "US",
}  # fmt: skip
CONTENTS = [
    {"description": "Cotton t-shirt", "value": "28.00", "quantity": 2, "country_of_origin": "BD",
     "hs_code": "6109.10.0012"},
]  # fmt: skip


@dataclass
class Answer:
    """A reply: status, headers by lower-case name, body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Calls one carrier."""

    def __init__(self, url: str, timeout: float = 30.0) -> None:
        self.url, self.timeout = url, timeout

    def call(self, method: str, target: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """Send one request. ``body`` is sent as JSON, or unchanged if it is bytes. Redirects aren't followed."""
        parts = urlsplit(target)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=self.timeout)
        try:
            connection.request(method, path, raw, {**AGENT, **CREDENTIALS} if headers is None else headers)
            reply = connection.getresponse()
            return Answer(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())
        finally:
            connection.close()

    def quote(self, **changes: str) -> Answer:
        return self.call("GET", "/products?" + urlencode({**QUERY, **changes}))

    def book(self, order: dict[str, Any] | None = None, *, key: str = "") -> Answer:
        headers = {**AGENT, **CREDENTIALS, **({"Idempotency-Key": key} if key else {})}
        return self.call("POST", "/orders", order or an_order(), headers)

    def control(self, name: str, **members: Any) -> Any:
        answer = self.call("POST", f"/_sandbox/{name}", members)
        assert answer.status == 200, answer.body
        return answer.json

    def read(self, name: str) -> Any:
        return self.call("GET", f"/_sandbox/{name}").json

    def effects(self, effect: str) -> list[dict[str, Any]]:
        return [line for line in self.read("ledger") if line["effect"] == effect]


def until(is_so: Callable[[], Any]) -> None:
    """Wait until it is so. A busy machine may take long; what never comes fails after a minute."""
    ends = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.01)


def an_order(**changes: Any) -> dict[str, Any]:
    """Return a valid order from Fitzroy to Hobart. Changes are dotted paths with __ for the dots; None removes a member."""
    order = copy.deepcopy(ORDER)
    for path, value in changes.items():
        *steps, last = path.split("__")
        holder = order
        for step in steps:
            holder = holder.setdefault(step, {})
        if value is None:
            holder.pop(last, None)
        else:
            holder[last] = value
    return order


def an_export(**changes: Any) -> dict[str, Any]:
    """Return a valid order from Fitzroy to Portland, Oregon."""
    abroad = {"receiver__address": dict(ABROAD), "receiver__contact__phone": "+1 503 555 0142"}
    return an_order(**{**abroad, "parcel_contents": copy.deepcopy(CONTENTS), **changes})
