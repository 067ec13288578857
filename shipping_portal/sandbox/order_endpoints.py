"""Book, show and cancel orders."""

from decimal import Decimal
from typing import Any

from shipping_portal.sandbox import replies
from shipping_portal.sandbox.asking import Asked, Problems, from_body
from shipping_portal.sandbox.depot import sha256_of
from shipping_portal.sandbox.endpoints import Endpoints
from shipping_portal.sandbox.journeys import chosen_journey
from shipping_portal.sandbox.ordering import check_order, check_places, messages_in, pickup_day
from shipping_portal.sandbox.parcels import Parcel
from shipping_portal.sandbox.paths import plant
from shipping_portal.sandbox.public import authorised_link
from shipping_portal.sandbox.quoting import Product, quote_for
from shipping_portal.sandbox.requesting import Request
from shipping_portal.sandbox.wire import Refused, Reply, json_reply, unprocessable

ORDER_LIFE = 30 * 24 * 3600.0


class OrderEndpoints(Endpoints):
    """Books an order once, whatever happens to the reply."""

    def book(self, request: Request) -> Reply:
        """POST /orders. With replays on, a key and its body always get the same answer."""
        body = self.body(request)
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
                self.depot.keep_reply(kept_key, sha256, reply)
            return reply
        finally:
            self.depot.release(kept_key)

    def view(self, request: Request, order_id: str) -> Reply:
        """GET /orders/{id}."""
        parcel = self.order(order_id)
        document = self._order_document(parcel, request)
        document.setdefault("status", replies.status_document(parcel))
        return json_reply(200, document)

    def cancel(self, request: Request, order_id: str) -> Reply:
        """DELETE /orders/{id}."""
        parcel = self.order(order_id)
        with self.depot.lock:
            if parcel.cancelled_at is not None:
                if not self.contract["cancel_repeatable"]:
                    raise unprocessable("Order has already been cancelled.")
            elif not parcel.is_cancellable:
                raise unprocessable("Order can not be cancelled; contact support for help.")
            elif self.contract["asked_word"]:
                self.depot.ask_refund(parcel)
            else:
                self.depot.cancel(parcel, by=self.depot.config.account)
        if request.suffers("after-cancel"):
            self.journeys.add_scan(
                parcel, "collected", "Parcel picked up", self.journeys.place(parcel, "sender")
            )
        if parcel.journey == "used-after-cancel":
            self.journeys.start(parcel)
        return json_reply(
            200, replies.cancel_document(parcel, self.contract, base_url=request.base_url)
        )

    def _book_anew(self, request: Request, body: dict[str, Any], *, key: str, keep: bool) -> Reply:
        problems = Problems()
        asked = from_body(body, self.contract, problems)
        product = self._check(asked, problems)
        if request.suffers("replay-other"):
            return self._someone_elses(request)
        parcel = self._new_parcel(body, asked, product, late=self._label_delay(request))
        reply = json_reply(201, self._order_document(parcel, request))
        parcel = self.depot.book(
            parcel, key=key, sha256=sha256_of(request.body), reply=reply if keep else None
        )
        if request.suffers("return-cancelled"):
            return self._called_off(parcel, request, key if keep else "")
        if request.suffers("before-response"):
            self.journeys.add_scan(
                parcel, "", "Label created", self.journeys.place(parcel, "sender"), at_once=True
            )
        self.journeys.start(parcel)
        return reply

    def _check(self, asked: Asked, problems: Problems) -> Product:
        """Return the product of a valid order. Raises Refused with the messages otherwise."""
        settings, depot = self.depot.settings, self.depot
        check_places(asked, problems, settings.checked_countries.split(","), self.contract)
        product = check_order(
            asked, problems, now=depot.now(), withdrawn=depot.withdrawn, contract=self.contract
        )
        if problems or product is None:
            raise unprocessable(messages_in(settings.error_shape, problems, self.contract))
        return product

    def _new_parcel(
        self, body: dict[str, Any], asked: Asked, product: Product, *, late: float
    ) -> Parcel:
        now = self.depot.now()
        day = pickup_day(asked, product, now)
        raised = Decimal(str(self.depot.raised_percent))
        quote = quote_for(asked, product, now=now, raised=raised, send_date=day)
        return Parcel(
            reference=self.depot.new_reference(),
            order_id=self.depot.new_id(),
            order_key=asked.order_key,
            partner_id=asked.partner_id,
            account=self.depot.config.account,
            body=body,
            quote=replies.quote_facts(quote, asked),
            origin=asked.sender.country,
            destination=asked.receiver.country,
            created_at=now.timestamp(),
            labels_due_at=now.timestamp() + late if late else 0.0,
            expires_at=now.timestamp() + ORDER_LIFE,
            pickup_date=day.isoformat() if day else None,
            journey=chosen_journey(asked.customer_reference, self.depot.default_journey),
        )

    def _label_delay(self, request: Request) -> float:
        fault = request.suffers("pending")
        return fault.number(3) if fault else self.depot.settings.labels_pending_seconds

    def _called_off(self, parcel: Parcel, request: Request, kept_key: str) -> Reply:
        """Cancel what was just booked. If asked again, give the same answer."""
        self.depot.cancel(parcel, by="carrier")
        reply = json_reply(201, self._order_document(parcel, request))
        if kept_key:
            self.depot.keep_reply(kept_key, sha256_of(request.body), reply)
        return reply

    def _someone_elses(self, request: Request) -> Reply:
        """Return the newest other order as if it were this one, the worst possible mix-up."""
        orders = list(self.depot.by_id.values())
        if not orders:
            return Reply(500, b"500 Internal Server Error\n", "text/plain")
        return json_reply(201, self._order_document(orders[-1], request))

    def _order_document(self, parcel: Parcel, request: Request) -> dict[str, Any]:
        now, base_url = self.depot.now(), request.base_url
        document = replies.order_document(parcel, self.contract, base_url=base_url, now=now)
        if self.contract["link"] == "response":
            link = authorised_link(parcel, self.depot, base_url=base_url)
            plant(document, self.contract["link_field"], link)
        return document
