"""Which column of a file is which of our fields: guessed from its name, remembered once it was confirmed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orders.forms import UNITS, ParcelForm
from orders.receiver_form import AUTHORITY, SIGNATURE
from shipping_portal.accounts import countries
from shipping_portal.accounts.models import ParcelSize, PickupAddress, Sender
from shipping_portal.accounts.text import as_seen, normalise
from shipping_portal.importing import items, units
from shipping_portal.importing.models import ColumnMapping, Import, ImportRow
from shipping_portal.importing.reading import NOTHING
from shipping_portal.importing.units import MEASURES, SIZE_UNIT, TABLES, WEIGHT, WEIGHT_UNIT

LAST_NAME = "receiver_last_name"
SIZE = "size"  # among the constants
EXTRA = {LAST_NAME: "Last name, where it has its own column"}
LINE_ENDS = re.compile(r"[\r\n]+")  # an address of two lines in one cell is one line of ours
LEFT_OUT = re.compile(r"item_[2-9]_|contents_type$|receiver_line[12]_is_street$")

# What others call our fields, normalised; the first of these that a file has is taken, and our own label at the latest.
# A receiver's column may say whose it is besides: “Ship to city”, “City (Shipping)”.
SYNONYMS = {
    "receiver_name": ("name", "full name", "recipient name", "recipient", "receiver", "contact name", "customer name",
                      "first name", "buyer name"),
    LAST_NAME: ("last name", "surname"),
    "receiver_company": ("company name", "company"),
    "receiver_country": ("country", "country code"),
    "receiver_line1": ("address1", "address 1", "address 1 2", "address line 1", "street 1", "street address", "street",
                       "address"),
    "receiver_line2": ("address2", "address 2", "address line 2", "street 2", "unit", "building"),
    "receiver_suburb": ("suburb", "city", "town"),
    "receiver_state": ("state", "state code", "province", "region", "county"),
    "receiver_postcode": ("postcode", "post code", "postal code", "zip code", "zipcode", "zip"),
    "receiver_email": ("email", "e mail", "email address", "customer email", "buyer email", "email billing",
                       "billing email"),
    "receiver_phone": ("phone", "phone number", "telephone", "mobile", "buyer phone number", "phone billing",
                       "billing phone"),
    "receiver_instructions": ("delivery instructions", "instructions", "delivery note", "customer note", "notes"),
    "delivery_choice": ("delivery instructions", "instructions", "delivery note"),
    "description": ("whats inside", "contents", "lineitem name", "item name", "item title", "product name",
                    "item description", "description", "item"),
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
    "item_1_description": ("customs description",),
    "item_1_value": ("customs value", "item value", "value", "lineitem price", "item price", "item cost"),
    "item_1_quantity": ("lineitem quantity", "item quantity", "quantity refund", "quantity to ship", "quantity", "qty"),
    "item_1_origin": ("country of origin", "origin"),
    "item_1_hs_code": ("tariff code", "harmonized code"),
}  # fmt: skip

SHOPS_NUMBER = ("customer_reference", "name")  # in one shop's export; in all other files `name` is the receiver's
LAST = 99
OF_ONE = {"item", "lineitem", "product", "unit"}
OF_RECEIVER = re.compile(
    r"(?:(?:ship|post|deliver|send) to|to|delivery|recipient|receiver|shipping|ship) (.+)|(.+) shipping"
)


@dataclass(frozen=True)
class Field:
    """One of our fields on the matching page. `name` is the parcel form's without its unit."""

    name: str
    label: str
    is_needed: bool


def form_name(name: str, country: str) -> str:
    """Return the parcel form's own name, which carries the sender's units: `weight` is `weight_kg`."""
    weight, size = UNITS[country]
    return {WEIGHT: f"{WEIGHT}_{weight}"}.get(name, f"{name}_{size}" if name in ("length", "width", "height") else name)


def plain_name(name: str) -> str:
    """Return the plain name of a field of the form: `weight_kg` is `weight`."""
    return re.sub(r"^(weight|length|width|height)_(kg|lb|cm|in)$", r"\1", name)


def fields(sender: Sender, address: PickupAddress) -> list[Field]:
    """Return everything a column can be, in the order of the new-parcel form."""
    found = []
    for name, control in ParcelForm(sender=sender, address=address).fields.items():
        if LEFT_OUT.match(name):
            continue
        has_default = name == "receiver_country"
        found.append(Field(plain_name(name), str(control.label), control.required and not has_default))
        if name == "receiver_name":
            found += [Field(extra, words, False) for extra, words in EXTRA.items()]
    return found


def guess(header: list[str], wanted: list[Field]) -> dict[str, int]:
    """Return the best column for each field by its name; no column is two fields."""
    wishes = [
        (rank, field.name, place)
        for place, name in enumerate(header)
        for field in wanted
        if (rank := _rank(field, name)) is not None
    ]
    found: dict[str, int] = {}
    for _, name, place in sorted(wishes, key=lambda wish: wish[0]):
        if name not in found and place not in found.values():
            found[name] = place
    return found if _is_split_name(header, found) else {n: at for n, at in found.items() if n != LAST_NAME}


