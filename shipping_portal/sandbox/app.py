"""Route requests: check credentials, find the operation, and apply any fault."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from shipping_portal.sandbox import mischief, public
from shipping_portal.sandbox.config import Config
from shipping_portal.sandbox.control import Control
from shipping_portal.sandbox.depot import Depot
from shipping_portal.sandbox.endpoints import facts_of
from shipping_portal.sandbox.journeys import Journeys
from shipping_portal.sandbox.label_endpoints import LabelEndpoints
from shipping_portal.sandbox.order_endpoints import OrderEndpoints
from shipping_portal.sandbox.paths import Operation
from shipping_portal.sandbox.quote_endpoints import QuoteEndpoints
from shipping_portal.sandbox.requesting import Request, is_authenticated, without_credentials
from shipping_portal.sandbox.timeline import Timeline
from shipping_portal.sandbox.tracking_endpoints import TrackingEndpoints
from shipping_portal.sandbox.trouble import CONTENT_VERBS, ENDPOINT_VERBS, Fault, Troubles
from shipping_portal.sandbox.webhooks import Courier
from shipping_portal.sandbox.wire import HangUp, Refused, Reply, not_found, stock_refusal

UNWELCOME_AGENTS = ("python-requests/", "python-urllib", "curl/")


class Sandbox:
    """The WSGI application of one carrier."""

    def __init__(self, config: Config) -> None:
        self.config, self.contract = config, config.contract
        self.troubles = Troubles(config.seed, config.trouble)
        self.depot = Depot(config)
        self.timeline = Timeline()
        self.courier = Courier(self.depot, self.timeline, self.troubles)
        self.journeys = Journeys(self.depot, self.timeline, self.courier)
        self.works = self._works()
        self.control = Control(config, self.troubles, self.depot, self.journeys)
        self.operations = _operations(self.contract.operations)
        self._seen: dict[str, list[float]] = defaultdict(list)
        self.journeys.resume()

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        request = Request(environ)
        entry: dict[str, Any] = {}
        try:
            reply = self.answer(request, entry)
        except Refused as refusal:
            reply = refusal.reply(self.contract)
        entry["status"] = reply.status
        start_response(reply.status_line, reply.all_headers())
        return [] if request.method == "HEAD" else [reply.body]

    def answer(self, request: Request, entry: dict[str, Any]) -> Reply:
        """Return the reply to one request. Raises Refused and HangUp."""
        if request.path.startswith("/_sandbox/"):
            return self.control.answer(request)
        name, places = self._route(request)
        self._note(request, name, entry)
        if self.troubles.pick(name, only=("refuse",)):
            raise mischief.hang_up(request)
        entry.update(
            body=request.body.decode("utf-8", "replace")[:65536], bytes_read=len(request.body)
        )
        if request.is_cut:
            # Nobody is waiting for a reply, and a truncated body may look like a whole order.
            raise HangUp
        page = public.answer(request, self.depot)
        if page:
            return page
        if name != "file":
            self._admit(request, name)
        facts = facts_of(self.depot, name, request, places)
        return self._perform(name, request, places, facts)

    def close(self) -> None:
        """Stop what is planned and close the ledger."""
        self.timeline.stop()
        self.depot.ledger.close()

    def _perform(
        self, name: str, request: Request, places: dict[str, str], facts: dict[str, str]
    ) -> Reply:
        work = self.works.get(name)
        if work is None:
            raise not_found()
        fault = request.fault = self._trouble_of(name, request, facts)

        def proceed() -> Reply:
            # A booking pauses by itself, once its key is reserved.
            if name != "book":
                request.before_commit()
            try:
                return work(request, **places)
            except Refused as refusal:
                return refusal.reply(self.contract)

        if fault is None or fault.verb in ENDPOINT_VERBS:
            return proceed()
        return mischief.play(fault, request, proceed, self.contract)

    def _trouble_of(self, name: str, request: Request, facts: dict[str, str]) -> Fault | None:
        fault = self.troubles.pick(name, **facts)
        if fault is None and name == "label" and request.method == "GET":
            # here the link returns the file directly
            return self.troubles.pick("file", only=CONTENT_VERBS, **facts)
        return fault

    def _works(self) -> dict[str, Callable[..., Reply]]:
        """Map operation names to the methods that do them."""
        quotes = QuoteEndpoints(self.depot, self.journeys)
        orders = OrderEndpoints(self.depot, self.journeys)
        tracking = TrackingEndpoints(self.depot, self.journeys)
        labels = LabelEndpoints(self.depot, self.journeys)
        return {
            "quote": quotes.quote,
            "quote_contents": quotes.quote_contents,
            "book": orders.book,
            "view": orders.view,
            "cancel": orders.cancel,
            "track": tracking.track,
            "subscribe": tracking.subscribe,
            "unsubscribe": tracking.unsubscribe,
            "ping": tracking.ping,
            "label": labels.label,
            "file": labels.file,
        }

    def _route(self, request: Request) -> tuple[str, dict[str, str]]:
        for name, operation in self.operations:
            method = (
                "GET" if name in ("label", "file") and request.method == "HEAD" else request.method
            )
            places = operation.match(method, request.path, request.query)
            if places is not None:
                return name, places
        return "", {}

    def _admit(self, request: Request, name: str) -> None:
        agent = request.headers.get("user-agent", "").strip()
        if not agent or agent.lower().startswith(UNWELCOME_AGENTS):
            raise Refused(
                403, "forbidden", "A User-Agent header that names your service is required."
            )
        if not is_authenticated(request, self.config):
            raise stock_refusal(401)
        header, _, value = self.contract["version_header"].partition(":")
        if header and request.headers.get(header.strip().lower()) != value.strip():
            raise Refused(400, "bad_request", f"The header {header.strip()} is missing.")
        if self.depot.settings.enforce_rates:
            self._check_rate("track" if name == "track" else "other")

    def _check_rate(self, lane: str) -> None:
        allowed = self.contract["tracking_per_second" if lane == "track" else "requests_per_second"]
        now = time.monotonic()
        with self.depot.lock:
            recent = self._seen[lane] = [at for at in self._seen[lane] if now - at < 1.0]
            if len(recent) >= allowed:
                raise stock_refusal(429)
            recent.append(now)

    def _note(self, request: Request, name: str, entry: dict[str, Any]) -> None:
        entry.update(
            at=self.depot.now().timestamp(),
            method=request.method,
            path=request.path,
            operation=name,
            query=request.query,
            headers=without_credentials(request.headers, self.contract["auth"]),
            authenticated=is_authenticated(request, self.config),
            body="",
            bytes_read=0,
            status=None,
        )
        self.depot.requests.append(entry)


def make_app(config: Config) -> Sandbox:
    """Return a carrier that isn't listening yet; ``server.start`` does that."""
    return Sandbox(config)


def _operations(named: dict[str, Operation]) -> list[tuple[str, Operation]]:
    """Return the contract's operations and our own: those with a query first, open paths last."""
    found = dict(named)
    if "subscribe" in found:
        on = found["subscribe"]
        found["unsubscribe"] = Operation("DELETE", on.path, on.query)
    found["label"] = Operation.parse("GET /orders/{id}/labels/{reference}")
    found["file"] = Operation.parse("GET /files/{id}/{reference}")
    return sorted(found.items(), key=lambda item: (-len(item[1].query), item[1].path.groups))
