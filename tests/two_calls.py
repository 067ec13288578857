"""A carrier that needs two calls for a booking, over real HTTP, and the client class for it."""

import json
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from shipping_portal.carrier import reading, writing
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.connection import Reply
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.messages import Booked, Prepared, Quoted, Shipment
from shipping_portal.carrier.operations import Operation
from shipping_portal.carrier.outcomes import require_success
from shipping_portal.carrier.values import read_price
from tests.servers import stop

OPERATIONS = {
    "quote": "POST /prices",
    "prepare": "POST /drafts",
    "book": "POST /drafts/{id}/buy",
    "find": "GET /drafts/{id}",
    "view": "GET /bought/{id}",
    "cancel": "POST /bought/{id}/refund",
    "track": "GET /parcels/{reference}",
}


class TwoCalls(Carrier):
    """It keeps no keys and can't look."""

    def _operation(self, name: str) -> Operation:
        return Operation.parse(OPERATIONS[name])

    def quote(self, shipment: Shipment) -> Quoted:
        read = partial(reading.read_products, today=datetime.now(UTC).date())
        return self._ask("quote", read, body=writing.quote_body(shipment, self.contract))

    def prepare(self, shipment: Shipment) -> Prepared:
        return self._ask("prepare", _read_prepared, body=self.booking_body(shipment))

    def book(self, body: bytes, *, key: str, not_after: float | None = None) -> Booked:
        draft = json.loads(body)["draft"]
        read = partial(reading.read_booked, order_key="")
        return self._ask("book", read, order_id=draft, body=body, key=key, not_after=not_after)

    def find(self, body: bytes, *, key: str) -> Booked | None:
        return self._ask("find", _read_found, order_id=json.loads(body)["draft"])


class BuyOnce(TwoCalls):
    """Buying the same draft again is safe."""

    replays_prepared = True


class LookOnly(TwoCalls):
    can_find = True


def _read_prepared(reply: Reply, contract: Contract) -> Prepared:
    require_success(reply, contract)
    draft = reply.document
    body = json.dumps({"draft": draft["id"], "rate": "cheapest"}).encode()
    return Prepared(body, read_price(draft["price"]["amount"], draft["price"]["currency"]))


def _read_found(reply: Reply, contract: Contract) -> Booked | None:
    require_success(reply, contract)
    return reading.read_booked(reply, contract, order_key="") if reply.document else None


@dataclass
class TwoCallCarrier:
    """`with TwoCallCarrier() as carrier:` records its requests, and what was bought by draft.

    `troubles["book"]` are its next replies to a purchase: a status with a body; "lost", if it acts
    and doesn't reply; or "never came".
    """

    surcharge: Decimal = Decimal(0)
    sells_once: bool = True
    requests: list[tuple[str, str]] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)
    bought: list[str] = field(default_factory=list)
    refunded: list[str] = field(default_factory=list)
    scans: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    troubles: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))

    def __enter__(self) -> Self:
        carrier = self

        class Handler(BaseHTTPRequestHandler):
            wbufsize = -1  # head and body leave together

            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                carrier.requests.append((self.command, self.path))
                answer = carrier.answer(self.command, self.path)
                if answer is None:
                    self.close_connection = True
                    return
                status, document = answer
                content = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_GET  # noqa: N815  (the standard library's)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        stop(self._server)

    def answer(self, method: str, path: str) -> tuple[int, Any] | None:
        name, order_id = _split(method, path)
        trouble = self.troubles[name].pop(0) if self.troubles[name] else None
        if isinstance(trouble, tuple):
            return trouble
        if trouble == "never came":
            return None
        answer = self._act(name, order_id)
        return None if trouble == "lost" else answer

    def _act(self, name: str, order_id: str) -> tuple[int, Any]:
        match name:
            case "quote":
                return 200, [
                    {"product": {"code": "STANDARD-PICKUP", "name": "Standard"}, "quote": {"gross": self._price}}
                ]
            case "prepare":
                self.drafts.append(f"draft-{len(self.drafts) + 1}")
                return 201, {"id": self.drafts[-1], "price": self._price}
            case "book":
                if not (self.sells_once and order_id in self.bought):
                    self.bought.append(order_id)
                return 201, self._order(order_id)
            case "view":
                return 200, self._order(order_id)
            case "find":
                return 200, self._order(order_id) if order_id in self.bought else None
            case "cancel":
                self.refunded.append(order_id)
                return 200, self._order(order_id) | {"state": "cancelled"}
            case "track":
                return 200, {"tracking_events": [_scan(order_id, word) for word in self.scans[order_id]]}
        return 404, {}

    @property
    def _price(self) -> dict[str, str]:
        return {"amount": str(Decimal("12.08") + self.surcharge), "currency": "AUD"}

    def _order(self, draft: str) -> dict[str, Any]:
        return {
            "order_id": draft,
            "carrier_reference": f"SDRAFT{draft.partition('-')[2]:0>4}",
            "state": "Pickup",
            "labels": [],
            "price": {"gross": self._price},
        }


def operation_of(method: str, path: str) -> str:
    """Return the name of a request's operation, or "" for another carrier's."""
    return _split(method, path)[0]


def _split(method: str, path: str) -> tuple[str, str]:
    """Return the operation a request is, and the id or reference in its path."""
    parts = path.partition("?")[0].strip("/").split("/")
    for name, line in OPERATIONS.items():
        verb, _, shape = line.partition(" ")
        shapes = shape.strip("/").split("/")
        if (verb, len(shapes)) == (method, len(parts)) and all(
            ours.startswith("{") or ours == theirs for ours, theirs in zip(shapes, parts, strict=True)
        ):
            return name, parts[1] if len(parts) > 1 else ""
    return "", ""


def _scan(reference: str, word: str) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat()
    return {"carrier_reference": reference, "event_type": word, "scan_time": now, "description": word}
