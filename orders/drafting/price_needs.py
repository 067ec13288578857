"""Say in one sentence what a parcel form needs before there are prices."""

import re
from collections.abc import Iterable, Sequence

from orders.drafting.forms import SIZES, ParcelForm, ToFix
from shipping_portal.accounts.formatting import PLACE

PLACE_NAMES = {f"receiver_{part}" for part in PLACE}
ADDRESS_NAMES = {"receiver_line1", "receiver_line2", *PLACE_NAMES}
SIDES = {f"{side}_{unit}" for side in SIZES for unit in ("cm", "in")}
# If at least this many parts are empty, they are named together.
TOGETHER = {
    "the address": ({"receiver_line1", *PLACE_NAMES}, 3),
    "the size": (SIDES, 2),
}
OF_AN_ITEM = {
    "description": "what item {} is",
    "value": "the value of item {}",
    "origin": "where item {} was made",
}


def filled_in(form: ParcelForm) -> ParcelForm:
    """Return the same form as if it had been posted with the values it shows."""
    values = {name: form[name].value() for name in form.fields}
    known = {name: str(value) for name, value in values.items() if value is not None}
    return ParcelForm(
        known, sender=form.sender, address=form.address, sizes=form.sizes, most=form.most
    )


def what_to_do(form: ParcelForm, wrong: Iterable[ToFix]) -> str:
    """Return which empty fields to add and which of `wrong` to check: `Add the email`."""
    empty, check = _names(form.missing), [_name(field) for field in wrong]
    parts = [
        f"add {_join_with_and(empty)}" if empty else "",
        f"check {_join_with_and(check)}" if check else "",
    ]
    found = " and ".join(part for part in parts if part)
    return found[:1].upper() + found[1:]


def unfinished(form: ParcelForm, typing: str) -> list[ToFix]:
    """Return the invalid fields that somebody is still typing in. A place takes three fields."""
    names = PLACE_NAMES if typing in PLACE_NAMES else {typing}
    return [fix for fix in form.fixes if fix.field.name in names]


def _names(missing: Sequence[ToFix]) -> list[str]:
    empty = {one.field.name for one in missing}
    whole = {
        words: names for words, (names, least) in TOGETHER.items() if len(names & empty) >= least
    }
    names = [
        next((words for words in whole if one.field.name in whole[words]), _name(one))
        for one in missing
    ]
    return list(dict.fromkeys(names))


def _name(one: ToFix) -> str:
    item = re.fullmatch(r"item_([0-9])_(description|value|origin)", one.field.name)
    if item:
        return OF_AN_ITEM[item[2]].format(item[1])
    return "what's inside" if one.field.name == "description" else f"the {one.inside}"


def _join_with_and(words: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
