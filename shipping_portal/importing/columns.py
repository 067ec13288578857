"""Which column of a file is which of our fields: guessed from its name, remembered once it was confirmed."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orders.drafting.contents_form import CURRENCY as OWN_CURRENCY
from orders.drafting.forms import UNITS, ParcelForm
from orders.drafting.receiver_form import AUTHORITY, SIGNATURE
from shipping_portal.accounts.address import countries
from shipping_portal.accounts.address.text import as_seen, normalise
from shipping_portal.accounts.models import ParcelSize, PickupAddress, Sender
from shipping_portal.importing import currencies, headings, items, shops, units
from shipping_portal.importing.models import ColumnMapping, Import, ImportRow
from shipping_portal.importing.reading import NOTHING
from shipping_portal.importing.units import DIMENSIONS, KINDS, SIZE_UNIT, TABLES, WEIGHT, WEIGHT_UNIT

LAST_NAME = "receiver_last_name"
SIZE = "size"  # among the constants
AUTHORITY_COLUMN, SIGNATURE_COLUMN = "authority_to_leave", "signature_required"
EXTRA = {LAST_NAME: "Last name, where it has its own column"}
LINE3, CURRENCY = "receiver_line3", "currency"
OUNCES, ADDRESS, PICKUP_DAY = "ounces", "address", "pickup_day"
NAME_LAST_FIRST = "name last first"  # “Name (Last, First)”
PLACE = ("receiver_line1", "receiver_suburb", "receiver_postcode")  # may stand in one cell
YES_OR_NO = {AUTHORITY_COLUMN: AUTHORITY, SIGNATURE_COLUMN: SIGNATURE}
# Among the constants: names of columns that don't matter, and what one of another currency is in ours.
NO_MATTER, RATES = "no_matter", "rates"
PRICES = "prices"  # of what they are, where the file doesn't tell
OF_PIECE, OF_LINE = "piece", "line"
ADDRESS_PARTS = re.compile(r"[,\r\n]+|  +")
POSTCODE = re.compile(r"[0-9]{4,5}(?:-[0-9]{4})?|[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]", re.ASCII)
LINE_ENDS = re.compile(r"[\r\n]+")  # an address of two lines in one cell is one line of ours
YES = frozenset(("yes", "y", "true", "1", "x", "on", "required"))
NO = frozenset(("", "no", "n", "false", "0", "off", "none", "not required", "n a", "na"))
# What marketplaces write where a buyer's address is not given.
NO_EMAIL = frozenset(
    ("invalid request", "not available", "unavailable", "no email", "none", "n a", "na", "unknown", "0")
)
AMOUNTS = {"item_1_value", "cover_amount"}
CONTACT = ("receiver_phone", "receiver_email")
NUMBERS = {*AMOUNTS, *units.MEASURES, OUNCES}
OF_AN_ITEM = {*items.OWN, "item_1_quantity", "item_1_origin", WEIGHT}
LEFT_OUT = re.compile(r"item_[2-9]_|contents_type$|receiver_line[12]_is_street$")

# What others call our fields, normalised; the first of these that a file has is taken, and our own label at the latest.
# A receiver's column may say whose it is besides: “Ship to city”, “City (Shipping)”.
SYNONYMS = {
    "receiver_name": ("name", "full name", "recipient name", "recipient", "receiver", "contact name", "customer name",
                      "attention to", "attn", "attention", "first name", "firstname", "given name", "given names",
                      "buyer name", "deliver to", "ship to", "send to", "addressee", "retailer name", "to", "who",
                      "customer", "contact", NAME_LAST_FIRST, "nom complet", "destinataire", "nom du destinataire",
                      "prenom", "nom", "buyer first name", "customer first name",
                      "guest name", "attendee name", "member name", "donor name", "client name", "client"),
    LAST_NAME: ("last name", "lastname", "surname", "family name", "nom de famille", "nom", "buyer last name",
                "customer last name", "co last name"),
    "receiver_company": ("company name", "company", "business name", "organization name", "organisation",
                         "organization", "organisation name", "organization 1 name", "entreprise", "societe",
                         "compagnie", "nom de l entreprise"),
    "receiver_country": ("country", "country code", "country name", "country id", "country region", "pays"),
    "receiver_line1": ("address 1", "address 1 2", "address line 1", "line 1", "street 1", "street address",
                       "street", "address one", "address", "adresse", "adresse 1", "adresse ligne 1", "rue"),
    LINE3: ("address 3", "address line 3", "line 3", "street 3"),
    "receiver_line2": ("address 2", "address line 2", "line 2", "address two", "street 2", "unit", "building",
                       "unit number", "apt", "apartment", "suite", "flat", "apt suite", "apt suite etc",
                       "apartment suite etc", "apartment unit etc", "adresse 2", "adresse ligne 2", "appartement",
                       "complement d adresse", "address line 2 district neighborhood"),
    "receiver_suburb": ("suburb", "city", "town", "suburb town", "suburb city", "town city", "city town", "town suburb",
                        "city suburb", "suburb or town", "town or suburb", "suburb or city", "city or suburb",
                        "town or city", "city or town", "locality", "ville", "municipalite"),
    "receiver_state": ("state", "state code", "state name", "state or province code", "state or province",
                       "state province", "state region", "state territory", "state or territory", "state county",
                       "state abbreviation", "province", "province code", "region", "region code", "county",
                       "state province region county territory prefecture republic"),
    "receiver_postcode": ("postcode", "post code", "postal code", "zip code", "zipcode", "zip",
                          "zip postal code", "zip postcode", "postal", "p code", "pcode", "pc", "code postal"),
    "receiver_email": ("email", "e mail", "email address", "customer email", "buyer email", "contact email",
                       "primary email", "e mail 1 value", "e mail address", "mail", "email billing", "billing email",
                       "courriel", "adresse courriel", "adresse de courriel", "adresse e mail"),
    "receiver_phone": ("phone", "phone number", "telephone", "mobile", "mobile number", "contact number",
                       "telephone number", "phone mobile", "mobile phone", "phone 1 value", "home phone",
                       "buyer phone number", "customer phone number", "customer phone", "phone billing",
                       "billing phone", "contact phone", "contact phone number", "cell phone", "cell", "phone no",
                       "mobile no", "tel", "tel no", "contact no", "daytime phone", "numero de telephone",
                       "cellulaire", "phone no 1"),
    "receiver_instructions": ("delivery instructions", "instructions", "delivery note", "delivery notes",
                              "delivery special instruction 1", "customer note", "notes", "customer notes",
                              "notes from customer", "special instructions", "shipping instructions",
                              "driver instructions", "courier instructions", "delivery comments",
                              "instructions de livraison"),
    "delivery_choice": ("delivery instructions", "instructions", "delivery note"),
    "description": ("whats inside", "contents", "lineitem name", "item name", "item title", "product name",
                    "item description", "parcel contents", "goods", "description", "item", "product", "products",
                    "what", "what would you like to order", "what would you like", "order items", "items ordered",
                    "content", "contents description", "description of contents", "description of goods", "contenu"),
    "customer_reference": ("your order number", "order number", "order no", "order id", "sales record number",
                           "order name", "order reference", "order ref", "customer reference", "sender reference 1",
                           "increment id", "invoice number", "po number", "backer number", "reference", "ref", "order",
                           "customer ref", "numero de commande", "no de commande", "commande", "name"),
    # Measures by their names without a unit.
    WEIGHT: ("weight", "", "ship weight", "shipping weight", "total weight", "weight value",
             "combined product weight", "item weight", "lineitem weight", "product weight", "unit weight", "poids"),
    "length": ("length", "item length", "l", "longueur"),
    "width": ("width", "item width", "w", "largeur"),
    "height": ("height", "item height", "depth", "h", "hauteur"),
    WEIGHT_UNIT: ("weight unit", "weight units", "unit of weight"),
    SIZE_UNIT: ("dimension unit", "dimensions unit", "dimension units", "dimensions units", "unit of dimensions",
                "size unit", "size units", "units", "length unit", "unit of measures"),
    DIMENSIONS: ("dimensions", "dimension", "dims", "box size", "box dimensions", "package size", "package dimensions",
                 "parcel size", "parcel dimensions", "l x w x h", "lxwxh", "lwh", "l w h", "size l x w x h",
                 "dimensions l x w x h", "dimensions lxwxh", "size lxwxh", "size"),
    OUNCES: ("ounces", "oz", "weight oz", "weight ounces"),
    PICKUP_DAY: ("pickup date", "pickup day", "pick up date", "pick up day", "collection date", "collection day"),
    ADDRESS: ("full address", "whole address", "mailing address", "city state zip", "city state and zip",
              "city state zip code", "city state postcode",
              "suburb state postcode"),
    CURRENCY: ("currency", "order currency", "currency code", "order currency code", "presentment currency"),
    AUTHORITY_COLUMN: ("authority to leave", "atl", "safe to leave", "leave unattended", "can be left"),
    SIGNATURE_COLUMN: ("signature required", "signature on delivery", "signature", "signature confirmation",
                       "requires signature", "sign on delivery"),
    "cover_amount": ("extra cover", "extra cover up to", "insured value", "insurance"),
    "item_1_description": ("customs description",),
    "item_1_value": ("customs value", "item value", "value", "unit price", "item unit price", "lineitem price",
                     "item price", "item cost", "product price", "price each", "wholesale price", "price"),
    "item_1_quantity": ("lineitem quantity", "item quantity", "quantity refund", "quantity to ship",
                        "quantity purchased", "product quantity", "quantity", "qty", "item qty", "product qty",
                        "quantite"),
    "item_1_origin": ("country of origin", "origin", "made in"),
    "item_1_hs_code": ("tariff code", "harmonized code"),
}  # fmt: skip

SHOPS_NUMBER = ("customer_reference", "name")  # in one shop's export; in all other files `name` is the receiver's
LAST = 99
QUANTITY = re.compile(r"\b(?:quantity|qty)\b")
FIRST_NAMES = ("first name", "firstname", "given name", "prenom")
OF_ONE = {"item", "lineitem", "product", "unit"}
OF_RECEIVER = re.compile(
    r"(?:(?:ship|post|deliver|send) to|to|delivery|recipient|receiver|shipping|ship|sa|home|address 1(?! 2)|your"
    r"|default address|default|addr 1) (.+)"
)
ANYWHERE = re.compile("(?:home|your|default) ")  # is not where a parcel goes, where the file says that too
OF_PART = re.compile("^(?:address|person|name) ")  # “delivery_address_city”, “shipping_person_name”
OF_PARCEL = re.compile(r"(?:(?:parcel|package|box|carton|shipment)(?: size| dimensions?)?|dimensions?) (.+)")
ONLY_WITH_UNIT = ("", "size")  # “Lbs” is a weight, “Size (cm)” are the three sides
LAST_FIRST = re.compile(r"[^\W\d]+(?:[-’'][^\W\d]+)*, *[^\W\d]+(?:[-’'][^\W\d]+)*(?: [A-Z])?\.?")
NOT_FIRST = {"inc", "llc", "ltd", "limited", "pty", "co", "corp", "plc", "gmbh", "jr", "sr", "ii", "iii", "md", "phd"}


@dataclass(frozen=True)
class Field:
    """One of our fields on the matching page. `name` is the parcel form's without its unit."""

    name: str
    label: str
    is_needed: bool


