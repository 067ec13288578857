"""Hold a cleaned parcel, from which quotes are requested and orders made."""

import datetime as dt
import hashlib
import json
from dataclasses import dataclass, is_dataclass, replace
from decimal import Decimal
from typing import Any, Self

from orders.calling.contract import current_contract
from shipping_portal.accounts.address.phones import across_borders
from shipping_portal.accounts.models import PickupAddress
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.messages import Item, Measures, Party, Shipment
from shipping_portal.carrier.writing import CENTIMETRES, KILOGRAMS

Plain = dict[str, Any]  # as JSON

# No price depends on these.
NOBODY = dict.fromkeys(("name", "company", "email", "phone", "instructions"), "")


@dataclass(frozen=True)
class Box:
    """How big and heavy a further parcel is, and the uuid of the saved size it was typed with."""

    measures: Measures
    size: str = ""


def _plain(value: Any) -> Any:
    """Return the fields of a part, uncopied, or another value as text."""
    return vars(value) if is_dataclass(value) else str(value)


@dataclass(frozen=True)
class ParcelDetails:
    """One parcel as entered. `pickup` is a snapshot; measures keep their units.

    `more` are further parcels of the same consignment. They differ only in measures and size.
    """

    pickup: Party
    receiver: Party
    measures: Measures
    description: str
    contents: tuple[Item, ...] = ()
    contents_type: str = ""
    cover: Decimal | None = None
    customer_reference: str = ""
    size: str = ""  # uuid of the saved size that it was entered with
    returns: int | None = None  # key of the parcel that this one sends back
    ends_at_pickup: bool = False  # a return to its sender's pickup address
    more: tuple[Box, ...] = ()

    def to_json(self) -> Plain:
        """Return plain JSON; decimals become strings. `ends_at_pickup` is left out if false."""
        plain: Plain = json.loads(json.dumps(vars(self), default=_plain))
        if not self.ends_at_pickup:
            del plain["ends_at_pickup"]
        return plain

    @classmethod
    def from_json(cls, plain: Plain) -> Self:
        return cls(
            pickup=Party(**plain["pickup"]),
            receiver=Party(**plain["receiver"]),
            measures=measures_from(plain["measures"]),
            description=plain["description"],
            contents=items_from(plain["contents"]),
            contents_type=plain["contents_type"],
            cover=None if plain["cover"] is None else Decimal(plain["cover"]),
            customer_reference=plain["customer_reference"],
            size=plain.get("size", ""),  # older entries have none
            returns=plain.get("returns"),
            ends_at_pickup=plain.get("ends_at_pickup", False),
            more=tuple(
                Box(measures_from(box["measures"]), box["size"]) for box in plain.get("more", [])
            ),
        )

    def parcels(self) -> list[Self]:
        """Return each parcel of the consignment separately; most consignments have one."""
        first = replace(self, more=())
        return [
            first,
            *(replace(first, measures=box.measures, size=box.size) for box in self.more),
        ]

    def at_weight(self, weight: Decimal) -> Self:
        """Return the same parcel at another weight, in its unit.

        Its measures no longer match a size.
        """
        return replace(self, measures=replace(self.measures, weight=weight), size="")

    def with_pickup(self, address: PickupAddress | None) -> Self:
        """Return the same parcel with this pickup address: its start, or the end of a return.

        A return to another place stays as it is.
        """
        if address is None or (self.returns and not self.ends_at_pickup):
            return self
        home = address.party()
        if not self.returns:
            return replace(self, pickup=home)
        return replace(self, receiver=replace(home, instructions=self.receiver.instructions))

    def has_moved(self, address: PickupAddress | None) -> bool:
        """Return whether the parcel was priced with another pickup address than this one."""
        return self != self.with_pickup(address)

    def hash(self) -> str:
        """Return a hash of the inputs, so that changed inputs never get an old price.

        A size's name isn't part of it.
        """
        inputs = {name: value for name, value in self.to_json().items() if name != "size"}
        if inputs["returns"] is None:
            # as it was hashed before returns existed
            del inputs["returns"]
        # As it was hashed before a consignment could have several parcels.
        if more := inputs.pop("more"):
            inputs["more"] = [box["measures"] for box in more]
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()

    def question(self, *, by_street: bool) -> str:
        """Return a hash of what a price depends on: parcels that share it cost the same.

        The receiver's name isn't part of that; the street is, as some carriers charge by it.
        Several parcels at once are never asked about together, so their hash covers exactly these.
        """
        if self.more:
            return f"several:{self.hash()}"
        ends = [replace(self.pickup, **NOBODY), replace(self.receiver, **NOBODY)]
        if not by_street:
            ends[1] = replace(ends[1], line1="", line2="")
        asked = replace(
            self,
            pickup=ends[0],
            receiver=ends[1],
            description="",
            customer_reference="",
            returns=None if self.returns is None else 0,  # whichever parcel it is
            ends_at_pickup=False,
        )
        return f"{'street' if by_street else 'place'}:{asked.hash()}"

    @property
    def may_prepay_duties(self) -> bool:
        """Return whether every item has the HS code that duties paid in advance need."""
        return self.has_codes_for(current_contract())

    def has_codes_for(self, contract: Contract) -> bool:
        """Return whether every item's HS code is as long as this contract requires."""
        digits = [sum(c.isdecimal() for c in item.hs_code) for item in self.contents]
        return all(count == contract.hs_code_duties_paid for count in digits)

    def shipment(
        self, *, product_code: str = "", order_key: str = "", pickup_date: dt.date | None = None
    ) -> Shipment:
        ends = [self.pickup, self.receiver]
        if self.pickup.country != self.receiver.country:  # phones then have their country's code
            ends = [
                replace(end, phone=across_borders(end.phone, end.country) if end.phone else "")
                for end in ends
            ]
        return Shipment(
            sender=ends[0],
            receiver=ends[1],
            measures=self.measures,
            description=self.description,
            product_code=product_code,
            pickup_date=pickup_date,
            cover=self.cover,
            contents=self.contents,
            contents_type=self.contents_type,
            customer_reference=self.customer_reference,
            order_key=order_key,
            is_return=self.returns is not None,
        )


