"""Read a row's cells by our fields. Each kind of cell has one step that reads it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from shipping_portal.accounts.address import countries
from shipping_portal.accounts.address.text import normalise_name, normalise_text
from shipping_portal.importing import currencies, headings, items, shops, synonyms, units
from shipping_portal.importing.columns import (
    ADDRESS,
    AMOUNTS,
    COVER,
    CURRENCY,
    OF_LINE,
    OF_PIECE,
    OUNCES,
    PICKUP_DAY,
    PRICES,
)
from shipping_portal.importing.headings import split_words
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.importing.reading import NOTHING
from shipping_portal.importing.shop_words import NO
from shipping_portal.importing.units import DIMENSIONS, SIZES, WEIGHT

LINE_ENDS = re.compile(r"[\r\n]+")  # a two-line address in one cell is one line of ours
ADDRESS_PARTS = re.compile(r"[,\r\n]+|  +")
POSTCODE = re.compile(r"[0-9]{4,5}(?:-[0-9]{4})?|[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]", re.ASCII)
# What marketplaces write instead of a buyer's address.
NO_EMAIL = frozenset(
    split_words("invalid request, not available, unavailable, no email, none, n a, na, unknown, 0")
)
# “1,5” or “12,50”; “1,500” may be 1,500.
SHORT_DECIMALS = re.compile(r"[0-9]{1,9},[0-9]{1,2}(?![0-9.,])", re.ASCII)
# An email from a mail program: Pat Doe <pat@shop.example>, mailto:pat@shop.example.
AMONG = re.compile(r"(?:[^<>@]*+<|mailto:)([^<>@\s,;]++@[^<>@\s,;]++)>?[.,; ]*+", re.IGNORECASE)
NUMBERS = {*AMOUNTS, *units.MEASURES, OUNCES}
OF_AN_ITEM = {*items.OWN, "item_1_quantity", "item_1_origin", WEIGHT}
LAST_FIRST = re.compile(r"[^\W\d]+(?:[-’'][^\W\d]+)*, *[^\W\d]+(?:[-’'][^\W\d]+)*(?: [A-Z])?\.?")
NOT_FIRST = frozenset(
    split_words("inc, llc, ltd, limited, pty, co, corp, plc, gmbh, jr, sr, ii, iii, md, phd")
)


@dataclass(frozen=True)
class CellsOfRow:
    """A row being read. `values` holds what has been read so far, by our field.

    `head` is the first row of its parcel.
    """

    row: ImportRow
    head: ImportRow
    file: Import
    values: dict[str, str]


def read_lines(row: ImportRow, file: Import) -> list[dict[str, str]]:
    """Return the values of this row by our field, then those of the rows joined to it.

    Items of a partly sent order that are never sent are left out.
    """
    rows = row.of_parcel
    values = [_read(one, row, file) for one in rows]
    sent = [shops.is_sent(file.header, one.cells, row.cells) for one in rows]
    if any(sent):
        for line, is_sent in zip(values, sent, strict=True):
            for name in () if is_sent else OF_AN_ITEM & line.keys():
                del line[name]
    return values


def _read(row: ImportRow, head: ImportRow, file: Import) -> dict[str, str]:
    found = {
        name: _on_one_line(row.cells[place], ", " if name.startswith("receiver_line") else " ")
        for name, place in file.columns.items()
        if place < len(row.cells)
    }
    values = {name: text for name, text in found.items() if text and text not in NOTHING}
    if found.get("receiver_country") == "NA":  # Namibia
        values["receiver_country"] = "NA"
    values.pop(PICKUP_DAY, "")  # isn't a field of the form: see pickup_days.py
    line = CellsOfRow(row, head, file, values)
    for read in STEPS:
        read(line)
    return values


def _on_one_line(text: str, between: str) -> str:
    return between.join(filter(None, map(str.strip, LINE_ENDS.split(normalise_text(text)))))


def _read_decimal_signs(line: CellsOfRow) -> None:
    """Read a decimal comma as a dot: in a sheet with semicolons, or before one or two digits.

    A spreadsheet's “2.0” pieces are 2.
    """
    for name in NUMBERS & line.values.keys():
        text = line.values[name]
        if line.file.delimiter == ";" or SHORT_DECIMALS.match(text):
            line.values[name] = units.with_dot(text)
    if quantity := line.values.get("item_1_quantity"):
        line.values["item_1_quantity"] = shops.whole(quantity)


def _read_whole_address(line: CellsOfRow) -> None:
    """Read the parts of an address in one cell, if they have no separate columns."""
    if text := line.values.pop(ADDRESS, ""):
        typed = line.row.cells[line.file.columns[ADDRESS]]
        line.values.update(split_address(text, typed, line.file.sender.country) | line.values)


def _read_weight(line: CellsOfRow) -> None:
    """Read a weight with its unit, and ounces in the column next to it."""
    if ounces := line.values.pop(OUNCES, ""):
        line.values[WEIGHT] = f"{line.values.get(WEIGHT, '0')} lb {ounces} oz"
    if WEIGHT in line.values:
        unit = units.of_cell(WEIGHT, line.row, line.file)
        line.values[WEIGHT] = units.with_unit(line.values[WEIGHT], unit)


def _read_three_sides(line: CellsOfRow) -> None:
    """Read three sides in one cell, if no side has its own column."""
    text = line.values.pop(DIMENSIONS, "")
    if text and line.values.keys().isdisjoint(SIZES):
        line.values.update(units.sides(text, units.of_cell(DIMENSIONS, line.row, line.file)))


def _read_receiver(line: CellsOfRow) -> None:
    """Read an email unless the cell says there is none, and names written last name first."""
    email = line.values.get("receiver_email", "")
    if normalise_name(email) in NO_EMAIL:
        del line.values["receiver_email"]
    elif among := AMONG.fullmatch(email):
        line.values["receiver_email"] = among[1]
    if name := line.values.get("receiver_name"):
        heading = headings.plain(line.file.header[line.file.columns["receiver_name"]])
        is_last_first = heading == synonyms.LAST_FIRST
        line.values["receiver_name"] = _first_name_first(name, is_stated=is_last_first)


def _read_amounts(line: CellsOfRow) -> None:
    """Read amounts with their currency, and values per piece.

    The currency is the cell's, the row's or the column's.
    """
    shared = line.head.cell(line.file.columns.get(CURRENCY))
    currency = line.values.pop(CURRENCY, "") or ("" if shared in NOTHING else shared)
    if normalise_name(line.values.get(COVER, "")) in NO:
        line.values.pop(COVER, "")
    for name in AMOUNTS & line.values.keys():
        number, code = currencies.read(line.values[name])
        stated = currency or currencies.currency_in_name(line.file.header[line.file.columns[name]])
        if code := code or currencies.currency_of(stated):
            line.values[name] = f"{code} {number}"
    if "item_1_value" in line.values:
        line.values["item_1_value"] = _value_of_one(line)


STEPS: tuple[Callable[[CellsOfRow], None], ...] = (
    _read_decimal_signs,
    _read_whole_address,
    _read_weight,
    _read_three_sides,
    _read_receiver,
    _read_amounts,
)


def _value_of_one(line: CellsOfRow) -> str:
    """Return the value of a single piece.

    How to read it is known from the shop, the column's name, a total next to it or the sender.
    """
    text, times = line.values["item_1_value"], line.values.get("item_1_quantity", "")
    header, cells, place = line.file.header, line.row.cells, line.file.columns["item_1_value"]
    answer = line.file.constants.get(PRICES)
    if shops.is_price_of_line(header, place):
        times = shops.whole(shops.pieces_per_price(header, cells)) or times
        return currencies.of_one(text, times)
    is_of_one = times in ("", "0", "1") or answer == OF_PIECE
    if is_of_one or shops.is_price_of_piece(header, place):
        return text
    number, total = (currencies.read(one)[0] for one in (text, shops.total_of_line(header, cells)))
    if answer == OF_LINE or (total and currencies.is_times(total, number, "1")):
        return currencies.of_one(text, times)
    if total and currencies.is_times(total, number, times):
        return text
    return f"{text} of one or of {times}"


def split_address(line: str, cell: str, home: str) -> dict[str, str]:
    """Return the parts of a one-cell address that ends like “Brunswick VIC 3056”.

    Anything else counts as a street, so that the form asks for the rest.
    """
    parts = [
        part.strip(" .") for part in ADDRESS_PARTS.split(normalise_text(cell)) if part.strip(" .")
    ]
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
            found = {
                "receiver_line1": street.replace(" ,", ",") if comma else "",
                "receiver_suburb": suburb,
                "receiver_state": state,
                "receiver_postcode": " ".join(words[-at:]),
                "receiver_country": code,
            }
            return {name: text for name, text in found.items() if text or name == "receiver_suburb"}
    return {"receiver_line1": line}


def _first_name_first(text: str, *, is_stated: bool) -> str:
    """Return Jane Doe for “Doe, Jane”.

    It is one if the column says so, or if both parts are single words and not a company.
    """
    last, comma, first = text.partition(",")
    is_a_person = LAST_FIRST.fullmatch(text) and normalise_name(first) not in NOT_FIRST
    if not comma or not (is_stated or is_a_person):
        return text
    return f"{first.strip()} {last.strip()}".strip()
