"""The carrier's client: one method per operation, one attempt per call (see connection.py).

Every method either returns what the carrier said or raises one of the errors in `errors.py`; the
caller decides whether to retry. No `repr`, error or `Call` ever shows any part of a request.
"""

import hmac
import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from shipping_portal.carrier import labels, links, paging, reading, writing
from shipping_portal.carrier.connection import Reply, Request, send_once
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.deadline import Limits
from shipping_portal.carrier.errors import CarrierError, LinkOff, NotSent, OperationOff
from shipping_portal.carrier.headers import checked_header, credential_headers, identity_headers
from shipping_portal.carrier.hosts import Origin, base_origin
from shipping_portal.carrier.messages import (
    Booked,
    Call,
    Cancelled,
    LabelFile,
    LabelLink,
    Party,
    Prepared,
    Quoted,
    Shipment,
    Tracked,
)
from shipping_portal.carrier.operations import Operation
from shipping_portal.carrier.outcomes import require_success

T = TypeVar("T")
Reader = Callable[[Reply, Contract], T]  # turns a reply into a result, or raises
QUICK = 8.0  # seconds; somebody is waiting at the page
# also for labels and tracking, but never for anything that costs or cancels
REPEATABLE = {"quote", "quote_contents", "prepare", "find", "view", "ping"}
LISTS = 8 * 1024 * 1024  # bytes of a list in a reply: read whole, then cut to what a page can show
LABEL_PATH = "(label address)"  # the real carrier's token opens the label
log = logging.getLogger(__name__)


