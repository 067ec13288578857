"""The counter where each operation of the interface is served. Every method takes a request and gives a reply."""

from decimal import Decimal
from typing import Any

from shipping_portal.sandbox import replies, signing
from shipping_portal.sandbox.asking import Asked, Problems, from_body, from_query
from shipping_portal.sandbox.depot import Depot, new_id, sha256_of
from shipping_portal.sandbox.journeys import Journeys, chosen_journey
from shipping_portal.sandbox.labels import label_file
from shipping_portal.sandbox.ordering import check_order, check_places, messages_in, pickup_day
from shipping_portal.sandbox.parcels import Parcel
from shipping_portal.sandbox.paths import dig, plant
from shipping_portal.sandbox.public import authorised_link
from shipping_portal.sandbox.quoting import Product, quote_for, quotes_for
from shipping_portal.sandbox.requesting import Request
from shipping_portal.sandbox.trouble import Troubles
from shipping_portal.sandbox.wire import Refused, Reply, json_reply, not_found, unprocessable

ORDER_LIFE = 30 * 24 * 3600.0


class Counter:
    """Quotes, books, shows, cancels and tracks."""

    def __init__(self, depot: Depot, journeys: Journeys, troubles: Troubles) -> None:
        self.depot, self.contract = depot, depot.contract
        self.journeys, self.troubles = journeys, troubles

    def facts(self, name: str, request: Request, places: dict[str, str]) -> dict[str, str]:
        """What a trouble may be matched by: the order's key, its reference, the receiver's name."""
        if name == "book":
            try:
                body = request.json()
            except ValueError:
                return {}
            named = {
                "order_key": "order_key",
                "receiver": "receiver_name",
                "customer_reference": "customer_reference",
            }
            return {fact: str(dig(body, self.contract[key]) or "") for fact, key in named.items()}
        parcel = self.depot.by_id.get(places.get("id", "")) or self.depot.parcel(places.get("reference", ""))
        if parcel is None:
            return {}
        receiver = str(dig(parcel.body, self.contract["receiver_name"]) or "")
        return {"order_key": parcel.order_key, "reference": parcel.reference, "receiver": receiver}

    def quote(self, request: Request) -> Reply:
        """GET /products: duties unpaid only."""
        if "plan_name" in request.query:
            raise unprocessable({"plan_name": ["is no longer supported"]})
        problems = Problems()
        asked = from_query(request.query, self.contract, problems)
        self._check_partner(asked.partner_id, problems)
        return self._quoted(asked, problems, name=lambda key: self.contract.get(f"query_{key}", key))

    def quote_contents(self, request: Request) -> Reply:
        """POST /products: with contents, so that duties paid can be priced."""
        body = self._body(request)
        if isinstance(body, Reply):
            return body
        if "plan_name" in body or "plan_name" in request.query:
            raise unprocessable({"plan_name": ["is no longer supported"]})
        problems = Problems()
        return self._quoted(from_body(body, self.contract, problems), problems, name=lambda key: key)

    def book(self, request: Request) -> Reply:
        """POST /orders. With replays on, a key and its body are answered once and for all."""
        body = self._body(request)
        if isinstance(body, Reply):
            return body
        header = self.contract["idempotency_header"].lower()
        key = request.headers.get(header, "").strip() if header else ""
        kept_key = key if self.depot.settings.replays else ""
        sha256 = sha256_of(request.body)
        if kept_key and (stored := self.depot.reserve(kept_key, sha256)):
            return stored
        try:
            request.before_commit()
            return self._book_anew(request, body, key=key, keep=bool(kept_key))
        except Refused as refusal:
            reply = refusal.reply(self.contract)
            if kept_key:
                self.depot.settle(kept_key, sha256, reply)
            return reply
        finally:
            self.depot.release(kept_key)

    def view(self, request: Request, id: str) -> Reply:  # noqa: A002 - named as the contract names it
        """GET /orders/{id}."""
        parcel = self._order(id)
        document = self._order_document(parcel, request)
        document.setdefault("status", {"description": document_state(parcel), "last_changed_at": None})
        return json_reply(200, document)

    def cancel(self, request: Request, id: str) -> Reply:  # noqa: A002
        """DELETE /orders/{id}."""
        with self.depot.lock:
            parcel = self._order(id)
            if parcel.cancelled_at is not None:
                if not self.contract["cancel_repeatable"]:
                    raise unprocessable("Order has already been cancelled.")
            elif not parcel.is_cancellable:
                raise unprocessable("Order can not be cancelled; contact support for help.")
            else:
                request.before_commit()
                self.depot.cancel(parcel, by=self.depot.config.account)
        if self.troubles.pick("cancel", only=("after-cancel",), **self.facts("cancel", request, {"id": id})):
            self.journeys.add_scan(
                parcel, "collected", "Parcel picked up", self.journeys.place(parcel, "sender")
            )
        if parcel.journey == "used-after-cancel":
            self.journeys.start(parcel)
        return json_reply(200, replies.cancel_document(parcel, self.contract, base_url=request.base_url))

    def track(self, request: Request, reference: str) -> Reply:
        """GET /tracking."""
        parcel = self._tracked(reference)
        problems = Problems()
        self._check_partner(request.query.get(self.contract["partner_query"], ""), problems)
        if problems:
            raise unprocessable(problems.messages)
        if self.depot.settings.before_first_scan_not_found and not parcel.scans:
            raise not_found()
        return self._tracking_reply(parcel)

    def subscribe(self, request: Request, reference: str) -> Reply:
        """Follow a reference this account did not create."""
        parcel = self._tracked(reference)
        if not self.depot.listener:
            raise Refused(422, "unprocessable_entity", "No callback URL is configured for this account.")
        if parcel.reference not in self.depot.subscribed:
            self.depot.record("subscribed", **self.depot.names(parcel))
        return self._tracking_reply(parcel)

    def unsubscribe(self, request: Request, reference: str) -> Reply:
        """Stop following a reference."""
        self.depot.record("unsubscribed", **self.depot.names(self._tracked(reference)))
        return Reply(204, content_type="")

    def ping(self, request: Request) -> Reply:
        return json_reply(200, {"ping": "pong", "timestamp": self.depot.now().isoformat(timespec="seconds")})

    def label(self, request: Request, id: str, reference: str) -> Reply:  # noqa: A002
        """A label link: HEAD leads to a file link that lives a minute, GET gives the file itself."""
        parcel, size = self._label(id, reference)
        facts = self.facts("label", request, {"id": id})
        astray = self.troubles.pick("label", only=("redirect-elsewhere",), **facts)
        if astray:
            elsewhere = astray.arg or "http://169.254.169.254/latest/meta-data/"
            return Reply(302, headers=[("Location", str(elsewhere))], content_type="")
        if request.method == "GET":
            return self._file(parcel, size)
        if self.contract["label_fetch"] == "get":
            return Reply(405, headers=[("Allow", "GET")], content_type="")
        expires = self.depot.now().timestamp() + self.depot.settings.file_link_seconds
        token = signing.mint({"sub": f"{id}/{size}", "exp": expires}, self.depot.file_secret)
        host = self.depot.settings.files_host or request.base_url
        location = f"{host.rstrip('/')}/files/{id}/{size}.pdf?token={token}"
        return Reply(302, headers=[("Location", location)], content_type="")

    def file(self, request: Request, id: str, reference: str) -> Reply:  # noqa: A002
        """The file behind a signed link: no credentials, one minute."""
        parcel, size = self._label(id, reference)
        token, now = request.query.get("token", ""), self.depot.now().timestamp()
        claims = signing.read(token, self.depot.file_secret, now=now)
        if not claims or claims.get("sub") != f"{id}/{size}":
            raise Refused(403, "forbidden", "This link has expired.")
        return self._file(parcel, size)

    def _book_anew(self, request: Request, body: dict[str, Any], *, key: str, keep: bool) -> Reply:
        problems = Problems()
        asked = from_body(body, self.contract, problems)
        product = self._check(asked, problems)
        facts = self.facts("book", request, {})
        other = self.troubles.pick("book", only=("replay-other",), **facts)
        if other:
            return self._someone_elses(request)
        parcel = self._new_parcel(body, asked, product, late=self._label_delay(facts))
        reply = json_reply(201, self._order_document(parcel, request))
        self.depot.book(parcel, key=key, sha256=sha256_of(request.body), reply=reply if keep else None)
        if self.troubles.pick("book", only=("return-cancelled",), **facts):
            self.depot.cancel(parcel, by="carrier")
            return json_reply(201, self._order_document(parcel, request))
        if self.troubles.pick("book", only=("before-response",), **facts):
            self.journeys.add_scan(
                parcel, "", "Label created", self.journeys.place(parcel, "sender"), at_once=True
            )
        self.journeys.start(parcel)
        return reply

    def _check(self, asked: Asked, problems: Problems) -> Product:
        """The product of an order in which nothing is wrong. Raises Refused with the messages otherwise."""
        settings, depot = self.depot.settings, self.depot
        check_places(asked, problems, settings.checked_countries.split(","))
        product = check_order(
            asked, problems, now=depot.now(), withdrawn=depot.withdrawn, contract=self.contract
        )
        if problems or product is None:
            raise unprocessable(messages_in(settings.error_shape, problems, self.contract))
        return product

    def _new_parcel(self, body: dict[str, Any], asked: Asked, product: Product, *, late: float) -> Parcel:
        now = self.depot.now()
        day = pickup_day(asked, product, now)
        raised = Decimal(str(self.depot.raised_percent))
        quote = quote_for(asked, product, now=now, raised=raised, send_date=day)
        return Parcel(
            reference=self.depot.new_reference(), order_id=new_id(), order_key=asked.order_key,
            partner_id=asked.partner_id, account=self.depot.config.account, body=body,
            quote=replies.quote_facts(quote, asked), origin=asked.sender.country,
            destination=asked.receiver.country, created_at=now.timestamp(),
            labels_due_at=now.timestamp() + late if late else 0.0, expires_at=now.timestamp() + ORDER_LIFE,
            pickup_date=day.isoformat() if day else None,
            journey=chosen_journey(asked.customer_reference, self.depot.default_journey),
        )  # fmt: skip

    def _label_delay(self, facts: dict[str, str]) -> float:
        fault = self.troubles.pick("book", only=("pending",), **facts)
        return fault.number(3) if fault else self.depot.settings.labels_pending_seconds

    def _someone_elses(self, request: Request) -> Reply:
        """The newest other order as if it were this one: the worst a confused carrier can answer."""
        orders = list(self.depot.by_id.values())
        if not orders:
            return Reply(500, b"500 Internal Server Error\n", "text/plain")
        return json_reply(201, self._order_document(orders[-1], request))

    def _quoted(self, asked: Asked, problems: Problems, *, name: Any) -> Reply:
        places = Problems()
        check_places(asked, places, self.depot.settings.checked_countries.split(","))
        for key, texts in places.messages.items():
            for text in texts:
                problems.add(name(key), text)
        if problems:
            raise unprocessable(problems.messages)
        raised = Decimal(str(self.depot.raised_percent))
        quotes = quotes_for(asked, now=self.depot.now(), raised=raised, withdrawn=self.depot.withdrawn)
        rows = [
            replies.product_document(replies.quote_facts(quote, asked), self.contract) for quote in quotes
        ]
        if not self.contract["products"]:
            return json_reply(200, rows)
        document: dict[str, Any] = {}
        plant(document, self.contract["products"], rows)
        return json_reply(200, document)

    def _order_document(self, parcel: Parcel, request: Request) -> dict[str, Any]:
        now, base_url = self.depot.now(), request.base_url
        document = replies.order_document(parcel, self.contract, base_url=base_url, now=now)
        if self.contract["link"] == "response":
            link = authorised_link(parcel, self.depot, base_url=base_url)
            plant(document, self.contract["link_field"], link)
        return document

    def _tracking_reply(self, parcel: Parcel) -> Reply:
        with self.depot.lock:
            with_ids = self.depot.settings.polled_ids
            document = replies.tracking_document(
                parcel, self.contract, now=self.depot.now(), with_ids=with_ids
            )
        return json_reply(200, document)

    def _file(self, parcel: Parcel, size: str) -> Reply:
        content = label_file(parcel, size, self.contract, self.depot.config.state / "labels")
        facts = {"order_key": parcel.order_key, "reference": parcel.reference}
        fault = self.troubles.pick("file", only=("html", "truncated", "changed"), **facts)
        if fault and fault.verb == "html":
            return Reply(200, b"<html><body>Please sign in</body></html>", "text/html")
        if fault:
            content = (
                content[: len(content) // 2] if fault.verb == "truncated" else content + b"% another copy\n"
            )
        return Reply(200, content, "application/pdf")

    def _label(self, order_id: str, name: str) -> tuple[Parcel, str]:
        parcel, size = self._order(order_id), name.removesuffix(".pdf")
        is_ready = self.depot.now().timestamp() >= parcel.labels_due_at
        if not name.endswith(".pdf") or size not in replies.label_sizes(parcel) or not is_ready:
            raise not_found()
        return parcel, size

    def _order(self, order_id: str) -> Parcel:
        parcel = self.depot.by_id.get(order_id)
        if parcel is None:
            raise not_found()
        return parcel

    def _tracked(self, reference: str) -> Parcel:
        parcel = self.depot.parcel(reference)
        if parcel is None:
            raise not_found()
        return parcel

    def _check_partner(self, partner_id: str, problems: Problems) -> None:
        if self.depot.settings.strict and self.contract["partner_query"] and not partner_id:
            problems.add(self.contract["partner_query"], "partner_id can't be blank")

    def _body(self, request: Request) -> dict[str, Any] | Reply:
        """The body, or the empty page this family answers to anything that is not JSON."""
        try:
            body = request.json()
        except ValueError:
            return Reply(400, b"", "text/html; charset=utf-8")
        if not isinstance(body, dict):
            raise unprocessable({"base": ["must be an object"]})
        return body


def document_state(parcel: Parcel) -> str:
    """A line about where the parcel stands, for people."""
    if parcel.cancelled_at is not None:
        return "Cancelled"
    return parcel.scans[-1].description if parcel.scans else "Pickup scheduled"
