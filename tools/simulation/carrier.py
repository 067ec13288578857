"""The sandbox carrier itself, without a network: it replaces the client's connection."""

import base64
import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

from greenlet import getcurrent

from orders.models import Order
from shipping_portal.carrier import connection as wire
from shipping_portal.carrier.deadline import Deadline, TooLate
from shipping_portal.sandbox.app import Sandbox
from shipping_portal.sandbox.config import Config
from shipping_portal.sandbox.depot import sha256_of
from shipping_portal.sandbox.parcels import Parcel
from shipping_portal.sandbox.trouble import Rule
from shipping_portal.sandbox.wire import HangUp
from tools.simulation.world import ON_ITS_WAY, Actor, Killed, World
from tracking.receiving.short_cut import webhooks_first

LISTENER = "https://carrier:canary-webhook-secret-0123456789abcdef@127.0.0.1:9/webhooks/tracking/"
# What may happen to a request that arrives, as the sandbox calls it.
TROUBLE = {
    "book": [
        *("accept-close", "commit-close", "commit-close", "500", "503", "429", "402", "408", "409", "422", "400"),
        *("html200", "empty201", "no-ref", "bad-ref", "replay-other", "return-cancelled", "pending"),
    ],
    "cancel": ["accept-close", "commit-close", "500", "503", "429", "422", "404", "html200"],
    "quote": ["accept-close", "500", "429", "html200"],
    "view": ["accept-close", "500", "404", "html200"],
    "track": ["accept-close", "500", "404", "html200"],
    "label": ["500", "404", "html", "truncated"],
}
WEBHOOK_TROUBLE = {"reorder": 0.1, "dup": 0.1, "delay": 0.2, "drop": 0.1}
REFUSALS = {"400", "422"}
SAID_AFTER_ALL = {"500", "503", "408", "409"}  # by a carrier that may have acted
WEBHOOKS = webhooks_first(mock.Mock(side_effect=AssertionError("a webhook strays into the pages")))


class Ledger:
    """What the carrier did, in memory."""

    def __init__(self, path: Path, *, is_synced: bool) -> None:
        self.written: list[dict[str, Any]] = []
        self.booked: dict[str, tuple[str, str]] = {}  # the key and the bytes that a reference was booked with
        self.parcels: dict[str, list[str]] = {}  # the references of an order, by its uuid

    def write(self, line: dict[str, Any]) -> None:
        self.written.append(line)
        if line["effect"] == "booked":
            self.booked[line["reference"]] = (plain(line["key"]), line["body_sha256"])
            self.parcels.setdefault(plain(line["order_key"][:36]), []).append(line["reference"])

    def lines(self) -> list[dict[str, Any]]:
        return list(self.written)

    def close(self) -> None:
        """Do nothing: there is no file to close."""