# What only a file says apart: read into other fields, or beside them.
FILE_ONLY = (
    Field(LINE3, "Third line of the address, where it has its own column", is_needed=False),
    Field(ADDRESS, "Suburb, state and postcode, with or without the street, in one column", is_needed=False),
    Field(PICKUP_DAY, "Pickup day, where it has its own column", is_needed=False),
    Field(OUNCES, "Ounces, beside a column of pounds", is_needed=False),
    Field(DIMENSIONS, "All three sides, where they have one column", is_needed=False),
    Field(WEIGHT_UNIT, "Unit of the weight, where it has its own column", is_needed=False),
    Field(SIZE_UNIT, "Unit of the measures, where it has its own column", is_needed=False),
    Field(CURRENCY, "Currency of the values, where it has its own column", is_needed=False),
    Field(AUTHORITY_COLUMN, f"{AUTHORITY}, where a column says yes or no", is_needed=False),
    Field(SIGNATURE_COLUMN, f"{SIGNATURE}, where a column says yes or no", is_needed=False),
)


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


def guess(header: list[str], wanted: list[Field], filled: Collection[int] = ()) -> dict[str, int]:
    """Return the best column for each field by its name; no column is two fields.

    Of two for a phone or an email, one with anything in it goes first: `filled` are these, where they are known.
    """
    wishes = [
        (field.name in CONTACT and bool(filled) and place not in filled, rank, field.name, place)
        for place, name in enumerate(header)
        for field in wanted
        if (rank := _rank(field, name)) is not None
    ]
    found: dict[str, int] = {}
    for *_, name, place in sorted(wishes, key=lambda wish: wish[:2]):
        if name not in found and place not in found.values():
            found[name] = place
    if shops.of(header) == "Xero":  # its contacts are businesses, or people in no business
        named = (at for at, name in enumerate(header) if normalise(name) == "contactname")
        if (at := next(named, None)) not in (None, found.get("receiver_name")):
            found["receiver_company"] = at
    if shops.of(header) == "PayPal":  # its payments come from whoever bought, to us
        names = [headings.plain(name) for name in header]
        found["receiver_email"] = names.index("from email address")
        found["receiver_line1"] = names.index("address line 1")
    if "receiver_name" not in found and LAST_NAME in found:
        found["receiver_name"] = found.pop(LAST_NAME)
    if not _is_split_name(header, found):
        found.pop(LAST_NAME, None)
    if any(QUANTITY.search(headings.plain(name)) for name in header):  # an item's sides are no parcel's
        found = {n: at for n, at in found.items() if n not in units.SIZES or "item" not in headings.plain(header[at])}
    return _without_ounces(header, _with_one_address(found))


