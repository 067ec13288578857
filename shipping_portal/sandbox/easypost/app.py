"""Route requests: check the key, find the operation, and apply any fault."""

import base64
import binascii
import hmac
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

from shipping_portal.sandbox import mischief
from shipping_portal.sandbox.contract import Contract
from shipping_portal.sandbox.easypost.config import Config
from shipping_portal.sandbox.easypost.control import Control
from shipping_portal.sandbox.easypost.documents import shipment_document, tracker_document
from shipping_portal.sandbox.easypost.labels import label_reply
from shipping_portal.sandbox.easypost.shipments import Shipment, Shipments
from shipping_portal.sandbox.easypost.tracking import Tracking
from shipping_portal.sandbox.easypost.webhooks import Events
from shipping_portal.sandbox.easypost.wire import Refusal, not_found, unauthorised
from shipping_portal.sandbox.requesting import Request, find_route
from shipping_portal.sandbox.timeline import Timeline
from shipping_portal.sandbox.trouble import STATUS_VERBS, Fault, Rule, Troubles
from shipping_portal.sandbox.wire import HangUp, Refused, Reply, json_reply

# How the shared faults write an error, and which field names a parcel.
FAULTS = Contract(
    {
        "error_code": "error.code",
        "error_text": "error.message",
        "error_messages": "error.errors",
        "reference": "tracking_code",
        # The worst case: it answers a gateway's second try, after the first one had its effect.
        "too_many_requests_is_unprocessed": False,
    }
)
# Faults only for purchases: the purchase may have taken place, but the reply doesn't say so.
PURCHASE_VERBS = {
    "in-progress": "SHIPMENT.PURCHASE.IN_PROGRESS",
    "timed-out": "SHIPMENT.POSTAGE.TIMED_OUT",
    "no-response": "SHIPMENT.POSTAGE.NO_RESPONSE",
}
ROUTES = (
    ("quote", "POST", "/v2/shipments"),
    ("book", "POST", r"/v2/shipments/(\w+)/buy"),
    ("cancel", "POST", r"/v2/shipments/(\w+)/refund"),
    ("view", "GET", r"/v2/shipments/(\w+)"),
    ("label", "GET", r"/v2/shipments/(\w+)/label"),
    ("track", "GET", "/v2/trackers"),
    ("subscribe", "POST", "/v2/trackers"),
    ("file", "GET", r"/files/postage_label/(\w+)\.(pdf|png|zpl)"),
)


class PurchaseTroubles(Troubles):
    """The sandbox's faults, and those only for purchases."""

    def add(self, rule: Rule) -> None:
        """Activate a rule. Raises ValueError for an unknown verb or operation."""
        if rule.operation == "book" and rule.verb in PURCHASE_VERBS:
            with self._lock:
                self._rules.append(rule)
        else:
            super().add(rule)