class Carrier:
    """One carrier account. Times are in seconds. Raises ValueError for settings that can't work.

    `turn` is called before each request, with its operation and its latest start; it returns once
    the request may start, or raises NotSent.

    A carrier that no contract file can describe has a subclass. `replays_prepared` says that a
    prepared booking can safely be bought again at any time: a reply that it was bought before means
    "unknown", not "rejected". `can_find` says that `find` can look for a booking.
    `prices_by_street` says that two addresses of one postcode may cost differently.
    `signature_header` names the header that signs its webhooks, if there is one.
    """

    # Contract points that a class sets for its carrier, before any contract file.
    points: ClassVar[Mapping[str, Any]] = {}
    replays_prepared = False
    can_find = False
    prices_by_street = False
    signature_header: ClassVar[str] = ""

    def __init__(
        self,
        *,
        base_url: str,
        account: str,
        key: str,
        partner_id: str,
        user_agent: str,
        contract: Contract,
        on_call: Callable[[Call], None] | None = None,
        turn: Callable[[str, float | None], None] | None = None,
        link_key: str = "",
        connect_timeout: float = 3.0,
        deadline: float = 20.0,
        ca_bundle: str | None = None,
        proxy: str = "",
    ) -> None:
        self.contract = contract
        self._base: Origin = base_origin(base_url)
        self._base_url = base_url.rstrip("/")
        self._partner_id = partner_id
        self._headers = identity_headers(user_agent)
        self._credentials = credential_headers(contract, account, key)
        self._on_call = on_call
        self._turn = turn
        self._link_key = link_key
        self._connect_timeout = connect_timeout
        self._deadline = deadline
        self._ca_bundle = ca_bundle
        self._proxy = proxy

    def __repr__(self) -> str:
        return f"<Carrier at {self._base.host}>"

    @staticmethod
    def needs_customs(start: Party, end: Party) -> bool:
        """Return whether customs ask what is in a parcel between these addresses."""
        return start.country != end.country

    @classmethod
    def sign_webhook(cls, body: bytes, key: str) -> str:
        """Return a webhook's signature, or "" if only the carrier can sign."""
        return ""

    @classmethod
    def has_valid_signature(
        cls, body: bytes, headers: Mapping[str, str], key: str, *, now: datetime
    ) -> bool:
        """Return whether a webhook's headers have this key's signature of its body as received.

        The case of header names doesn't matter.
        """
        expected, given = cls.sign_webhook(body, key), headers.get(cls.signature_header, "")
        return bool(key and expected) and hmac.compare_digest(
            expected.encode(), given.encode("utf-8", "replace")
        )

    def quote(self, shipment: Shipment) -> Quoted:
        """Return products with prices for a shipment (§4), and what was unreadable.

        This is a GET, or a POST across a border, with contents or with cover.
        """
        read = partial(reading.read_products, today=datetime.now(UTC).date())
        if writing.needs_contents_quote(shipment, self.contract):
            body = writing.quote_body(shipment, self.contract)
            return self._ask("quote_contents", read, body=body, seconds=QUICK, cap=LISTS)
        query = writing.quote_query(shipment, self.contract, self._partner_id)
        return self._ask("quote", read, query=query, seconds=QUICK, cap=LISTS)

    def booking_body(self, shipment: Shipment) -> bytes:
        """Return the exact bytes `book` will send, to be stored before it is called."""
        return writing.booking_body(shipment, self.contract, self._partner_id)

    @classmethod
    def takes_two_calls(cls) -> bool:
        """Return whether `prepare` asks the carrier."""
        return cls.prepare is not Carrier.prepare

    def prepare(self, shipment: Shipment) -> Prepared:
        """Return the exact bytes `book` will send, and the price if the carrier states one here.

        This is free and repeatable: whatever happens, nothing is bought.
        """
        return Prepared(self.booking_body(shipment))

    def find(self, body: bytes, *, key: str) -> Booked | None:
        """Look for the booking that `book` made from these bytes, without buying anything.

        None proves nothing: the booking may still be on its way.
        """
        return None

    def book(self, body: bytes, *, key: str, not_after: float | None = None) -> Booked:
        """Book with these exact bytes (§4).

        After `not_after` (monotonic seconds) nothing is sent: NotSent. Anything but a clear
        acceptance or rejection of our own order raises OutcomeUnknown, and the booking must not be
        sent again.
        """
        return self._ask(
            "book",
            partial(reading.read_booked, order_key=writing.order_key_of(body, self.contract)),
            body=body,
            key=key,
            not_after=not_after,
        )

    def view(self, order_id: str) -> Booked:
        """Return the order's current state, cancelled or not."""
        return self._ask("view", partial(reading.read_viewed, order_id=order_id), order_id=order_id)

    def view_pending(self, order_id: str) -> Booked:
        """Return an order that was pending at the carrier, once it is booked.

        Raises the same errors as `book`.
        """
        return self._ask("view", partial(reading.read_booked, order_id=order_id), order_id=order_id)

    def cancel(self, order_id: str, *, not_after: float | None = None) -> Cancelled:
        """Cancel an order (§4). Rejected has the carrier's words if it refuses.

        After `not_after` (monotonic seconds) nothing is sent: NotSent.
        """
        read = partial(reading.read_cancelled, order_id=order_id)
        return self._ask("cancel", read, order_id=order_id, not_after=not_after)

    def track(self, reference: str) -> Tracked:
        """Return the scans so far (§4) from all pages, within `deadline`.

        Only a failed first page raises: if a later page fails, the scans read so far are still
        worth keeping.
        """
        ends_at = time.monotonic() + self._deadline
        query = {self.contract.partner_query: self._partner_id}
        method, url = self._address("track", reference=reference, query=query)
        visited = [url]
        read = partial(paging.read_page, reference=reference, base=self._base, visited=visited)
        pages = [self._page(method, url, read, ends_at)]
        is_whole = True
        while is_whole and pages[-1].next_page:
            visited.append(pages[-1].next_page)
            try:
                pages.append(self._page("GET", visited[-1], read, ends_at))
            except CarrierError:
                is_whole = False
        return paging.join_pages(pages, is_whole=is_whole)

    def _page(self, method: str, url: str, read: Reader[Tracked], ends_at: float) -> Tracked:
        self._wait("track", ends_at)
        request = Request(method, url, self._api_headers(None, ""), may_repeat=True)
        return self._logged(
            "track", self._logged_path(url), request, self._limits(ends_at, LISTS), read
        )

    def subscribe(self, reference: str) -> Tracked:
        """Request webhooks for a parcel booked elsewhere (§4).

        The reply may hold the scans so far.
        """
        read = partial(reading.read_tracked, reference=reference, must_list=False)
        return self._ask("subscribe", read, reference=reference, cap=LISTS)

    def ping(self) -> None:
        """Check that the carrier answers and accepts our account."""
        self._ask("ping", require_success, seconds=QUICK)

    def label(self, link: LabelLink) -> LabelFile:
        """Fetch a label, following at most one redirect without credentials.

        `deadline` limits the whole fetch.
        """
        ends_at = time.monotonic() + self._deadline
        labels.require_safe(link.url, self._base, self.contract)
        target = ""
        if self.contract.label_fetch == "head":
            target = self._fetch(
                "HEAD",
                link.url,
                partial(labels.label_address, url=link.url, base=self._base),
                ends_at,
            )
        if not target:
            got = self._fetch(
                "GET",
                link.url,
                partial(labels.label_or_hop, url=link.url, base=self._base),
                ends_at,
            )
            if isinstance(got, LabelFile):
                return got
            target = got
        return self._fetch("GET", target, labels.read_signed, ends_at, trusted=False)

    def tracking_page_link(self, order_id: str, reference: str, *, now: datetime) -> str:
        """Return a sender's Authorised Tracking Page link (§5).

        It is secret, and for this response only.

        Raises LinkOff if the contract has none.
        """
        if self.contract.link == "signed":
            return links.signed_link(
                self.contract,
                reference=reference,
                partner_id=self._partner_id,
                key=self._link_key,
                now=now,
            )
        if self.contract.link == "none":
            raise LinkOff("The carrier offers no tracking page links.")
        read = partial(links.link_in, base=self._base, order_id=order_id, reference=reference)
        return self._ask("view", read, order_id=order_id, seconds=QUICK)

    def public_tracking_url(self, reference: str) -> str:
        """Return the public tracking page of an order whose reply had none.

        "" without a template.
        """
        return self.contract.public_tracking.replace("{reference}", quote(reference, safe=""))

    def _ask(
        self,
        name: str,
        read: Reader[T],
        *,
        order_id: str = "",
        reference: str = "",
        query: dict[str, str] | None = None,
        body: bytes | None = None,
        key: str = "",
        not_after: float | None = None,
        seconds: float | None = None,
        cap: int = Limits.cap,
    ) -> T:
        method, url = self._address(name, order_id=order_id, reference=reference, query=query)
        request = Request(
            method, url, self._api_headers(body, key), body, may_repeat=name in REPEATABLE
        )
        self._wait(name, not_after)
        ends_at = time.monotonic() + min(seconds or self._deadline, self._deadline)
        return self._logged(
            name, self._logged_path(url), request, self._limits(ends_at, cap, not_after), read
        )

    def _address(
        self,
        name: str,
        *,
        order_id: str = "",
        reference: str = "",
        query: dict[str, str] | None = None,
    ) -> tuple[str, str]:
        """Return an operation's method and address, without blank or unnamed values."""
        operation = self._operation(name)
        path, fixed = operation.filled(order_id=order_id, reference=reference)
        values = fixed | {name: value for name, value in (query or {}).items() if name and value}
        return (
            operation.method,
            f"{self._base_url}{path}{'?' + urlencode(values) if values else ''}",
        )

    def _logged_path(self, url: str) -> str:
        """Return the part of an address that the request log stores."""
        return urlsplit(url).path.removeprefix(urlsplit(self._base_url).path)

    def _operation(self, name: str) -> Operation:
        operation = self.contract.operation(name)
        if operation is None:
            raise OperationOff(f"The contract names no way to {name}.")
        return operation

    def _api_headers(self, body: bytes | None, key: str) -> dict[str, str]:
        headers = self._headers | {"Accept": "application/json"} | self._credentials
        if body is not None:
            headers["Content-Type"] = "application/json"
        if key and self.contract.idempotency_header:
            headers[self.contract.idempotency_header] = checked_header("The idempotency key", key)
        return headers

    def _fetch(
        self, method: str, url: str, read: Reader[T], ends_at: float, *, trusted: bool = True
    ) -> T:
        """Make one request of a label fetch.

        Credentials go only to the carrier's own host, and only its calls use a slot.
        """
        headers = self._headers | {"Accept": "application/pdf, application/octet-stream;q=0.9"}
        if trusted and self.is_own(url):
            headers |= self._credentials
        if self.is_own(url):
            self._wait("label", ends_at)
        request = Request(method, url, headers, may_repeat=True)
        return self._logged(
            "label", LABEL_PATH, request, self._limits(ends_at, labels.LARGEST), read
        )

    def is_own(self, url: str) -> bool:
        """Return whether an address is on the carrier's own host, which limits our calls."""
        return Origin.of(url) == self._base

    def _wait(self, name: str, not_after: float | None) -> None:
        if self._turn is not None:
            self._turn(name, not_after)

    def _limits(
        self, ends_at: float, cap: int = Limits.cap, not_after: float | None = None
    ) -> Limits:
        return Limits(ends_at, self._connect_timeout, cap, not_after, self._ca_bundle, self._proxy)

    def _logged(self, name: str, path: str, request: Request, limits: Limits, read: Reader[T]) -> T:
        started, status, outcome, unreadable, unsent = time.monotonic(), None, "failed", 0, ""
        try:
            reply = send_once(request, limits)
            status = reply.status
            answer = read(reply, self.contract)
            unreadable = len(answer.unreadable) if isinstance(answer, Quoted) else 0
            outcome = answer.outcome if isinstance(answer, Tracked) else "ok"
            return answer
        except CarrierError as problem:
            outcome, unsent = problem.outcome, str(problem) if isinstance(problem, NotSent) else ""
            raise
        finally:
            seconds = time.monotonic() - started
            self._report(
                Call(name, request.method, path, status, seconds, outcome, unreadable, unsent)
            )

    def _report(self, call: Call) -> None:
        if self._on_call is None:
            return
        try:
            self._on_call(call)
        except Exception:
            # A failing request log must not make a booked parcel's outcome unknown.
            log.exception("The request log could not take %s", call)