def _with_one_address(found: dict[str, int]) -> dict[str, int]:
    """Return the columns, the address as one cell only where the file has no column of postcodes."""
    if "receiver_postcode" in found:
        return {name: at for name, at in found.items() if name != ADDRESS}
    if ADDRESS not in found and "receiver_line1" in found and "receiver_suburb" not in found:
        found[ADDRESS] = found.pop("receiver_line1")
    return found


def _without_ounces(header: list[str], found: dict[str, int]) -> dict[str, int]:
    """Return the columns, ounces apart only beside pounds: alone they are the weight, in their unit."""
    if OUNCES not in found:
        return found
    ounces, weight = found.pop(OUNCES), found.get(WEIGHT)
    if weight is None:
        return found | {WEIGHT: ounces}
    return found | {OUNCES: ounces} if units.stated(header[weight], TABLES[WEIGHT_UNIT]) == "lb" else found


def _is_split_name(header: list[str], found: Mapping[str, int]) -> bool:
    """Return whether a last name belongs behind the name: a full name, such as Etsy's, has it already."""
    first, last = (
        headings.plain(header[found[name]]) if name in found else "" for name in ("receiver_name", LAST_NAME)
    )
    return any(word in first for word in FIRST_NAMES) or last == normalise(EXTRA[LAST_NAME])


