"""The client of a carrier that takes two calls, which the sandbox acts as: the first asks for the price again."""

from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.messages import Prepared, Shipment


class TwoCalls(Carrier):
    def prepare(self, shipment: Shipment) -> Prepared:
        """Return what will be sent, at today's price."""
        prices = {product.code: product.price for product in self.quote(shipment).products}
        return Prepared(self.booking_body(shipment), prices.get(shipment.product_code))
