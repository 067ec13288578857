"""Route requests: check the key, find the operation, and apply any fault."""

import re
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from shipping_portal.sandbox import mischief
from shipping_portal.sandbox.contract import Contract
from shipping_portal.sandbox.requesting import Request, find_route
from shipping_portal.sandbox.shipstation.config import Config
from shipping_portal.sandbox.shipstation.control import Control
from shipping_portal.sandbox.shipstation.labels import (
    Label,
    Labels,
    Refusal,
    history_document,
    label_document,
    label_file,
)
from shipping_portal.sandbox.shipstation.rates import rates_for
from shipping_portal.sandbox.shipstation.tracking import STANDS_STILL, Tracking
from shipping_portal.sandbox.shipstation.webhooks import Events
from shipping_portal.sandbox.timeline import Timeline
from shipping_portal.sandbox.trouble import STATUS_VERBS, Troubles
from shipping_portal.sandbox.wire import HangUp, Refused, Reply, json_reply

FAULTS = Contract({"reference": "tracking_number"})  # which field names a parcel
ROUTES = (
    ("ping", "GET", "/v1/carriers"),
    ("quote", "POST", "/v1/rates/estimate"),
    ("quote_contents", "POST", "/v1/rates"),
    ("book", "POST", r"/v1/labels/rates/([\w-]+)"),
    ("find", "GET", r"/v1/labels/external_shipment_id/([^/]+)"),
    ("history", "GET", r"/v1/labels/([\w-]+)/track"),
    ("cancel", "PUT", r"/v1/labels/([\w-]+)/void"),
    ("view", "GET", r"/v1/labels/([\w-]+)"),
    ("track", "GET", "/v1/labels"),
    ("file", "GET", r"/v1/downloads/([\w-]+)\.pdf"),
)
# The sandbox operation under which a fault in each of these is requested.
FAULTY = {"find": "view", "history": "track"}