def _rank(field: Field, name: str) -> int | None:
    """Return how well a column of this name fits: the less the better, below 0 where it names the receiver."""
    words, label = _words(field, name), _words(field, field.label)
    if words in ONLY_WITH_UNIT and not units.stated(name, units.NAMES):
        return None
    known = (*SYNONYMS.get(field.name, ()), label)
    if bare := next((one for one in _bare(field, words) if one in known), ""):
        return known.index(bare) - (LAST if ANYWHERE.match(words) else 2 * LAST)
    if words not in known:
        return None
    return LAST if (field.name, words) == SHOPS_NUMBER else known.index(words)


def _bare(field: Field, words: str) -> Iterator[str]:
    """Yield what a column says without whose it is: “delivery address city” is city, “parcel size length” is length."""
    if field.name.startswith("receiver_") or field.name == ADDRESS:
        if words.endswith(" shipping"):
            yield words.removesuffix(" shipping")
        if found := OF_RECEIVER.fullmatch(words):
            yield found[1]
            yield OF_PART.sub("", found[1])
    elif (field.name in KINDS or field.name in TABLES) and (found := OF_PARCEL.fullmatch(words)):
        yield found[1]


def _words(field: Field, name: str) -> str:
    """Return the name, normalised; a measure's without the unit that it states, an amount's without its currency."""
    if field.name in AMOUNTS:
        return currencies.bare(name)
    kind = KINDS.get(field.name)
    return units.bare(name, TABLES[kind]) if kind else headings.plain(name)