def _is_split_name(header: list[str], found: Mapping[str, int]) -> bool:
    """Return whether a last name belongs behind the name: a full name, such as Etsy's, has it already."""
    first, last = (normalise(header[found[name]]) if name in found else "" for name in ("receiver_name", LAST_NAME))
    return "first name" in first or last == normalise(EXTRA[LAST_NAME])


def _rank(field: Field, name: str) -> int | None:
    """Return how well a column of this name fits: the less the better, below 0 where it names the receiver."""
    words, label = _words(field, name), _words(field, field.label)
    known = (*SYNONYMS.get(field.name, ()), label)
    bare = OF_RECEIVER.fullmatch(words) if field.name.startswith("receiver_") else None
    if bare and (bare[1] or bare[2]) in known:
        return known.index(bare[1] or bare[2]) - LAST
    if words not in known:
        return None
    return LAST if (field.name, words) == SHOPS_NUMBER else known.index(words)


def _words(field: Field, name: str) -> str:
    """Return the name, normalised; a measure's without the unit that it states."""
    kind = MEASURES.get(field.name)
    return units.bare(name, TABLES[kind]) if kind else normalise(name)


def remembered(sender: Sender, fingerprint: str) -> ColumnMapping | None:
    return ColumnMapping.objects.filter(sender=sender, fingerprint=fingerprint).first()


def values(row: ImportRow, file: Import, size: ParcelSize | None = None) -> dict[str, str]:
    """Return what the parcel form would hold had somebody typed this row into it."""
    country, constants = file.sender.country, dict(file.constants)
    constants.pop(SIZE, None)
    of_size = _of_size(size, country)
    filled = items.joined(lines(row, file), of_size | constants, are_weights_of_one=are_of_one_item(file))
    plain = of_size | units.in_the_forms(constants, filled, row, file)
    last = plain.pop(LAST_NAME, "")
    plain["receiver_name"] = f"{plain.get('receiver_name', '')} {last}".strip()
    where = country_code(plain.get("receiver_country", "")) or country, plain.get("receiver_state", "")
    plain["receiver_country"], plain["receiver_state"] = countries.at_home(country, *where)
    _give_back_zeros(plain)
    _choose_delivery(plain)
    return {form_name(name, country): text for name, text in plain.items()} | row.corrected


def are_of_one_item(file: Import) -> bool:
    """Return whether the weights are those of one item, by the column's name: “Item weight”, “Product Weight (kg)”."""
    place = file.columns.get(WEIGHT)
    return place is not None and not OF_ONE.isdisjoint(normalise(file.header[place]).split())


def lines(row: ImportRow, file: Import) -> list[dict[str, str]]:
    """Return what this row says by our field, its weight with the unit, then what the rows joined to it say."""
    return [_typed(one, file) for one in (row, *row.lines.all())]


def _one_line(text: str) -> str:
    return " ".join(filter(None, map(str.strip, LINE_ENDS.split(as_seen(text)))))


def _typed(row: ImportRow, file: Import) -> dict[str, str]:
    typed = {name: row.cells[place] for name, place in file.columns.items() if place < len(row.cells)}
    filled = {name: line for name, text in typed.items() if (line := _one_line(text)) and line not in NOTHING}
    if WEIGHT in filled:
        filled[WEIGHT] = units.with_unit(filled[WEIGHT], units.of_cell(WEIGHT, row, file))
    return filled


def country_code(text: str) -> str:
    """Return AU for `Australia`; a code or an unknown country stays as typed."""
    return countries.code_of(text) or text.strip()


def _of_size(size: ParcelSize | None, country: str) -> dict[str, str]:
    """Return the measures of a saved size, where they are in the sender's units."""
    if size is None or (size.weight_units, size.dimension_units) != UNITS[country]:
        return {}
    measures = {name: f"{getattr(size, name).normalize():f}" for name in ("weight", "length", "width", "height")}
    return measures | ({"description": size.description} if size.description else {})


def _give_back_zeros(plain: dict[str, Any]) -> None:
    """Give back the zeros that a ZIP code lost in a spreadsheet: 2155 was 02155, 901 was 00901."""
    code = plain.get("receiver_postcode", "")
    if plain["receiver_country"] == "US" and re.fullmatch("[0-9]{3,4}(-[0-9]{4})?", code, re.ASCII):
        start, dash, end = code.partition("-")
        plain["receiver_postcode"] = f"{start.zfill(5)}{dash}{end}"


def _choose_delivery(plain: dict[str, Any]) -> None:
    """Make instructions that begin with an Australian term that choice; all other words go to the driver."""
    choice = plain.pop("delivery_choice", "").replace("_", " ")
    filled = [choice if normalise(choice) != "none" else "", plain.get("delivery_place", "")]
    if words := ", ".join(filter(None, filled)):
        plain["delivery_place"] = words
    for code, term in (("authority_to_leave", AUTHORITY), ("signature", SIGNATURE)):
        if words.casefold().startswith(term.casefold()):
            plain["delivery_choice"], plain["delivery_place"] = code, words[len(term) :].lstrip(" :-,")
