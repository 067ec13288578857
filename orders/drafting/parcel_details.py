"""A typed parcel, cleaned: what a quote is asked for and an order is made from."""

import datetime as dt
import hashlib
import json
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any, Self

from orders.calling.contract import contract
from shipping_portal.accounts.address.phones import across_borders
from shipping_portal.carrier.messages import Item, Measures, Party, Shipment
from shipping_portal.carrier.writing import CENTIMETRES, KILOGRAMS


@dataclass(frozen=True)
class ParcelDetails:
    """One parcel as entered. `pickup` is a snapshot of the pickup address; measures keep the entered units."""

    pickup: Party
    receiver: Party
    measures: Measures
    description: str
    contents: tuple[Item, ...] = ()
    contents_type: str = ""
    cover: Decimal | None = None
    customer_reference: str = ""
    size: str = ""  # the uuid of the saved size it was typed with

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON; decimals become strings."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self), default=str))
        return plain

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Self:
        return cls(
            pickup=Party(**plain["pickup"]),
            receiver=Party(**plain["receiver"]),
            measures=measures_from(plain["measures"]),
            description=plain["description"],
            contents=items_from(plain["contents"]),
            contents_type=plain["contents_type"],
            cover=None if plain["cover"] is None else Decimal(plain["cover"]),
            customer_reference=plain["customer_reference"],
            size=plain.get("size", ""),  # entries kept from before sizes have none
        )

    def at_weight(self, weight: Decimal) -> Self:
        """Return the same parcel at another weight, in its unit. Its measures are its saved size's own no longer."""
        return replace(self, measures=replace(self.measures, weight=weight), size="")

    def hash(self) -> str:
        """Return a name for the inputs, so that changed ones never get an old price. The size's name is no input."""
        inputs = {name: value for name, value in self.to_json().items() if name != "size"}
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()

    @property
    def may_prepay_duties(self) -> bool:
        """Has every item the HS code that customs need to reckon its duties beforehand?"""
        digits = [sum(c.isdecimal() for c in item.hs_code) for item in self.contents]
        return all(count == contract().hs_code_duties_paid for count in digits)

    def shipment(self, *, product_code: str = "", order_key: str = "", pickup_date: dt.date | None = None) -> Shipment:
        return Shipment(
            sender=self._as_dialled(self.pickup),
            receiver=self._as_dialled(self.receiver),
            measures=self.measures,
            description=self.description,
            product_code=product_code,
            pickup_date=pickup_date,
            cover=self.cover,
            contents=self.contents,
            contents_type=self.contents_type,
            customer_reference=self.customer_reference,
            order_key=order_key,
        )

    def _as_dialled(self, end: Party) -> Party:
        """Return one end of the parcel, its phone with the country's code where the parcel leaves the country."""
        if self.pickup.country == self.receiver.country or not end.phone:
            return end
        return replace(end, phone=across_borders(end.phone, end.country))


def measures_from(plain: dict[str, Any]) -> Measures:
    return Measures(
        weight=Decimal(plain["weight"]),
        weight_units=plain["weight_units"],
        length=Decimal(plain["length"]),
        width=Decimal(plain["width"]),
        height=Decimal(plain["height"]),
        dimension_units=plain["dimension_units"],
    )


def items_from(plain: list[dict[str, Any]]) -> tuple[Item, ...]:
    return tuple(Item(**{**item, "value": Decimal(item["value"])}) for item in plain)


def in_metric(measures: Measures) -> dict[str, Decimal]:
    """Return the order's columns: kilograms to 0.1 g and centimetres to 0.01 mm."""
    cm = CENTIMETRES[measures.dimension_units]
    return {
        "weight_kg": (measures.weight * KILOGRAMS[measures.weight_units]).quantize(Decimal("0.0001")),
        "length_cm": (measures.length * cm).quantize(Decimal("0.001")),
        "width_cm": (measures.width * cm).quantize(Decimal("0.001")),
        "height_cm": (measures.height * cm).quantize(Decimal("0.001")),
    }


LIGHTEST, HEAVIEST = Decimal(5), Decimal(5000)  # kg per cubic metre: a pillow has about 30, lead 11,000
CUBIC_METRE = Decimal(1_000_000)  # in cubic centimetres


def density(measures: Measures) -> Decimal:
    """Return kilograms per cubic metre of the box."""
    volume = measures.length * measures.width * measures.height * CENTIMETRES[measures.dimension_units] ** 3
    return measures.weight * KILOGRAMS[measures.weight_units] * CUBIC_METRE / volume


def odd(measures: Measures) -> str:
    """Return `light` or `heavy` for its size; "" for a likely parcel."""
    found = density(measures)
    if is_likely(found):
        return ""
    return "light" if found < LIGHTEST else "heavy"


def is_likely(found: Decimal) -> bool:
    return LIGHTEST <= found <= HEAVIEST


def doubt(measures: Measures) -> str:
    """Return what is odd about the parcel, in words; "" for a likely one."""
    words = odd(measures)
    return f"This parcel is very {words} for its size. Check its weight, its measures and their units." if words else ""
