"""Track by reference, subscribe to foreign references, and answer pings."""

from urllib.parse import urlencode

from shipping_portal.sandbox import replies
from shipping_portal.sandbox.asking import Problems
from shipping_portal.sandbox.endpoints import Endpoints
from shipping_portal.sandbox.parcels import Parcel
from shipping_portal.sandbox.paths import dig, plant
from shipping_portal.sandbox.requesting import Request
from shipping_portal.sandbox.wire import Refused, Reply, json_reply, not_found, unprocessable


class TrackingEndpoints(Endpoints):
    """Reports a parcel's scans."""

    def track(self, request: Request, reference: str) -> Reply:
        """GET /tracking."""
        parcel = self.tracked(reference)
        problems = Problems()
        self.check_partner(request.query.get(self.contract["partner_query"], ""), problems)
        if problems:
            raise unprocessable(problems.messages)
        if self.depot.settings.before_first_scan_not_found and not parcel.scans:
            raise not_found()
        return self._tracking_reply(parcel, request)

    def subscribe(self, request: Request, reference: str) -> Reply:
        """Follow a reference this account did not create."""
        parcel = self.tracked(reference)
        if not self.depot.listener:
            raise Refused(
                422, "unprocessable_entity", "No callback URL is configured for this account."
            )
        if parcel.reference not in self.depot.subscribed:
            self.depot.record("subscribed", **self.depot.names(parcel))
        return self._tracking_reply(parcel, request)

    def unsubscribe(self, request: Request, reference: str) -> Reply:
        """Stop following a reference."""
        self.depot.record("unsubscribed", **self.depot.names(self.tracked(reference)))
        return Reply(204, content_type="")

    def ping(self, request: Request) -> Reply:
        return json_reply(
            200, {"ping": "pong", "timestamp": self.depot.now().isoformat(timespec="seconds")}
        )

    def _tracking_reply(self, parcel: Parcel, request: Request) -> Reply:
        with self.depot.lock:
            with_ids = self.depot.settings.polled_ids
            document = replies.tracking_document(
                parcel, self.contract, now=self.depot.now(), with_ids=with_ids
            )
        size, name = self.depot.settings.scans_a_page, self.contract["tracking_page_query"]
        if size and self.contract["tracking_next"]:
            events = dig(document, self.contract["events"])
            page = int(request.query.get(name, "1"))
            plant(document, self.contract["events"], events[(page - 1) * size : page * size])
            more = page * size < len(events)
            plant(
                document,
                self.contract["tracking_next"],
                self._next_page(request, page + 1) if more else None,
            )
        return json_reply(200, document)

    def _next_page(self, request: Request, page: int) -> str | int:
        """Return the next page's address, or its number alone."""
        if self.depot.settings.page_tokens:
            return page
        query = {**request.query, self.contract["tracking_page_query"]: str(page)}
        return f"{request.base_url}{request.path}?{urlencode(query)}"
