"""Return what the parcel form would hold if somebody had typed the row into it.

This combines its cells, the values for all rows, and a saved size.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from orders.calling.contract import customs_apply
from orders.drafting.contents_form import CURRENCY as OWN_CURRENCY
from orders.drafting.forms import UNITS
from orders.drafting.receiver_form import AUTHORITY, SIGNATURE
from shipping_portal.accounts.address import countries
from shipping_portal.accounts.address.text import normalise_name
from shipping_portal.accounts.models import ParcelSize
from shipping_portal.carrier.messages import Party
from shipping_portal.importing import cells, currencies, items, shops, units
from shipping_portal.importing.columns import (
    AUTHORITY_COLUMN,
    LAST_NAME,
    LINE3,
    RATES,
    SIGNATURE_COLUMN,
    SIZE,
    form_name,
)
from shipping_portal.importing.headings import split_words
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.importing.units import SIZES, WEIGHT

YES_OR_NO = {AUTHORITY_COLUMN: AUTHORITY, SIGNATURE_COLUMN: SIGNATURE}
YES = frozenset(split_words("yes, y, true, 1, x, on, required"))
NO = frozenset(split_words(", no, n, false, 0, off, none, not required, n a, na"))
# How many digits a postcode has left without its leading zeros, and how many it has.
LOST_ZEROS = {
    country: ([*map(int, left)], int(width))
    for country, left, width in map(
        str.split,
        split_words(
            "US 34 5, IT 34 5, FI 34 5, NO 23 4, NZ 3 4, DE 4 5, FR 4 5, ES 4 5, MX 4 5, KR 4 5,"
            "MY 4 5, TR 4 5, UA 4 5, PE 4 5, SG 5 6, CN 5 6, RO 5 6, CO 5 6, JP 6 7, BR 7 8"
        ),
    )
}


@dataclass(frozen=True)
class ParcelValues:
    """A parcel being read. `values` has the parcel form's values, named without units.

    `corrected` has the sender's corrections, by control.
    """

    file: Import
    home: str
    values: dict[str, str]
    corrected: Mapping[str, str]

    def get(self, name: str) -> str:
        """Return a field's value so far, or "" if it has none."""
        return self.values.get(name, "")


def read_values(
    row: ImportRow, file: Import, size: ParcelSize | None, lines: list[dict[str, str]]
) -> dict[str, str]:
    """Return the values of the parcel form for a row with these `lines`.

    The cells of rows joined to it count too.
    """
    country, is_of_one = file.sender.country, items.are_weights_of_one(file)
    constants = {
        name: text
        for name, text in file.constants.items()
        if isinstance(text, str) and name != SIZE
    }
    of_size = _measures_of(size, country)
    # a saved size never overrides the row's own sides
    if any(side in lines[0] for side in SIZES):
        of_size = {name: text for name, text in of_size.items() if name not in SIZES}
    joined = items.joined(lines, of_size | constants, are_weights_of_one=is_of_one)
    values = of_size | units.in_the_forms(constants, joined, row, file)
    parcel = ParcelValues(file, country, values, row.corrected)
    for read in STEPS:
        read(parcel)
    return {form_name(name, country): text for name, text in values.items()} | row.corrected


def values(row: ImportRow, file: Import, size: ParcelSize | None = None) -> dict[str, str]:
    """Return the values of the parcel form for this row."""
    return read_values(row, file, size, cells.read_lines(row, file))


def country_code(text: str) -> str:
    """Return AU for `Australia`. A code or an unknown country is returned unchanged."""
    return countries.code_of(text) or text.strip()


def is_yes(text: str) -> bool:
    """Return whether a delivery term's cell says yes, or anything other than no."""
    return normalise_name(text) not in NO


def _measures_of(size: ParcelSize | None, country: str) -> dict[str, str]:
    """Return a saved size's measures, if they are in the sender's units."""
    if size is None or (size.weight_units, size.dimension_units) != UNITS[country]:
        return {}
    found = {name: f"{getattr(size, name).normalize():f}" for name in (WEIGHT, *SIZES)}
    return found | ({"description": size.description} if size.description else {})


def _join_names(parcel: ParcelValues) -> None:
    """Append the last name to the name; without a name, use the company."""
    last = parcel.values.pop(LAST_NAME, "")
    name = f"{parcel.get('receiver_name')} {last}".strip()
    parcel.values["receiver_name"] = name or parcel.values.pop("receiver_company", "")


