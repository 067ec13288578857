"""Share what every part of the interface needs: finding parcels, reading bodies, facts to match."""

from typing import Any

from shipping_portal.sandbox.asking import Problems
from shipping_portal.sandbox.depot import Depot
from shipping_portal.sandbox.journeys import Journeys
from shipping_portal.sandbox.parcels import Parcel
from shipping_portal.sandbox.paths import dig
from shipping_portal.sandbox.requesting import Request
from shipping_portal.sandbox.wire import NotJson, not_found, unprocessable


class Endpoints:
    """Serves some operations of the interface.

    Each public method takes a request and returns a reply.
    """

    def __init__(self, depot: Depot, journeys: Journeys) -> None:
        self.depot, self.contract, self.journeys = depot, depot.contract, journeys

    def order(self, order_id: str) -> Parcel:
        parcel = self.depot.by_id.get(order_id)
        if parcel is None:
            raise not_found()
        return parcel

    def tracked(self, reference: str) -> Parcel:
        parcel = self.depot.parcel(reference)
        if parcel is None:
            raise not_found()
        return parcel

    def check_partner(self, partner_id: str, problems: Problems) -> None:
        if self.depot.settings.strict and self.contract["partner_query"] and not partner_id:
            problems.add(self.contract["partner_query"], "partner_id can't be blank")

    def body(self, request: Request) -> dict[str, Any]:
        """Return the body as a JSON object. Raises Refused."""
        try:
            body = request.json()
        except ValueError as error:
            raise NotJson from error
        if not isinstance(body, dict):
            raise unprocessable({"base": ["must be an object"]})
        return body


def facts_of(depot: Depot, name: str, request: Request, places: dict[str, str]) -> dict[str, str]:
    """Return what a fault may be matched by: the order's key, its reference, its names."""
    contract = depot.contract
    if name == "book":
        try:
            body = request.json()
        except ValueError:
            return {}
        paths = {
            fact: contract[fact] for fact in ("order_key", "receiver_name", "customer_reference")
        }
        return {fact: str(dig(body, path) or "") for fact, path in paths.items()}
    parcel = depot.by_id.get(places.get("order_id", "")) or depot.parcel(
        places.get("reference", "")
    )
    if parcel is None:
        return {}
    receiver = str(dig(parcel.body, contract["receiver_name"]) or "")
    return {"order_key": parcel.order_key, "reference": parcel.reference, "receiver_name": receiver}
