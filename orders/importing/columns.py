"""Which column of a file is which of our fields: guessed from its name, remembered once it was confirmed."""

import re
from dataclasses import dataclass
from typing import Any

from orders.forms import UNITS, ParcelForm
from orders.importing import units
from orders.importing.units import MEASURES, SIZE_UNIT, TABLES, WEIGHT, WEIGHT_UNIT
from orders.models import ColumnMapping, Import, ImportRow
from orders.receiver_form import AUTHORITY, SIGNATURE
from shipping_portal.accounts import countries
from shipping_portal.accounts.models import ParcelSize, PickupAddress, Sender
from shipping_portal.accounts.places import fold
from shipping_portal.accounts.states import COUNTRY_NAMES

LAST_NAME = "receiver_last_name"
SIZE = "size"  # among the constants
EXTRA = {LAST_NAME: "Last name, where it has its own column"}
LINE_ENDS = re.compile(r"\s*[\r\n]+\s*")  # an address of two lines in one cell is one line of ours
LEFT_OUT = re.compile(r"item_[2-9]_|contents_type$")

# What shops call our fields, folded; the first of these that a file has is taken.
SYNONYMS = {
    "receiver_name": ("shipping name", "recipient name", "recipient", "receiver", "receiver name", "ship to name",
                      "delivery name", "contact name", "full name", "customer name", "first name shipping",
                      "shipping first name", "first name", "name", "buyer name"),
    LAST_NAME: ("last name shipping", "shipping last name", "last name", "surname"),
    "receiver_company": ("shipping company", "company shipping", "ship to company", "company name", "company"),
    "receiver_country": ("shipping country", "shipping country code", "country shipping", "country code shipping",
                         "ship to country", "delivery country", "country code", "country"),
    "receiver_line1": ("shipping address1", "shipping address 1", "address 1 2 shipping", "address 1 shipping",
                       "shipping street", "ship to address 1", "street address", "address line 1", "address 1",
                       "address1", "delivery address", "shipping address", "street", "address"),
    "receiver_line2": ("shipping address2", "shipping address 2", "address 2 shipping", "ship to address 2",
                       "address line 2", "unit floor or building", "address 2", "address2", "unit"),
    "receiver_suburb": ("shipping city", "city shipping", "ship to city", "shipping suburb", "delivery city",
                        "suburb", "city", "town"),
    "receiver_state": ("shipping province", "shipping state", "state code shipping", "ship to state",
                       "delivery state", "state", "province", "region"),
    "receiver_postcode": ("shipping zip", "shipping postcode", "postcode shipping", "ship to zip",
                          "shipping postal code", "zip code", "postal code", "post code", "postcode", "zip"),
    "receiver_email": ("shipping email", "email", "e mail", "email address", "customer email", "buyer email",
                       "email billing", "receiver email", "recipient email"),
    "receiver_phone": ("shipping phone", "phone shipping", "ship to phone", "phone", "phone number", "telephone",
                       "mobile", "phone billing", "billing phone"),
    "receiver_instructions": ("delivery instructions", "instructions", "delivery note", "customer note", "notes"),
    "delivery_place": ("delivery instructions", "instructions", "delivery note"),
    "description": ("what s inside", "whats inside", "contents", "lineitem name", "item name", "item title",
                    "product name", "description", "item"),
    "customer_reference": ("your order number", "order number", "order no", "order id", "sales record number",
                           "reference", "order", "name"),
    # Measures by their names without a unit.
    WEIGHT: ("weight", "total weight", "parcel weight", "package weight"),
    "length": ("length", "parcel length", "package length", "l"),
    "width": ("width", "parcel width", "package width", "w"),
    "height": ("height", "parcel height", "package height", "depth", "h"),
    WEIGHT_UNIT: ("weight unit", "weight units", "unit of weight"),
    SIZE_UNIT: ("dimension unit", "dimensions unit", "dimension units", "dimensions units", "unit of dimensions",
                "size unit", "length unit", "unit of measures"),
    "cover_amount": ("extra cover", "extra cover up to", "insured value", "insurance"),
    "item_1_description": ("item 1 what it is", "customs description"),
    "item_1_value": ("customs value", "item value", "value", "lineitem price", "item price"),
    "item_1_quantity": ("lineitem quantity", "quantity", "qty"),
    "item_1_origin": ("made in", "country of origin", "origin"),
    "item_1_hs_code": ("hs code", "tariff code", "harmonized code"),
}  # fmt: skip

