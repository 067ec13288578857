"""Define our fields as columns of a file: their names and labels, and earlier matches."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orders.drafting.forms import UNITS, ParcelForm
from orders.drafting.receiver_form import AUTHORITY, SIGNATURE
from shipping_portal.accounts.models import PickupAddress, Sender
from shipping_portal.importing import units
from shipping_portal.importing.models import ColumnMapping
from shipping_portal.importing.units import DIMENSIONS, SIZE_UNIT, WEIGHT, WEIGHT_UNIT

LAST_NAME = "receiver_last_name"
SIZE = "size"  # key among the constants
AUTHORITY_COLUMN, SIGNATURE_COLUMN = "authority_to_leave", "signature_required"
EXTRA = {LAST_NAME: "Last name, where it has its own column"}
LINE3, CURRENCY = "receiver_line3", "currency"
OUNCES, ADDRESS, PICKUP_DAY = "ounces", "address", "pickup_day"
PLACE = ("receiver_line1", "receiver_suburb", "receiver_postcode")  # may share one cell
# Keys among the constants: columns that don't matter, and a currency's rate into ours.
NO_MATTER, RATES = "no_matter", "rates"
PRICES = "prices"  # units of measures, if the file doesn't say
OF_PIECE, OF_LINE = "piece", "line"
COVER = "cover_amount"
AMOUNTS = {"item_1_value", COVER}
LEFT_OUT = re.compile(r"item_[2-9]_|contents_type$|receiver_line[12]_is_street$")


@dataclass(frozen=True)
class Field:
    """One of our fields on the matching page. `name` is the parcel form's name without its unit."""

    name: str
    label: str
    is_needed: bool = False


# Columns that only files have. They are read into other fields, or along with them.
FILE_ONLY = tuple(
    Field(name, label)
    for name, label in {
        LINE3: "Third line of the address, where it has its own column",
        ADDRESS: "Suburb, state and postcode, with or without the street, in one column",
        PICKUP_DAY: "Pickup day, where it has its own column",
        OUNCES: "Ounces, beside a column of pounds",
        DIMENSIONS: "All three sides, where they have one column",
        WEIGHT_UNIT: "Unit of the weight, where it has its own column",
        SIZE_UNIT: "Unit of the measures, where it has its own column",
        CURRENCY: "Currency of the values, where it has its own column",
        AUTHORITY_COLUMN: f"{AUTHORITY}, where a column says yes or no",
        SIGNATURE_COLUMN: f"{SIGNATURE}, where a column says yes or no",
    }.items()
)


def form_name(name: str, country: str) -> str:
    """Return the parcel form's name, with the sender's unit: `weight` is `weight_kg`."""
    weight, size = UNITS[country]
    return {WEIGHT: f"{WEIGHT}_{weight}"}.get(
        name, f"{name}_{size}" if name in ("length", "width", "height") else name
    )


def plain_name(name: str) -> str:
    """Return the plain name of a field of the form: `weight_kg` is `weight`."""
    return re.sub(r"^(weight|length|width|height)_(kg|lb|cm|in)$", r"\1", name)


def fields(sender: Sender, address: PickupAddress) -> list[Field]:
    """Return every field that a column can be, in the order of the new-parcel form."""
    found = []
    for name, control in ParcelForm(sender=sender, address=address).fields.items():
        if LEFT_OUT.match(name):
            continue
        has_default = name == "receiver_country"
        found.append(
            Field(plain_name(name), str(control.label), control.required and not has_default)
        )
        if name == "receiver_name":
            found += [Field(extra, words) for extra, words in EXTRA.items()]
    return found


def lasting_constants(constants: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constants that apply to the next file too. One file's rates and units don't."""
    return {
        name: what
        for name, what in constants.items()
        if name != RATES and not name.startswith(units.READ_AS)
    }


def remembered(sender: Sender, fingerprint: str) -> ColumnMapping | None:
    return ColumnMapping.objects.filter(sender=sender, fingerprint=fingerprint).first()