def _read_country(parcel: ParcelValues) -> None:
    """Read Australia as AU. A territory with its own country code is a state at home."""
    code = country_code(parcel.get("receiver_country")) or parcel.home
    where = countries.at_home(parcel.home, code, parcel.get("receiver_state"))
    parcel.values["receiver_country"], parcel.values["receiver_state"] = where


def _restore_numbers(parcel: ParcelValues) -> None:
    """Remove “.0” from numbers, and restore a postcode's zeros: 2155 was 02155."""
    for name in {"receiver_postcode", "receiver_phone"} & parcel.values.keys():
        parcel.values[name] = shops.whole(parcel.get(name))
    start, dash, end = parcel.get("receiver_postcode").partition("-")
    left, width = LOST_ZEROS.get(parcel.get("receiver_country"), ([], 0))
    if start.isdecimal() and len(start) in left and len(end) in (0, 4):
        parcel.values["receiver_postcode"] = f"{start.zfill(width)}{dash}{end}"


def _join_lines(parcel: ParcelValues) -> None:
    """Append an address's third line to the second, or replace the second line with it.

    A suburb is printed without its postcode.
    """
    third = parcel.values.pop(LINE3, "")
    parcel.values["receiver_line2"] = ", ".join(filter(None, (parcel.get("receiver_line2"), third)))
    suburb, code = parcel.get("receiver_suburb"), parcel.get("receiver_postcode")
    if code and suburb.endswith(f" {code}"):
        parcel.values["receiver_suburb"] = suburb.removesuffix(code).rstrip(" ,")


def _convert_amounts(parcel: ParcelValues) -> None:
    """Convert amounts to our currency.

    If customs don't need a value, its currency doesn't matter.
    """
    own, rates = OWN_CURRENCY[parcel.home], parcel.file.constants.get(RATES, {})
    amounts = [name for name in parcel.values if is_amount(name)]
    for_customs = bool(amounts) and _goes_through_customs(parcel)
    for name in amounts:
        text = currencies.converted(parcel.values[name], own, rates)
        is_wanted = for_customs or name == "cover_amount"
        parcel.values[name] = text if is_wanted else currencies.read(text)[0]
        if not for_customs and currencies.is_unsure(text):
            del parcel.values[name]


def _goes_through_customs(parcel: ParcelValues) -> bool:
    """Return whether customs ask what is in this parcel, with its destination as corrected."""
    country, state = (
        parcel.corrected.get(name, parcel.get(name))
        for name in ("receiver_country", "receiver_state")
    )
    country, state = countries.at_home(parcel.home, country, state)
    address = parcel.file.pickup_address
    start = address.party() if address else Party(country=parcel.home)
    return customs_apply(start, Party(country=country, state=countries.state_code(country, state)))


def is_amount(name: str) -> bool:
    """Return whether this field of the form is an amount of money."""
    return name == "cover_amount" or name.endswith("_value")


def _choose_delivery(parcel: ParcelValues) -> None:
    """Choose an Australian delivery term if the instructions begin with one.

    The rest is for the driver.
    """
    yes = [_read_term(parcel.values.pop(name, ""), term) for name, term in YES_OR_NO.items()]
    yes = [words for words in yes if words]
    choice = parcel.values.pop("delivery_choice", "").replace("_", " ")
    place = parcel.get("delivery_place")
    if yes and "receiver_instructions" in parcel.values and not choice and not place:
        yes.append(parcel.values["receiver_instructions"])
    if normalise_name(choice) == "none":
        choice = ""
    if yes:
        choice = ": ".join(dict.fromkeys(filter(None, [*yes, choice])))
        parcel.values["receiver_instructions"] = choice
    if words := ", ".join(filter(None, (choice, place))):
        parcel.values["delivery_place"] = words
    for code, term in (("authority_to_leave", AUTHORITY), ("signature", SIGNATURE)):
        if words.casefold().startswith(term.casefold()):
            parcel.values["delivery_choice"] = code
            parcel.values["delivery_place"] = words[len(term) :].lstrip(" :-,")


def _read_term(text: str, term: str) -> str:
    """Return the term that a cell chooses, with any other text, or "" for a no."""
    if not is_yes(text):
        return ""
    return term if normalise_name(text) in {*YES, normalise_name(term)} else f"{term}: {text}"


STEPS: tuple[Callable[[ParcelValues], None], ...] = (
    _read_country,
    _restore_numbers,
    _join_names,
    _join_lines,
    _convert_amounts,
    _choose_delivery,
)