SHOPS_NUMBER = (
    "customer_reference",
    "name",
)  # in one shop's export; in all other files `name` is the receiver's
LAST = 99


@dataclass(frozen=True)
class Field:
    """One of our fields on the matching page. `name` is the parcel form's without its unit."""

    name: str
    label: str
    is_needed: bool


def form_name(name: str, country: str) -> str:
    """The parcel form's own name, which carries the sender's units: `weight` is `weight_kg`."""
    weight, size = UNITS[country]
    return {WEIGHT: f"{WEIGHT}_{weight}"}.get(
        name, f"{name}_{size}" if name in ("length", "width", "height") else name
    )


def plain_name(name: str) -> str:
    """The other way round: `weight_kg` is `weight`."""
    return re.sub(r"^(weight|length|width|height)_(kg|lb|cm|in)$", r"\1", name)


def fields(sender: Sender, address: PickupAddress) -> list[Field]:
    """Everything a column can be, in the order of the new-parcel form."""
    found = []
    for name, control in ParcelForm(sender=sender, address=address).fields.items():
        if LEFT_OUT.match(name):
            continue
        has_default = name == "receiver_country"
        found.append(Field(plain_name(name), str(control.label), control.required and not has_default))
        if name == "receiver_name":
            found += [Field(extra, words, False) for extra, words in EXTRA.items()]
    return found


def guess(header: list[str], names: list[str]) -> dict[str, int]:
    """The best column for each field by its name; no column is two fields."""
    plain = [fold(name) for name in header]
    bare = {kind: [units.bare(name, table) for name in header] for kind, table in TABLES.items()}
    wishes = [
        (LAST if (name, words) == SHOPS_NUMBER else rank, name, folded.index(words))
        for name in names
        for folded in [bare.get(MEASURES.get(name, ""), plain)]
        for rank, words in enumerate(SYNONYMS.get(name, ()))
        if words in folded
    ]
    found: dict[str, int] = {}
    for _, name, place in sorted(wishes, key=lambda wish: wish[0]):
        if name not in found and place not in found.values():
            found[name] = place
    return found


def remembered(sender: Sender, fingerprint: str) -> ColumnMapping | None:
    return ColumnMapping.objects.filter(sender=sender, fingerprint=fingerprint).first()


def values(row: ImportRow, file: Import, size: ParcelSize | None = None) -> dict[str, str]:
    """What the parcel form would hold had somebody typed this row into it."""
    country, constants = file.sender.country, dict(file.constants)
    constants.pop(SIZE, None)
    typed = {name: row.cells[place] for name, place in file.columns.items() if place < len(row.cells)}
    said = {name: LINE_ENDS.sub(" ", text.strip()) for name, text in typed.items() if text.strip()}
    plain = _of_size(size, country) | units.in_the_forms(constants, said, row, file)
    last = plain.pop(LAST_NAME, "")
    plain["receiver_name"] = f"{plain.get('receiver_name', '')} {last}".strip()
    plain["receiver_country"] = country_code(plain.get("receiver_country", "")) or country
    _choose_delivery(plain)
    return {form_name(name, country): text for name, text in plain.items()} | row.corrected


def country_code(text: str) -> str:
    """`Australia` is AU; a code or an unknown country stays as typed."""
    wanted = fold(text)
    known = (code for code, names in COUNTRY_NAMES.items() if wanted in map(fold, names))
    return next(known, "") or countries.code_of(text) or text.strip()


def _of_size(size: ParcelSize | None, country: str) -> dict[str, str]:
    """The measures of a saved size, where they are in the sender's units."""
    if size is None or (size.weight_units, size.dimension_units) != UNITS[country]:
        return {}
    measures = {
        name: f"{getattr(size, name).normalize():f}" for name in ("weight", "length", "width", "height")
    }
    return measures | ({"description": size.description} if size.description else {})


def _choose_delivery(plain: dict[str, Any]) -> None:
    """Instructions that begin with an Australian term are that choice."""
    place = plain.get("delivery_place", "")
    for choice, term in (("authority_to_leave", AUTHORITY), ("signature", SIGNATURE)):
        if place.casefold().startswith(term.casefold()):
            plain["delivery_choice"], plain["delivery_place"] = choice, place[len(term) :].lstrip(" :-,")
