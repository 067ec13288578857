"""Read a client's request: a quote's query or an order's body, by the contract's names."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from shipping_portal.sandbox.contract import Contract
from shipping_portal.sandbox.paths import dig
from shipping_portal.sandbox.places import country_code

KILOGRAMS = {
    "kg": Decimal(1),
    "g": Decimal("0.001"),
    "lb": Decimal("0.45359237"),
    "oz": Decimal("0.028349523125"),
}
CENTIMETRES = {"cm": Decimal(1), "in": Decimal("2.54")}
METRIC = {"weight_units": "kg", "dimension_units": "cm"}
SIDES = ("sender", "receiver")
SIZES = ("length", "width", "height")
_DECIMAL = re.compile(r"^\d{1,9}(\.\d{1,9})?$")


class Problems:
    """Messages by our field name, in the order they were found."""

    def __init__(self) -> None:
        self.messages: dict[str, list[str]] = {}

    def add(self, name: str, message: str) -> None:
        """Add ``message`` to ``name``, once."""
        said = self.messages.setdefault(name, [])
        if message not in said:
            said.append(message)

    def __bool__(self) -> bool:
        return bool(self.messages)


@dataclass
class Party:
    """A sender or receiver as requested; ``country`` is a two-letter code, or "" if unknown."""

    name: str = ""
    company: str = ""
    email: str = ""
    phone: str = ""
    line1: str = ""
    line2: str = ""
    suburb: str = ""
    postcode: str = ""
    state: str = ""
    country: str = ""
    instructions: str = ""


@dataclass
class Item:
    """One item of an international parcel."""

    description: str
    value: Decimal | None
    quantity: int
    origin: str
    hs_code: str


@dataclass
class Asked:
    """A parcel to quote or book, in kilograms, centimetres and the sender's currency."""

    sender: Party
    receiver: Party
    weight: Decimal | None = None
    size: tuple[Decimal, ...] | None = None
    description: str = ""
    product_code: str = ""
    pickup_date: str = ""
    cover: Decimal | None = None
    items: list[Item] = field(default_factory=list)
    contents_type: str = ""
    customer_reference: str = ""
    order_key: str = ""
    partner_id: str = ""

    @property
    def is_international(self) -> bool:
        return self.sender.country != self.receiver.country


def from_query(query: Mapping[str, str], contract: Contract, problems: Problems) -> Asked:
    """Read a quote's query (section 4 of the interface; the names are assumed)."""

    def word(key: str) -> str:
        return query.get(contract[f"query_{key}"], "").strip()

    parties = {
        side: Party(
            **{
                part: word(f"{side}_{part}")
                for part in ("suburb", "postcode", "country", "line1", "line2")
            }
        )
        for side in SIDES
    }
    reader = _Reader(problems, numbers="string", name=lambda key: contract[f"query_{key}"])
    asked = Asked(parties["sender"], parties["receiver"])
    units = _units(contract, "query_", word)
    asked.weight = reader.measure("weight", word("weight"), units["weight_units"], KILOGRAMS)
    if any(word(key) for key in SIZES):
        asked.size = reader.size([word(key) for key in SIZES], units["dimension_units"])
    asked.partner_id = query.get(contract["partner_query"], "")
    _find_countries(asked, problems, lambda key: contract[f"query_{key}"])
    return asked


def from_body(body: dict[str, Any], contract: Contract, problems: Problems) -> Asked:
    """Read a parcel from a request body (sections 2.1 and 4; most paths are assumed)."""

    def value(key: str) -> Any:
        return dig(body, contract[key])

    reader = _Reader(problems, numbers=contract["numbers"], name=lambda key: key)

    def word(key: str) -> str:
        return reader.text(key, value(key))

    parties = {
        side: Party(**{part: word(f"{side}_{part}") for part in Party.__annotations__})
        for side in SIDES
    }
    asked = Asked(parties["sender"], parties["receiver"])
    units = _units(contract, "", word)
    asked.weight = reader.measure("weight", value("weight"), units["weight_units"], KILOGRAMS)
    sizes = [value(key) for key in SIZES]
    if any(size is not None for size in sizes):
        asked.size = reader.size(sizes, units["dimension_units"])
    for key in (
        "description",
        "product_code",
        "pickup_date",
        "contents_type",
        "customer_reference",
        "order_key",
    ):
        setattr(asked, key, word(key))
    asked.partner_id = reader.text("partner_id", dig(body, contract["partner_field"]))
    asked.cover = reader.cover(value("cover_amount"))
    asked.items = reader.items(value("contents"), contract)
    _find_countries(asked, problems, lambda key: key)
    return asked


