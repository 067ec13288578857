"""Map a rejection's fields to the parcel form: their labels and their controls."""

import re

from django.core.exceptions import NON_FIELD_ERRORS

from orders.drafting.contents_form import PARTS as ITEM_PARTS
from orders.drafting.contents_form import ROWS
from orders.drafting.forms import SIZES, ParcelForm
from shipping_portal.accounts.formatting import PLACE, local_word
from shipping_portal.carrier.contract import PARTS

LABELS = {
    "weight": "Weight",
    **{size: size.capitalize() for size in SIZES},
    "contents": "Contents",
    "cover": "Extra Cover",
    "product_code": "Service",
    "pickup_date": "Pickup day",
    "receiver_instructions": "Delivery instructions",
    "sender_instructions": "Pickup instructions",
    "item_description": "Item",
    "item_value": "Value of one",
}
# A sentence that begins with one of these has no subject.
VERB = re.compile(
    r"(?:(?:are|could|does|did|had|has|have|is|must|should|was|were|would)(?:n['’]t)?|can(?:not|['’]t)?|won['’]t|will"
    r"|may (?:be|not|only)|exceeds|lacks|needs|requires) \S",
    re.IGNORECASE,
)
FORM = {
    *("", "description", "customer_reference", "contents_type", *LABELS),
    *(f"{side}_{part}" for side in ("sender", "receiver") for part in PARTS),
}
ITEM = re.compile(rf"item_(?:(\d+)_)?({'|'.join(ITEM_PARTS)})", re.ASCII)


def is_known(name: str) -> bool:
    """Return whether this is a field of our forms, or "" for the whole parcel."""
    return name in FORM or ITEM.fullmatch(name) is not None


def field_sentences(fields: dict[str, list[str]], form: ParcelForm) -> list[str]:
    """Return our labels, each followed by the carrier's words.

    Words about several fields are shown once.
    """
    labels: dict[str, list[str]] = {}
    for name, texts in fields.items():
        for text in texts:
            labels.setdefault(text, []).append(_field_label(name, form))
    return [_with_label(", ".join(filter(None, names)), text) for text, names in labels.items()]


def add_refused_fields(form: ParcelForm, fields: dict[str, list[str]]) -> None:
    """Put the carrier's words at their controls, even in a form that shows a rejected parcel."""
    if not form.is_bound:
        form.cleaned_data = {}
    for name, texts in fields.items():
        for text in texts:
            for control in _field_controls(name, form) or [NON_FIELD_ERRORS]:
                form.add_error(control, _with_label(_field_label(name, form), text))


def with_full_stop(text: str) -> str:
    """Return a sentence with its full stop."""
    return text if text[-1:] in {".", "!", "?", "…"} else f"{text}."


def _with_label(label: str, text: str) -> str:
    return with_full_stop(f"{label}: {text}") if label else _about_the_parcel(text)


def _about_the_parcel(text: str) -> str:
    """Turn words that aren't about a field into a sentence; the carrier often writes a fragment."""
    if text[:1] == "“":
        return f"The carrier also says {text}."
    if VERB.match(text):
        return with_full_stop(f"The parcel {text[0].lower()}{text[1:]}")
    if " " in text and not text[0].islower():
        return with_full_stop(text)
    return f"The carrier says “{text.rstrip('.')}”."


def _field_label(name: str, form: ParcelForm) -> str:
    """Return our label of a field, or "" for the whole parcel."""
    if name in LABELS or not name:
        return LABELS.get(name, "")
    if name.startswith("sender_"):
        part = name.removeprefix("sender_")
        home = local_word(part.capitalize(), form.address.country) if part in PLACE else ""
        return f"Pickup address, {home or form.base_fields[f'receiver_{part}'].label}"
    if item := ITEM.fullmatch(name):
        row, part = item.groups()
        field = form.fields.get(f"item_1_{part}")
        label = LABELS.get(f"item_{part}") or str(field.label if field else "Contents")
        return f"Item {row}, {label}" if row and row != "1" else label
    control = name if name in form.fields else next(iter(_field_controls(name, form)), "")
    return str(form.fields[control].label) if control else "Contents"


def _field_controls(name: str, form: ParcelForm) -> list[str]:
    """Return the form's controls for a field, or none if the field is on another page."""
    found = [name]
    if name in {"receiver_suburb", "receiver_postcode"}:
        # A price check has one control for both.
        found = ["receiver_suburb", "receiver_postcode", "place"]
    elif name == "receiver_instructions" and "delivery_place" in form.fields:
        found = ["delivery_place"]
    elif name in {"weight", *SIZES}:
        found = [dict(zip(("weight", *SIZES), form.measure_names, strict=True))[name]]
    elif name in {"cover", "contents"}:
        found = [{"cover": "cover_amount", "contents": "item_1_description"}[name]]
    elif item := ITEM.fullmatch(name):
        found = [f"item_{row}_{item[2]}" for row in ([item[1]] if item[1] else _filled_rows(form))]
    return [control for control in found if control in form.fields]


def _filled_rows(form: ParcelForm) -> list[int]:
    """Return the filled rows of items: the carrier didn't say which one it means."""
    names = {row: f"item_{row}_description" for row in range(1, ROWS + 1)}
    return [row for row, name in names.items() if name in form.fields and form[name].value()] or [1]
