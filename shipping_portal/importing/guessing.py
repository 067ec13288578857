"""Guess from its name which field each column of a file is, as a person would."""

import re
from collections.abc import Collection, Iterator, Mapping

from shipping_portal.accounts.address.text import normalise_name
from shipping_portal.importing import currencies, headings, shops, units
from shipping_portal.importing.columns import ADDRESS, AMOUNTS, EXTRA, LAST_NAME, OUNCES, Field
from shipping_portal.importing.synonyms import SYNONYMS
from shipping_portal.importing.units import KINDS, TABLES, WEIGHT, WEIGHT_UNIT

Places = dict[str, int]  # a file's columns by our field

CONTACT = ("receiver_phone", "receiver_email")
# in that shop's export; in all other files `name` is the receiver's
SHOPS_NUMBER = ("customer_reference", "name")
LAST = 99
QUANTITY = re.compile(r"\b(?:quantity|qty)\b")
FIRST_NAMES = ("first name", "firstname", "given name", "prenom")
OF_RECEIVER = re.compile(
    r"(?:(?:ship|post|deliver|send) to|to|delivery|recipient|receiver|shipping|ship|sa|home|address"
    r" 1(?! 2)|your"
    r"|default address|default|addr 1) (.+)"
)
# not where the parcel goes, if the file has that too
ANYWHERE = re.compile("(?:home|your|default) ")
OF_PART = re.compile("^(?:address|person|name) ")  # “delivery_address_city”, “shipping_person_name”
OF_PARCEL = re.compile(
    r"(?:(?:parcel|package|box|carton|shipment)(?: size| dimensions?)?|dimensions?) (.+)"
)
ONLY_WITH_UNIT = ("", "size")  # “Lbs” is a weight, “Size (cm)” is the three sides


def guess_columns(header: list[str], wanted: list[Field], filled: Collection[int] = ()) -> Places:
    """Return the best column for each field by name; no column is used for two fields.

    Of two columns for a phone or an email, one that isn't empty wins. `filled` has the columns that
    aren't empty, if known.
    """
    wishes = [
        (field.name in CONTACT and bool(filled) and place not in filled, rank, field.name, place)
        for place, name in enumerate(header)
        for field in wanted
        if (rank := _rank(field, name)) is not None
    ]
    found: Places = {}
    for *_, name, place in sorted(wishes, key=lambda wish: wish[:2]):
        if name not in found and place not in found.values():
            found[name] = place
    if shops.find_shop(header) == "Xero":  # its contacts are businesses, or people without one
        named = (at for at, name in enumerate(header) if normalise_name(name) == "contactname")
        if (at := next(named, None)) not in (None, found.get("receiver_name")):
            found["receiver_company"] = at
    if shops.find_shop(header) == "PayPal":  # its payments come from the buyer to us
        names = [headings.plain(name) for name in header]
        found["receiver_email"] = names.index("from email address")
        found["receiver_line1"] = names.index("address line 1")
    if "receiver_name" not in found and LAST_NAME in found:
        found["receiver_name"] = found.pop(LAST_NAME)
    if not _is_split_name(header, found):
        found.pop(LAST_NAME, None)
    # an item's sides aren't the parcel's
    if any(QUANTITY.search(headings.plain(name)) for name in header):
        found = {
            n: at
            for n, at in found.items()
            if n not in units.SIZES or "item" not in headings.plain(header[at])
        }
    return _without_ounces(header, _with_one_address(found))


def _with_one_address(found: Places) -> Places:
    """Return the columns. Keep one-cell addresses only if the file has no postcode column."""
    if "receiver_postcode" in found:
        return {name: at for name, at in found.items() if name != ADDRESS}
    if ADDRESS not in found and "receiver_line1" in found and "receiver_suburb" not in found:
        found[ADDRESS] = found.pop("receiver_line1")
    return found


def _without_ounces(header: list[str], found: Places) -> Places:
    """Return the columns. Keep a column of ounces only beside pounds; alone it is the weight."""
    if OUNCES not in found:
        return found
    ounces, weight = found.pop(OUNCES), found.get(WEIGHT)
    if weight is None:
        return found | {WEIGHT: ounces}
    return (
        found | {OUNCES: ounces}
        if units.unit_in_text(header[weight], TABLES[WEIGHT_UNIT]) == "lb"
        else found
    )


def _is_split_name(header: list[str], found: Mapping[str, int]) -> bool:
    """Return whether to append a last name: a full name, such as Etsy's, already has it."""
    first, last = (
        headings.plain(header[found[name]]) if name in found else ""
        for name in ("receiver_name", LAST_NAME)
    )
    return any(word in first for word in FIRST_NAMES) or last == normalise_name(EXTRA[LAST_NAME])


def _rank(field: Field, name: str) -> int | None:
    """Return how well a column name fits: lower is better, below 0 if it names the receiver."""
    words, label = _name_without_unit(field, name), _name_without_unit(field, field.label)
    if words in ONLY_WITH_UNIT and not units.unit_in_text(name, units.NAMES):
        return None
    known = (*SYNONYMS.get(field.name, ()), label)
    if bare := next((one for one in _names_without_owner(field, words) if one in known), ""):
        return known.index(bare) - (LAST if ANYWHERE.match(words) else 2 * LAST)
    if words not in known:
        return None
    return LAST if (field.name, words) == SHOPS_NUMBER else known.index(words)


def _names_without_owner(field: Field, words: str) -> Iterator[str]:
    """Yield a column name without its owner: “delivery address city” becomes city."""
    if field.name.startswith("receiver_") or field.name == ADDRESS:
        if words.endswith(" shipping"):
            yield words.removesuffix(" shipping")
        if found := OF_RECEIVER.fullmatch(words):
            yield found[1]
            yield OF_PART.sub("", found[1])
    elif (field.name in KINDS or field.name in TABLES) and (found := OF_PARCEL.fullmatch(words)):
        yield found[1]


def _name_without_unit(field: Field, name: str) -> str:
    """Return the normalised name without a measure's unit or an amount's currency."""
    if field.name in AMOUNTS:
        return currencies.name_without_currency(name)
    kind = KINDS.get(field.name)
    return units.words_without_units(name, TABLES[kind]) if kind else headings.plain(name)
