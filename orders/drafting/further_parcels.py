"""Add a parcel to a form, or remove one. The form's values are as typed, keyed by control."""

from collections.abc import Iterable, Mapping
from typing import Any

from orders.drafting.form_fields import numbered

Values = Mapping[str, Any]  # a form's values, by its controls' names

MOST = 10  # the most parcels of a consignment


def count_in(values: Values, *, most: int = MOST) -> int:
    """Return how many parcels the form has. Anything but a number means one."""
    text = str(values.get("parcels") or "")
    count = int(text) if text.isascii() and text.isdecimal() and len(text) <= 2 else 1
    return min(max(count, 1), most)


def with_another(values: Values, names: Iterable[str], box: Values | None) -> dict[str, Any]:
    """Return the values to change for one more parcel: in this box, or like the last one."""
    last = count_in(values)
    new = min(last + 1, MOST)
    found = box or {name: values.get(numbered(name, last), "") for name in names}
    return {"parcels": str(new)} | {numbered(name, new): found.get(name, "") for name in names}


def remove_parcel(values: Values, names: Iterable[str], parcel: int) -> dict[str, Any]:
    """Return the values to change to remove this further parcel; later ones move up."""
    last = count_in(values)
    if not 2 <= parcel <= last:
        return {}
    return {
        numbered(name, number): values.get(numbered(name, number + 1), "")
        for number in range(parcel, last)
        for name in names
    } | {"parcels": str(last - 1)}