def _units(contract: Contract, prefix: str, word: Callable[[str], str]) -> dict[str, str]:
    """Return the units that were sent, or metric ones if the contract sends none."""
    return {key: word(key) if contract[prefix + key] else metric for key, metric in METRIC.items()}


def _find_countries(asked: Asked, problems: Problems, name: Any) -> None:
    for side in SIDES:
        party: Party = getattr(asked, side)
        if not party.country:
            problems.add(name(f"{side}_country"), "can't be blank")
        elif not (code := country_code(party.country)):
            problems.add(name(f"{side}_country"), "is not a country we carry to")
        else:
            party.country = code


class _Reader:
    """Reads typed fields. Errors are added to the problems by name."""

    def __init__(self, problems: Problems, *, numbers: str, name: Any) -> None:
        self.problems, self.numbers, self.name = problems, numbers, name

    def text(self, key: str, value: Any) -> str:
        if value is None:
            return ""
        if not isinstance(value, str):
            self.problems.add(self.name(key), "is not a text")
            return ""
        return value.strip()

    def number(self, key: str, value: Any) -> Decimal | None:
        """Return a positive decimal in the contract's form, or None after noting the problem."""
        if value is None or value == "":
            self.problems.add(self.name(key), "can't be blank")
            return None
        as_text = self.numbers == "string"
        if isinstance(value, bool) or isinstance(value, str) != as_text:
            self.problems.add(
                self.name(key), "is not a decimal string" if as_text else "is not a number"
            )
            return None
        if not _DECIMAL.match(str(value)):
            self.problems.add(self.name(key), "is not a number")
            return None
        amount = Decimal(str(value))
        if amount <= 0:
            self.problems.add(self.name(key), "must be greater than 0")
            return None
        return amount

    def measure(
        self, key: str, value: Any, units: str, table: dict[str, Decimal]
    ) -> Decimal | None:
        amount = self.number(key, value)
        units_key = "weight_units" if key == "weight" else "dimension_units"
        if units not in table:
            self.problems.add(self.name(units_key), "is not included in the list")
            if not units:
                self.problems.add(self.name(units_key), "can't be blank")
            return None
        return None if amount is None else amount * table[units]

    def size(self, values: list[Any], units: str) -> tuple[Decimal, ...] | None:
        pairs = zip(SIZES, values, strict=True)
        measures = [self.measure(key, value, units, CENTIMETRES) for key, value in pairs]
        known = tuple(measure for measure in measures if measure is not None)
        return known if len(known) == len(SIZES) else None

    def cover(self, value: Any) -> Decimal | None:
        if value is None or value == "":
            return None
        try:
            amount = Decimal(str(value))
        except InvalidOperation:
            amount = Decimal(-1)
        if isinstance(value, bool) or not amount.is_finite() or amount < 0:
            self.problems.add("cover_amount", "is not a number")
            return None
        return amount

    def items(self, value: Any, contract: Contract) -> list[Item]:
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            self.problems.add("contents", "must be a list of items")
            return []
        return [self._item(entry, contract) for entry in value]

    def _item(self, entry: dict[str, Any], contract: Contract) -> Item:
        quantity = dig(entry, contract["item_quantity"], 1)
        if not isinstance(quantity, int) or isinstance(quantity, bool) or quantity < 1:
            self.problems.add("item_quantity", "must be a whole number greater than 0")
            quantity = 1
        return Item(
            description=self.text("item_description", dig(entry, contract["item_description"])),
            value=self.number("item_value", dig(entry, contract["item_value"])),
            quantity=quantity,
            origin=self.text("item_origin", dig(entry, contract["item_origin"])),
            hs_code=self.text("item_hs_code", dig(entry, contract["item_hs_code"])),
        )