def lasting(constants: Mapping[str, Any]) -> dict[str, Any]:
    """Return what holds for the next file too: a rate is of its day, and units read against a header of one file."""
    return {name: what for name, what in constants.items() if name != RATES and not name.startswith(units.READ_AS)}


def remembered(sender: Sender, fingerprint: str) -> ColumnMapping | None:
    return ColumnMapping.objects.filter(sender=sender, fingerprint=fingerprint).first()


def values(row: ImportRow, file: Import, size: ParcelSize | None = None) -> dict[str, str]:
    """Return what the parcel form would hold had somebody typed this row into it."""
    country, typed = file.sender.country, lines(row, file)
    constants = {n: text for n, text in file.constants.items() if isinstance(text, str) and n != SIZE}
    of_size = _of_size(size, country)
    if any(side in typed[0] for side in units.SIZES):  # a saved size never fills in for sides that the row has
        of_size = {name: text for name, text in of_size.items() if name not in units.SIZES}
    filled = items.joined(typed, of_size | constants, are_weights_of_one=are_of_one_item(file))
    plain = of_size | units.in_the_forms(constants, filled, row, file)
    last = plain.pop(LAST_NAME, "")
    plain["receiver_name"] = f"{plain.get('receiver_name', '')} {last}".strip()
    where = country_code(plain.get("receiver_country", "")) or country, plain.get("receiver_state", "")
    plain["receiver_country"], plain["receiver_state"] = countries.at_home(country, *where)
    _give_back_zeros(plain)
    _join_lines(plain)
    _without_repeats(plain)
    _in_our_currency(plain, file)
    _choose_delivery(plain)
    return {form_name(name, country): text for name, text in plain.items()} | row.corrected


def are_of_one_item(file: Import) -> bool:
    """Return whether the weights are those of one item, by the column's name: “Item weight”, “Product Weight (kg)”."""
    place = file.columns.get(WEIGHT)
    words = headings.plain(file.header[place]).split() if place is not None else []
    return not OF_ONE.isdisjoint(words) and "combined" not in words


def lines(row: ImportRow, file: Import) -> list[dict[str, str]]:
    """Return what this row says by our field, its weight with the unit, then what the rows joined to it say.

    Of an order that is sent in part, what is never sent is no item of the parcel.
    """
    rows = (row, *row.lines.all())
    sent = [shops.is_sent(file.header, one.cells, row.cells) for one in rows]
    typed = [_typed(one, file, head=row) for one in rows]
    return [
        cells if is_sent or not any(sent) else {name: text for name, text in cells.items() if name not in OF_AN_ITEM}
        for cells, is_sent in zip(typed, sent, strict=True)
    ]


def cell(row: ImportRow, file: Import, name: str) -> str:
    """Return the row's cell of this field, "" without one."""
    place = file.columns.get(name, len(row.cells))
    return str(row.cells[place]) if place < len(row.cells) else ""


def _one_line(text: str, between: str) -> str:
    return between.join(filter(None, map(str.strip, LINE_ENDS.split(as_seen(text)))))


