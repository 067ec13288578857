"""Quote prices: GET /products, and POST /products with contents."""

from decimal import Decimal
from typing import Any

from shipping_portal.sandbox import replies
from shipping_portal.sandbox.asking import Asked, Problems, from_body, from_query
from shipping_portal.sandbox.endpoints import Endpoints
from shipping_portal.sandbox.ordering import check_places
from shipping_portal.sandbox.paths import plant
from shipping_portal.sandbox.quoting import quotes_for
from shipping_portal.sandbox.requesting import Request
from shipping_portal.sandbox.wire import Reply, json_reply, unprocessable


class QuoteEndpoints(Endpoints):
    """Returns prices for a parcel that isn't booked yet."""

    def quote(self, request: Request) -> Reply:
        """GET /products: duties unpaid only."""
        if "plan_name" in request.query:
            raise unprocessable({"plan_name": ["is no longer supported"]})
        problems = Problems()
        asked = from_query(request.query, self.contract, problems)
        self.check_partner(asked.partner_id, problems)
        return self._quoted(asked, problems, prefix="query_")

    def quote_contents(self, request: Request) -> Reply:
        """POST /products: with contents, so that duties paid can be priced."""
        body = self.body(request)
        if "plan_name" in body or "plan_name" in request.query:
            raise unprocessable({"plan_name": ["is no longer supported"]})
        problems = Problems()
        return self._quoted(from_body(body, self.contract, problems), problems)

    def _quoted(self, asked: Asked, problems: Problems, *, prefix: str = "") -> Reply:
        places = Problems()
        check_places(
            asked, places, self.depot.settings.checked_countries.split(","), self.contract, prefix
        )
        for key, texts in places.messages.items():
            for text in texts:
                problems.add(self.contract.get(f"{prefix}{key}", key) if prefix else key, text)
        if problems:
            raise unprocessable(problems.messages)
        raised = Decimal(str(self.depot.raised_percent))
        quotes = quotes_for(
            asked,
            self.contract,
            now=self.depot.now(),
            raised=raised,
            withdrawn=self.depot.withdrawn,
        )
        rows = [
            replies.product_document(replies.quote_facts(quote, asked), self.contract)
            for quote in quotes
        ]
        if not self.contract["products"]:
            return json_reply(200, rows)
        document: dict[str, Any] = {}
        plant(document, self.contract["products"], rows)
        return json_reply(200, document)