def measures_from(plain: Plain) -> Measures:
    return Measures(
        weight=Decimal(plain["weight"]),
        weight_units=plain["weight_units"],
        length=Decimal(plain["length"]),
        width=Decimal(plain["width"]),
        height=Decimal(plain["height"]),
        dimension_units=plain["dimension_units"],
    )


def items_from(plain: list[Plain]) -> tuple[Item, ...]:
    return tuple(Item(**{**item, "value": Decimal(item["value"])}) for item in plain)


def in_metric(measures: Measures) -> dict[str, Decimal]:
    """Return the order's columns: kilograms to 0.1 g and centimetres to 0.01 mm."""
    cm = CENTIMETRES[measures.dimension_units]
    return {
        "weight_kg": (
            (measures.weight * KILOGRAMS[measures.weight_units]).quantize(Decimal("0.0001"))
        ),
        "length_cm": (measures.length * cm).quantize(Decimal("0.001")),
        "width_cm": (measures.width * cm).quantize(Decimal("0.001")),
        "height_cm": (measures.height * cm).quantize(Decimal("0.001")),
    }


# kg per cubic metre: a pillow has about 30, lead 11,000
LIGHTEST, HEAVIEST = Decimal(5), Decimal(5000)
CUBIC_METRE = Decimal(1_000_000)  # in cubic centimetres


def density_of(measures: Measures) -> Decimal:
    """Return the box's density in kilograms per cubic metre."""
    volume = (
        measures.length
        * measures.width
        * measures.height
        * CENTIMETRES[measures.dimension_units] ** 3
    )
    return measures.weight * KILOGRAMS[measures.weight_units] * CUBIC_METRE / volume


def odd_weight(measures: Measures) -> str:
    """Return `light` or `heavy` for an unlikely density, or ""."""
    found = density_of(measures)
    if is_likely(found):
        return ""
    return "light" if found < LIGHTEST else "heavy"


def is_likely(found: Decimal) -> bool:
    return LIGHTEST <= found <= HEAVIEST


def describe_doubt(measures: Measures) -> str:
    """Return what is unlikely about the parcel, in words, or ""."""
    words = odd_weight(measures)
    return (
        f"This parcel is very {words} for its size. Check its weight, its measures and their units."
        if words
        else ""
    )
