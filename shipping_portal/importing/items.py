"""Combine a parcel's items from its order's rows: contents, customs values and weight."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from orders.drafting.contents_form import PARTS, ROWS
from orders.drafting.form_fields import PLAIN_NUMBER
from shipping_portal.importing import headings, units
from shipping_portal.importing.models import Import

Cells = Mapping[str, str]  # one row's values, by our field
OF_ONE = {"item", "lineitem", "product", "unit"}

OWN = ("description", "item_1_description", "item_1_value", "item_1_hs_code")
DIFFERENT_WEIGHTS = "The rows of this order have different weights. The first was taken: check it."
SAME_WEIGHT = (
    "The rows of this order all have the same weight. It was taken once, for the whole parcel:"
    " check it."
)
# decimals of a weight; many small shares still add up to the whole, to the form's three decimals
FINE = Decimal("0.000001")
LONGEST = 6  # digits of a quantity
TOO_MANY = f"item_{ROWS + 1}_description"


def joined(lines: Sequence[Cells], given: Cells, *, are_weights_of_one: bool) -> dict[str, str]:
    """Return the first row's values with the items of all rows. `given` has values for all rows.

    Weights of single items are multiplied by their quantities and added up. Any other weight is the
    parcel's.
    """
    values = dict(lines[0])
    names = [line["description"] for line in lines if line.get("description")]
    if names:
        values["description"] = f"{names[0]} and {len(names) - 1} more" if names[1:] else names[0]
    items = [_item(lines[at], given) for at in places(lines)] or [_item({}, given)]
    for number, item in enumerate(items, start=1):
        values |= {f"item_{number}_{part}": text for part, text in item.items() if text}
    if are_weights_of_one:
        values["weight"] = _whole_weight(lines, given)
    return {name: text for name, text in values.items() if text}


def places(lines: Sequence[Cells]) -> list[int]:
    """Return which rows describe an item.

    In eBay's files the first row of a larger order doesn't.
    """
    return [at for at, line in enumerate(lines) if any(line.get(name) for name in OWN)]


def are_weights_of_one(file: Import) -> bool:
    """Return whether weights are those of single items, by the column's name: “Item weight”."""
    place = file.columns.get(units.WEIGHT)
    words = headings.plain(file.header[place]).split() if place is not None else []
    return not OF_ONE.isdisjoint(words) and "combined" not in words


def of_weights(lines: Sequence[Cells]) -> str:
    """Return the message if several rows give the parcel's weight, or "".

    Each may be just its item's weight.
    """
    weights = [
        units.convert(line["weight"], "", "kg", units.WEIGHTS)
        for line in lines
        if line.get("weight")
    ]
    if len({*weights}) > 1:
        return DIFFERENT_WEIGHTS
    return SAME_WEIGHT if len(weights) > 1 else ""


def share_of_one(whole: str, times: str) -> str:
    """Return one item's share of a weight, or the whole weight if there is no number."""
    are_numbers = all(
        PLAIN_NUMBER.fullmatch(text) and len(text) <= units.LONGEST for text in (whole, times)
    )
    if not are_numbers or not Decimal(times):
        return whole
    return f"{(Decimal(whole) / Decimal(times)).quantize(FINE).normalize():f}"


def uncounted(values: Mapping[str, object]) -> list[str]:
    """Return missing quantities that customs need, because a value may be for one or for all."""
    return [
        f"item_{number}_quantity"
        for number in range(1, ROWS + 1)
        if values.get(f"item_{number}_value") and not values.get(f"item_{number}_quantity")
    ]


def _item(line: Cells, given: Cells) -> dict[str, str]:
    item = {part: line.get(f"item_1_{part}") or given.get(f"item_1_{part}", "") for part in PARTS}
    item["description"] = (
        item["description"] or line.get("description") or given.get("description", "")
    )
    return item


def _whole_weight(lines: Sequence[Cells], given: Cells) -> str:
    """Add up the weights in the unit of the first.

    Returns "" if a weight or quantity is missing or invalid.
    """
    weights = [line.get("weight", "") for line in lines]
    counts = [line.get("item_1_quantity") or given.get("item_1_quantity") or "1" for line in lines]
    if not all(PLAIN_NUMBER.fullmatch(text) and len(text) <= LONGEST for text in counts):
        return ""
    return units.add_measures(weights, [Decimal(text) for text in counts], units.WEIGHTS)