class Carrier:
    """The sandbox in this world."""

    def __init__(self, world: World, state: Path, **choices: Any) -> None:
        self.world = world
        self.sent: set[str] = set()  # keys
        self.on_their_way: list[bytes] = []  # bookings that may still be made
        timeline = mock.Mock(after=lambda seconds, work: world.later(seconds, "the carrier", work))
        with (
            mock.patch("shipping_portal.sandbox.depot.Ledger", Ledger),
            mock.patch("shipping_portal.sandbox.app.Timeline", return_value=timeline),
        ):
            self.app = Sandbox(Config(state, key="canary-carrier-key", listener=LISTENER, **choices))
        self.lose_only_webhooks()
        self.depot = self.app.depot
        self.ledger: Any = self.depot.ledger

    @contextmanager
    def installed(self) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(mock.patch("shipping_portal.carrier.connection._send_and_read", self.attempt))
            stack.enter_context(mock.patch("shipping_portal.sandbox.webhooks.post", self.post))
            yield

    def lose_only_webhooks(self) -> None:
        """Lose, duplicate, delay or reorder only webhooks, which polls make up for. All other faults end."""
        self.app.troubles.clear()
        for verb, share in WEBHOOK_TROUBLE.items():
            self.app.troubles.add(Rule("webhook", verb, probability=share))

    def live(self, uuid: str) -> list[Parcel]:
        """Return the bookings of an order that the carrier holds."""
        parcels = [self.depot.parcels[reference] for reference in self.ledger.parcels.get(plain(uuid), [])]
        return [parcel for parcel in parcels if parcel.cancelled_at is None]

    def may_still_book(self, order: Order) -> bool:
        return any(str(order.uuid).encode() in body for body in self.on_their_way)

    def attempt(self, request: wire.Request, deadline: Deadline) -> wire.Reply | str:
        """Send a request, as connection._attempt does."""
        world, name = self.world, self._name(request)
        world.pause("a request is about to leave")
        if world.trouble(2):
            world.tell(f"{name}: the carrier can't be reached")
            return "the carrier refused the connection"
        try:
            deadline.sending()
        except TooLate:
            return "the time to send had passed"
        body = request.body or b""
        key = request.headers.get(self.app.contract["idempotency_header"], "")
        if key in self.sent and not self.app.contract["replays"]:
            world.fail("an attempt was sent again to a carrier that keeps no keys")
        self.sent |= {key} if key else set()
        self.on_their_way.append(body)
        if name == "book" and world.trouble(2):
            world.tell("book: the request is held up on its way")
            world.later(25.0 + world.dice.below(100), ON_ITS_WAY, lambda: self._arrives_late(request))
            world.sleep(deadline.limits.ends_at - deadline.sent_at)
            return "no reply in time"
        try:
            world.pause("a request arrives")
            reply = self._ask(request, name)
        finally:
            self.on_their_way.remove(body)
        if world.trouble(2):
            world.sleep(1.0 + world.dice.below(25))
        world.pause("a reply comes")
        answer = "no reply in time" if deadline.over else reply or "the connection broke before a reply"
        world.pause("a reply was read", stalls=5)  # and its worker sleeps while another resolves the order
        return answer

    def _arrives_late(self, request: wire.Request) -> None:
        """Let a request arrive long after everybody has given up waiting, or never."""
        self.on_their_way.remove(request.body or b"")
        if self.world.dice.below(2):
            self.world.tell("book: the late request arrives")
            self._ask(request, "")

    def _ask(self, request: wire.Request, name: str) -> wire.Reply | None:
        if name in TROUBLE and self.world.trouble(25):
            verb = self.world.dice.pick([verb for verb in TROUBLE[name] if verb not in self._untrue(request, name)])
            commit = bool(self.world.dice.below(2)) if verb in SAID_AFTER_ALL else None
            self.world.tell(f"{name}: {verb}{', though it acts' if commit else ''}")
            self.app.troubles.add(Rule(name, verb, count=1, commit=commit))
        try:
            return asked(self.app, request)
        except HangUp:
            return None

    def _untrue(self, request: wire.Request, name: str) -> set[str]:
        """Return the outcomes that no carrier gives: refusing what it booked, or will book, under the same key."""
        body = request.body or b""
        is_known = any(sha256 == sha256_of(body) for _, sha256 in self.ledger.booked.values())
        return REFUSALS if name == "book" and (is_known or self.on_their_way.count(body) > 1) else set()

    def post(self, url: str, body: bytes, *, timeout: float) -> tuple[int | None, str]:
        """Send a scan to the portal's own listener. The portal's process may be killed, but this one isn't."""
        secret = base64.b64encode(urlsplit(url).netloc.partition("@")[0].encode()).decode()
        try:
            return asked(WEBHOOKS, wire.Request("POST", url, {"Authorization": f"Basic {secret}"}, body)).status, ""
        except Killed:
            me = getcurrent()
            assert isinstance(me, Actor)
            me.is_dead = False
            return None, "the connection broke"
        except Exception as error:  # noqa: BLE001  (there must be none)
            self.world.breaks(error, "the webhook")
            return 500, ""

    def _name(self, request: wire.Request) -> str:
        path = urlsplit(request.url).path
        method = "GET" if request.method == "HEAD" else request.method
        names = (name for name, operation in self.app.operations if operation.match(method, path, {}) is not None)
        return {"file": "label"}.get(name := next(names, ""), name)


def asked(application: Any, request: wire.Request) -> wire.Reply:
    """Call a WSGI application, as its server would."""
    began: list[Any] = []
    parts, body = urlsplit(request.url), request.body or b""
    environ = {
        "REQUEST_METHOD": request.method, "PATH_INFO": parts.path, "QUERY_STRING": parts.query,
        "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body), "wsgi.url_scheme": parts.scheme,
        "SERVER_PORT": str(parts.port), "SERVER_NAME": parts.hostname,
        **{f"HTTP_{key.upper().replace('-', '_')}": value for key, value in request.headers.items()},
        "HTTP_HOST": f"{parts.hostname}:{parts.port}",
    }  # fmt: skip
    answer = b"".join(application(environ, lambda *line: began.append(line)))
    status, headers = began[0]
    return wire.Reply(int(status.split()[0]), {key.lower(): value for key, value in headers}, answer)


def plain(text: str) -> str:
    """Return an id as SQLite stores it."""
    return str(text).replace("-", "")