def _typed(row: ImportRow, file: Import, *, head: ImportRow) -> dict[str, str]:
    typed = {name: row.cells[place] for name, place in file.columns.items() if place < len(row.cells)}
    lines = {name: _one_line(text, ", " if name.startswith("receiver_line") else " ") for name, text in typed.items()}
    filled = {name: line for name, line in lines.items() if line and line not in NOTHING}
    if file.delimiter == ";":
        filled |= {name: units.with_dot(filled[name]) for name in NUMBERS & filled.keys()}
    filled.pop(PICKUP_DAY, "")  # is no field of the form: see pickup_days.py
    if address := filled.pop(ADDRESS, ""):
        filled = _of_one_cell(address, typed[ADDRESS], head.file.sender.country) | filled
    if ounces := filled.pop(OUNCES, ""):
        filled[WEIGHT] = f"{filled.get(WEIGHT, '0')} lb {ounces} oz"
    if WEIGHT in filled:
        filled[WEIGHT] = units.with_unit(filled[WEIGHT], units.of_cell(WEIGHT, row, file))
    if (three := filled.pop(DIMENSIONS, "")) and not any(side in filled for side in units.SIZES):
        filled |= units.sides(three, units.of_cell(DIMENSIONS, row, file))
    if filled.get("receiver_email") and normalise(filled["receiver_email"]) in NO_EMAIL:
        del filled["receiver_email"]
    if name := filled.get("receiver_name"):
        is_stated = headings.plain(file.header[file.columns["receiver_name"]]) == NAME_LAST_FIRST
        filled["receiver_name"] = _first_name_first(name, is_stated=is_stated)
    currency = filled.pop(CURRENCY, "") or cell(head, file, CURRENCY)
    for name in AMOUNTS & filled.keys():
        filled[name] = _amount(name, filled[name], currency or currencies.stated(file.header[file.columns[name]]))
    if "item_1_value" in filled:
        filled["item_1_value"] = _value_of_one(filled["item_1_value"], filled.get("item_1_quantity", ""), row, file)
    return filled


def _value_of_one(text: str, times: str, row: ImportRow, file: Import) -> str:
    """Return the value of one piece: by the shop, by the column's name, by a total beside it, or as its sender said."""
    place, answer = file.columns["item_1_value"], file.constants.get(PRICES)
    if shops.is_price_of_line(file.header, place):
        return currencies.of_one(text, shops.bought(file.header, row.cells) or times)
    if times in ("", "0", "1") or answer == OF_PIECE or shops.is_price_of_piece(file.header, place):
        return text
    number, total = (currencies.read(one)[0] for one in (text, shops.total_of_line(file.header, row.cells)))
    if answer == OF_LINE or (total and currencies.is_times(total, number, "1")):
        return currencies.of_one(text, times)
    if (total and currencies.is_times(total, number, times)) or not times.isdecimal():
        return text
    return f"{text} of one or of {times}"


def _of_one_cell(line: str, cell: str, home: str) -> dict[str, str]:
    """Return the parts of an address in one cell: what ends like “Brunswick VIC 3056” behind a comma or a line's end.

    Anything else is a street, so that the form asks for the rest.
    """
    parts = [part.strip(" .") for part in ADDRESS_PARTS.split(as_seen(cell)) if part.strip(" .")]
    code = countries.code_of(parts[-1]) if len(parts) > 1 else ""
    words = " , ".join(parts[:-1] if code else parts).split()
    if not code and any(POSTCODE.fullmatch(" ".join(words[at:-1])) for at in (-2, -3)):
        code = countries.code_of(words[-1])
        words = words[:-1] if code else words
    country = code or home
    at = next((at for at in (1, 2) if POSTCODE.fullmatch(" ".join(words[-at:]))), 0)
    before = " ".join(words[:-at]).rstrip(" ,") if at else ""
    for count in (1, 2, 3):
        head, last = before.rsplit(" ", count)[0], " ".join(before.split()[-count:])
        state = countries.state_code(country, last) if last else ""
        if state in countries.STATES.get(country, {}):
            street, comma, suburb = head.rstrip(" ,").rpartition(" , ")
            found = {"receiver_suburb": suburb, "receiver_state": state, "receiver_postcode": " ".join(words[-at:])}
            found |= {"receiver_line1": street.replace(" ,", ",")} if comma else {}
            return found | ({"receiver_country": code} if code else {})
    return {"receiver_line1": line}


def _first_name_first(text: str, *, is_stated: bool) -> str:
    """Return Jane Doe for “Doe, Jane”: where the column says so, or where both are one word and it is no company."""
    last, comma, first = text.partition(",")
    if not comma or not (is_stated or (LAST_FIRST.fullmatch(text) and normalise(first) not in NOT_FIRST)):
        return text
    return f"{first.strip()} {last.strip()}".strip()


def _amount(name: str, text: str, column: str) -> str:
    """Return the amount with its currency beside it: the cell's own, or else that of the row or the column."""
    number, currency = currencies.read(text)
    code = currency or currencies.currency_of(column)
    return f"{code} {number}" if code else text