class EasyPost:
    """The WSGI application of one sandbox EasyPost."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.troubles = PurchaseTroubles(config.seed, config.trouble)
        self.shipments = Shipments(config)
        self.timeline = Timeline()
        self.events = Events(self.shipments, self.timeline, config.webhook_secret)
        self.tracking = Tracking(self.shipments, self.timeline, self.events)
        self.control = Control(self.shipments, self.tracking, self.troubles)
        self._seen: list[float] = []

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        request = Request(environ)
        entry: dict[str, Any] = {}
        try:
            reply = self._answer(request, entry)
        except Refusal as refusal:
            reply = refusal.reply()
        except Refused as refused:
            reply = Refusal(refused.status, refused.code, refused.text).reply()
        entry["status"] = reply.status
        start_response(reply.status_line, reply.all_headers())
        return [reply.body]

    def close(self) -> None:
        """Stop what is planned and close the ledger."""
        self.timeline.stop()
        self.shipments.ledger.close()

    def _answer(self, request: Request, entry: dict[str, Any]) -> Reply:
        if request.path.startswith("/_sandbox/"):
            return self.control.answer(request)
        self.tracking.base_url = request.base_url
        name, places = find_route(request, ROUTES)
        entry |= {
            "method": request.method,
            "path": request.path,
            "operation": name,
            "query": request.query,
        }
        entry |= {"body": request.body.decode("utf-8", "replace"), "status": None}
        self.shipments.requests.append(entry)
        if request.is_cut:
            raise HangUp
        mode = "" if name == "file" else self._mode_of(request)
        self._check_rate()
        if not name:
            raise not_found()
        return self._perform(name, request, places, mode)

    def _perform(self, name: str, request: Request, places: tuple[str, ...], mode: str) -> Reply:
        fault = request.fault = self.troubles.pick(name, **self._facts(request, places))

        def proceed() -> Reply:
            if name != "book":  # a purchase pauses by itself, at a point where nobody else can buy
                request.before_commit()
            try:
                return self._work(name, request, places, mode)
            except Refusal as refusal:
                return refusal.reply()

        if fault is None:
            return proceed()
        if fault.verb in PURCHASE_VERBS:
            return _unclear(fault, proceed)
        if fault.verb in STATUS_VERBS and 400 <= int(fault.verb) < 500 and fault.verb != "429":
            raise Refusal(int(fault.verb), "SANDBOX.REFUSED", "The request was refused.")
        return mischief.play(fault, request, proceed, FAULTS)

    def _work(self, name: str, request: Request, places: tuple[str, ...], mode: str) -> Reply:
        if name == "quote":
            return self._create(request, mode)
        if name in ("track", "subscribe"):
            return self._track(request, mode, is_new=name == "subscribe")
        if name == "file":
            return self._file(*places)
        shipment = self.shipments.shipment(places[0], mode)
        if name == "book":
            body = _object_in(request)
            self.shipments.buy(shipment, body, request.before_commit, sent=request.body)
            self.tracking.start(shipment)
        elif name == "cancel":
            self.shipments.refund(shipment)
        elif name == "label":
            _convert(shipment, request.query.get("file_format", ""))
        return self._document(200, shipment, request)

    def _create(self, request: Request, mode: str) -> Reply:
        body = _object_in(request).get("shipment")
        if not isinstance(body, dict) or not body:
            errors = (("shipment", "cannot be blank"),)
            raise Refusal(422, "PARAMETER.REQUIRED", "Missing required parameter.", errors)
        _check(body)
        return self._document(201, self.shipments.create(body, mode), request)

    def _track(self, request: Request, mode: str, *, is_new: bool) -> Reply:
        if is_new:
            wanted = _object_in(request).get("tracker")
            code = str(wanted.get("tracking_code") if isinstance(wanted, dict) else "")
            self.shipments.charge_tracker(code)
        else:
            code = request.query.get("tracking_code", "")
        size = request.query.get("page_size", "20")
        found = self.shipments.tracked(code, mode)
        rows = [
            tracker_document(one, request.base_url)
            for one in found[: int(size) if size.isdigit() else 20]
        ]
        if is_new:
            return json_reply(
                200, rows[0] if rows else {"id": "trk_unknown", "tracking_code": code}
            )
        return json_reply(200, {"trackers": rows, "has_more": len(rows) < len(found)})

    def _file(self, name: str, ending: str) -> Reply:
        shipment = self.shipments.by_id.get(name)
        if shipment is None or shipment.rate is None:
            return Reply(403, b"<Error><Code>AccessDenied</Code></Error>", "application/xml")
        return label_reply(shipment, ending)

    def _document(self, status: int, shipment: Shipment, request: Request) -> Reply:
        return json_reply(
            status, shipment_document(shipment, request.base_url, self.shipments.stamp())
        )

    def _mode_of(self, request: Request) -> str:
        """Return the mode of the request's key, which is the Basic user name. Raises Refusal."""
        kind, _, packed = request.headers.get("authorization", "").partition(" ")
        try:
            key, _, password = base64.b64decode(packed, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            raise unauthorised() from None
        for known, mode in ((self.config.key, "production"), (self.config.test_key, "test")):
            if (
                kind.lower() == "basic"
                and not password
                and hmac.compare_digest(key.encode(), known.encode())
            ):
                return mode
        raise unauthorised()

    def _check_rate(self) -> None:
        allowed = self.shipments.settings.requests_per_second
        now = time.monotonic()
        with self.shipments.lock:
            self._seen = [at for at in self._seen if now - at < 1.0]
            if 0 < allowed <= len(self._seen):
                raise Refusal(
                    429,
                    "RATE_LIMITED",
                    "You have made too many requests in a given amount of time.",
                )
            self._seen.append(now)

    def _facts(self, request: Request, places: tuple[str, ...]) -> dict[str, str]:
        """Return what a fault may be matched by: our order's key or the tracking code."""
        shipment = self.shipments.by_id.get(places[0]) if places else None
        body = request.body.decode("utf-8", "replace")
        found = re.search(r'"reference": ?"([^"]*)"', body)
        key = shipment.reference if shipment else found[1] if found else ""
        return {"order_key": key, "reference": shipment.tracking_code or "" if shipment else ""}


def _object_in(request: Request) -> dict[str, Any]:
    try:
        document = request.json()
    except ValueError:
        raise Refusal(400, "BAD_REQUEST", "The request could not be understood.") from None
    return document if isinstance(document, dict) else {}


def _check(body: dict[str, Any]) -> None:
    """Refuse a zero weight, and a street without a house number. Raises Refusal."""
    weight = (body.get("parcel") or {}).get("weight", 1)
    if not isinstance(weight, int | float) or weight <= 0:
        error = ("parcel.weight", "must be greater than 0")
        raise Refusal(
            422, "PARCEL.PARAMETERS.INVALID", "The parcel's parameters are invalid.", (error,)
        )
    street = (body.get("to_address") or {}).get("street1") or "1"
    if not re.search(r"\d", street):
        errors = (("address", "Address not found"), ("street1", "House number is missing"))
        raise Refusal(422, "ADDRESS.VERIFY.FAILURE", "Unable to verify address.", errors)


def _convert(shipment: Shipment, wanted: str) -> None:
    if shipment.rate is None or wanted.lower() not in ("pdf", "zpl", "epl2"):
        raise Refusal(
            422, "SHIPMENT.POSTAGE.FORMAT_UNAVAILABLE", "The label can't be made in this format."
        )
    shipment.converted.append(wanted.lower())


def _unclear(fault: Fault, proceed: Callable[[], Reply]) -> Reply:
    if fault.commit is not False:
        proceed()
    return Refusal(422, PURCHASE_VERBS[fault.verb], "The purchase has not ended.").reply()