class ShipStation:
    """The WSGI application of one sandbox ShipStation."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.troubles = Troubles(config.seed, config.trouble)
        self.labels = Labels(config)
        self.requests: deque[dict[str, Any]] = deque(maxlen=20_000)
        self.timeline = Timeline()
        self.events = Events(self.labels.settings, self.timeline, config.state, config.listener)
        self.tracking = Tracking(self.labels, self.timeline, self.events)
        self.control = Control(self.labels, self.tracking, self.troubles, self.requests)
        self._seen: list[float] = []

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        request = Request(environ)
        try:
            reply = self._answer(request)
        except Refusal as refusal:
            reply = refusal.reply()
        except Refused as refused:
            reply = Refusal(refused.status, refused.code, refused.text).reply()
        start_response(reply.status_line, reply.all_headers())
        return [reply.body]

    def close(self) -> None:
        """Stop what is planned and close the ledger."""
        self.timeline.stop()
        self.labels.ledger.close()

    def _answer(self, request: Request) -> Reply:
        if request.path.startswith("/_sandbox/"):
            return self.control.answer(request)
        self.tracking.base_url = request.base_url
        name, places = find_route(request, ROUTES)
        self.requests.append({"operation": name, "method": request.method, "path": request.path})
        if request.is_cut:
            raise HangUp
        mode = "" if name == "file" else self._mode_of(request)
        self._check_rate()
        found = re.search(r'"external_shipment_id": ?"([^"]*)"', request.body.decode())
        facts = {"order_key": found[1] if found else "".join(places)}
        fault = request.fault = self.troubles.pick(FAULTY.get(name, name), **facts)

        def proceed() -> Reply:
            request.before_commit()
            try:
                return self._work(name, places, mode, request)
            except Refusal as refusal:
                return refusal.reply()

        if fault is None:
            return proceed()
        if fault.verb in STATUS_VERBS and 400 <= int(fault.verb) < 500:
            raise Refusal(int(fault.verb), "unspecified", "The request was refused.")
        return mischief.play(fault, request, proceed, FAULTS)

    def _work(self, name: str, places: tuple[str, ...], mode: str, request: Request) -> Reply:
        if name == "ping":
            return json_reply(200, {"carriers": []})
        if name == "quote":
            return json_reply(200, self._estimate(_object_in(request)))
        if name == "quote_contents":
            return json_reply(200, self._create(_object_in(request), mode))
        if name == "book":
            label = self.labels.buy(mode, places[0], request.body)
            self.tracking.start(label)
            return self._document(label, request)
        if name == "find":
            labels = self.labels.of_mode(mode, external_id=places[0])
            return self._document(labels[0], request) if labels else Reply(404)
        if name == "track":
            labels = self.labels.of_mode(mode, number=request.query.get("tracking_number", ""))
            rows = [label_document(label, request.base_url) for label in labels]
            return json_reply(200, {"labels": rows, "total": len(rows), "page": 1, "pages": 1})
        if not name:
            raise Refusal(404, "not_found", "There is no such address.")
        label = self._label(places[0], mode)
        if name == "file":
            return label_file(label)
        if name == "history":
            return json_reply(200, history_document(label))
        if name == "cancel":
            is_voided, reason = self.labels.void(label)
            answer = {"approved": is_voided, "message": "Voided." if is_voided else "Not voided."}
            return json_reply(200, answer | ({"reason_code": reason} if reason else {}))
        return self._document(label, request)

    def _estimate(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        for name in ("from_country_code", "to_country_code", "to_postal_code"):
            if not body.get(name):
                raise Refusal(400, "field_value_required", f"{name} is needed.", name)
        place = (body["from_country_code"], body["to_country_code"])
        change = self.labels.settings.price_change
        rates = rates_for(place, body, body.get("carrier_ids") or [], change)
        return [{name: rate[name] for name in rate if name != "rate_id"} for rate in rates]

    def _create(self, body: dict[str, Any], mode: str) -> dict[str, Any]:
        shipment = body.get("shipment") or {}
        sides = {name: shipment.get(name) or {} for name in ("ship_from", "ship_to")}
        for side, address in sides.items():
            where = f"shipment.{side}"
            if not address.get("name"):
                raise Refusal(400, "field_value_required", "A name is needed.", f"{where}.name")
            if not re.search(r"\d", address.get("address_line1") or ""):
                text = "The house number is missing."
                raise Refusal(400, "invalid_address", text, f"{where}.address_line1")
        place = (sides["ship_from"]["country_code"], sides["ship_to"]["country_code"])
        package = shipment["packages"][0]
        external_id = shipment["external_shipment_id"][:50]
        errors = []
        rates = rates_for(
            place, package, body["rate_options"]["carrier_ids"], self.labels.settings.price_change
        )
        if place[0] != place[1] and not package.get("products"):
            rates = []
            text = "Customs items are needed."
            errors = [{"error_code": "customs_items_required", "message": text}]
        rates = [rate for rate in rates if rate["package_type"] in (None, "package")]
        reference = (package.get("label_messages") or {}).get("reference1", "")
        is_still = reference.startswith(STANDS_STILL)
        self.labels.create(mode, external_id, rates, is_still=is_still)
        answer = {"rates": rates, "invalid_rates": [], "status": "completed", "errors": errors}
        return {"external_shipment_id": external_id, "rate_response": answer}

    def _label(self, label_id: str, mode: str) -> Label:
        for one in (mode,) if mode else ("live", "test"):
            if found := self.labels.of_mode(one, id=label_id):
                return found[0]
        raise Refusal(404, "invalid_identifier", "The label is not known.", "label_id")

    def _document(self, label: Label, request: Request) -> Reply:
        return json_reply(200, label_document(label, request.base_url))

    def _mode_of(self, request: Request) -> str:
        key = request.headers.get("api-key", "")
        modes = {self.config.key: "live", self.config.test_key: "test"}
        if key not in modes:
            raise Refusal(401, "unauthorized", "The key is not known.", kind="security")
        return modes[key]

    def _check_rate(self) -> None:
        allowed, now = self.labels.settings.requests_per_second, time.monotonic()
        with self.labels.lock:
            self._seen = [at for at in self._seen if now - at < 1.0]
            if 0 < allowed <= len(self._seen):
                text = "You have exceeded the rate limit."
                raise Refusal(429, "rate_limit_exceeded", text, kind="system")
            self._seen.append(now)


def _object_in(request: Request) -> dict[str, Any]:
    try:
        document = request.json()
    except ValueError:
        raise Refusal(400, "request_body_required", "The body is not JSON.") from None
    return document if isinstance(document, dict) else {}