def country_code(text: str) -> str:
    """Return AU for `Australia`; a code or an unknown country stays as typed."""
    return countries.code_of(text) or text.strip()


def _of_size(size: ParcelSize | None, country: str) -> dict[str, str]:
    """Return the measures of a saved size, where they are in the sender's units."""
    if size is None or (size.weight_units, size.dimension_units) != UNITS[country]:
        return {}
    measures = {name: f"{getattr(size, name).normalize():f}" for name in ("weight", "length", "width", "height")}
    return measures | ({"description": size.description} if size.description else {})


def is_yes(text: str) -> bool:
    """Return whether a cell of one of the two terms says yes, or more than no."""
    return normalise(text) not in NO


def _term(text: str, term: str) -> str:
    """Return the term that a cell says yes to, with what else the cell says; "" for a no."""
    if not is_yes(text):
        return ""
    return term if normalise(text) in {*YES, normalise(term)} else f"{term}: {text}"


def _give_back_zeros(plain: dict[str, Any]) -> None:
    """Give back the zeros that a ZIP code lost in a spreadsheet: 2155 was 02155, 901 was 00901."""
    code = plain.get("receiver_postcode", "")
    if plain["receiver_country"] == "US" and re.fullmatch("[0-9]{3,4}(-[0-9]{4})?", code, re.ASCII):
        start, dash, end = code.partition("-")
        plain["receiver_postcode"] = f"{start.zfill(5)}{dash}{end}"


def _without_repeats(plain: dict[str, Any]) -> None:
    """Take a lone company for the name, the postcode out of the suburb, and “.0” off what a program took for a number.

    Each of them has no other reading.
    """
    if not plain.get("receiver_name"):
        plain["receiver_name"] = plain.pop("receiver_company", "")
    for name in ("receiver_postcode", "receiver_phone"):
        if (text := plain.get(name, "")).endswith(".0") and text[:-2].isdigit():
            plain[name] = text[:-2]
    suburb, code = plain.get("receiver_suburb", ""), plain.get("receiver_postcode", "")
    if code and suburb.endswith(f" {code}"):
        plain["receiver_suburb"] = suburb.removesuffix(code).rstrip(" ,")


def _join_lines(plain: dict[str, Any]) -> None:
    """Print the third line of an address behind the second, or in its place."""
    third = plain.pop(LINE3, "")
    plain["receiver_line2"] = ", ".join(filter(None, (plain.get("receiver_line2", ""), third)))


def _in_our_currency(plain: dict[str, Any], file: Import) -> None:
    """Write amounts in our own currency. At home customs ask for no value, so its currency is of no matter there."""
    own, is_abroad = OWN_CURRENCY[file.sender.country], plain["receiver_country"] != file.sender.country
    for name in [name for name in plain if name == "cover_amount" or name.endswith("_value")]:
        text = currencies.converted(plain[name], own, file.constants.get(RATES, {}))
        plain[name] = text if is_abroad or name == "cover_amount" else currencies.read(text)[0]
        if not is_abroad and (currencies.OF_MANY.fullmatch(text) or currencies.UNSURE.fullmatch(text)):
            del plain[name]


def _choose_delivery(plain: dict[str, Any]) -> None:
    """Make instructions that begin with an Australian term that choice; all other words go to the driver."""
    terms = (_term(plain.pop(name, ""), term) for name, term in YES_OR_NO.items())
    yes = [words for words in terms if words]
    choice = plain.pop("delivery_choice", "").replace("_", " ")
    if yes and "receiver_instructions" in plain and not choice and not plain.get("delivery_place"):
        yes.append(plain["receiver_instructions"])
    if yes:
        choice = ": ".join(dict.fromkeys([*yes, *filter(None, [choice if normalise(choice) != "none" else ""])]))
        plain["receiver_instructions"] = choice
    filled = [choice if normalise(choice) != "none" else "", plain.get("delivery_place", "")]
    if words := ", ".join(filter(None, filled)):
        plain["delivery_place"] = words
    for code, term in (("authority_to_leave", AUTHORITY), ("signature", SIGNATURE)):
        if words.casefold().startswith(term.casefold()):
            plain["delivery_choice"], plain["delivery_place"] = code, words[len(term) :].lstrip(" :-,")
