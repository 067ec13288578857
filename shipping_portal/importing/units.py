"""Read a file's units from headers and cells, and convert them to those of the parcel form."""

import re
from collections.abc import Collection, Mapping, Sequence
from decimal import ROUND_UP, Decimal

from orders.drafting.form_fields import PLAIN_NUMBER
from orders.drafting.forms import SIZES, UNITS
from shipping_portal.carrier.writing import CENTIMETRES, KILOGRAMS
from shipping_portal.importing import headings
from shipping_portal.importing.models import Import, ImportRow

Table = Mapping[str, Decimal]  # units of one kind, by the size of one

WEIGHT = "weight"
WEIGHT_UNIT, SIZE_UNIT = "weight_unit", "size_unit"  # chosen for all rows, or given by a column
WEIGHTS: Table = KILOGRAMS
# Parcels aren't entered or sent in mm or m, so a file's measures are converted when its rows are
# read.
LENGTHS: Table = {
    "mm": Decimal("0.1"),
    "cm": CENTIMETRES["cm"],
    "m": Decimal(100),
    "in": CENTIMETRES["in"],
}
TABLES = {WEIGHT_UNIT: WEIGHTS, SIZE_UNIT: LENGTHS}
MEASURES = {WEIGHT: WEIGHT_UNIT} | dict.fromkeys(SIZES, SIZE_UNIT)
DIMENSIONS = "dimensions"  # a column with all three sides in one cell
KINDS = {**MEASURES, DIMENSIONS: SIZE_UNIT}
# The three-letter codes are those of electronic trade (UN/ECE).
NAMES = {
    "kg": "kg kgs kilo kilos kilogram kilograms kgm",
    "g": "g gr gm gms gram grams grm",
    "lb": "lb lbs pound pounds lbr",
    "oz": "oz ounce ounces onz",
    "cm": "cm cms centimetre centimetres centimeter centimeters",
    "mm": "mm mms millimetre millimetres millimeter millimeters",
    "m": "m metre metres meter meters",
    "in": "in inch inches",
}
UNIT_OF = {name: unit for unit, names in NAMES.items() for name in names.split()}
# only one of these marks, at the end: several are quotation marks
INCHES = re.compile(r"""([^"″”]*)(?:["″”]|'')(\W*)""")
TRAILING = re.compile(r"^([0-9]{1,9}\.[0-9]{3})0{1,9}$", re.ASCII)
COMMA = re.compile(r"^([0-9]{1,9}),([0-9]{1,6})(?![0-9.,])", re.ASCII)
CELL = re.compile(r"([0-9.,]*[0-9])\s*(\D*)", re.ASCII)
# Each repeat is bounded: a cell of a million digits takes linear time.
PAIR = re.compile(
    r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s{0,3}([a-z]{1,12})\.?(?:\s{0,3},)?(?:\s{1,3}and\b)?\s{0,3}",
    re.ASCII | re.IGNORECASE,
)
SIDE = (
    r"(?:([LWHD])\s*+(?:[:=]\s*+)?)?([0-9]++(?:\.[0-9]++)?)\s*+"
    r"""([CM]?M|INCHES|INCH|IN|["″”]|'')?\s*+(?:([LWHD])\b)?+"""
)
OF_LETTER = dict(zip("LWH", SIZES, strict=True))
BLANK = r"(?:\s++|(?<=\s))"
# The same sign must occur twice: “30,5 x 20” has two sides, and so does “1,200 x 80”.
THREE_SIDES = re.compile(
    rf"\(?{SIDE}(?:\s*+([X×*/,;]|BY)\s*+|{BLANK}){SIDE}(?(5)\s*+\5\s*+|{BLANK}){SIDE}\)?",
    re.IGNORECASE,
)
PLACES = Decimal("0.001")  # as many as the parcel form takes
LONGEST = 12
READ_AS = "read_as_"  # prefix of a kind of unit among the constants: overrides the columns' names
UNSAID = "(unit?)"  # in no table, so that the form rejects the measure


def unit_in_text(text: str, table: Collection[str]) -> str:
    """Return the only unit from this table in a text, such as mm in “Length (mm)”, or ""."""
    found = {unit for unit in map(UNIT_OF.get, _normalised_words(text)) if unit in table}
    return str(found.pop()) if len(found) == 1 else ""


def words_without_units(text: str, table: Table) -> str:
    """Return the normalised words without units of this table: “Length (mm)” is length."""
    return " ".join(word for word in _normalised_words(text) if UNIT_OF.get(word) not in table)


def convert(text: str, unit: str, wanted: str, table: Table) -> str:
    """Return the number in the wanted unit, to three decimals.

    A unit in the cell overrides the column's.

    Other text stays as typed, with its unit, so that the form rejects it.
    """
    number, unit = _read(text, unit, table)
    if not unit:
        return text
    if unit == wanted:
        return TRAILING.sub(r"\1", number)
    if wanted not in table or not _is_measure(number, unit, table):
        return f"{number} {unit}"
    return _format_number(Decimal(number) * table[unit] / table[wanted])


def sides(text: str, unit: str) -> dict[str, str]:
    """Return a cell's three sides, each with its unit; else the text, for the form to reject.

    They are in the order of their letters: “H10 x W20 x L30”.
    """
    found = THREE_SIDES.fullmatch(text.strip())
    marks = found.group(3, 8, 12) if found else ()
    named = {UNIT_OF.get(mark.casefold(), "in") for mark in marks if mark}
    if found is None or len(named) > 1:
        return {SIZES[0]: text}
    stated_unit = named.pop() if named else unit
    return {
        side: f"{number} {stated_unit}"
        for side, number in zip(_named_sides(found), found.group(2, 7, 11), strict=True)
    }


def _named_sides(found: re.Match[str]) -> Sequence[str]:
    """Return the sides by their letters, if each has one; a depth is the length or the height."""
    letters = "".join(found.group(one) or found.group(one + 3) or "" for one in (1, 6, 10)).upper()
    letters = letters.replace("D", "L" if "H" in letters else "H")
    return [OF_LETTER[one] for one in letters] if {*letters} == {*OF_LETTER} else SIZES


def with_dot(text: str) -> str:
    """Return the number with a dot instead of a decimal comma, used in sheets with semicolons."""
    return COMMA.sub(r"\1.\2", text)


def with_unit(text: str, unit: str) -> str:
    """Return the number with its unit, as typed or from the column."""
    cell = CELL.fullmatch(text.strip())
    return f"{text} {unit}" if cell and not cell[2] else text


def add_measures(texts: Sequence[str], times: Sequence[Decimal], table: Table) -> str:
    """Return the sum in the first unit, each measure times its count, or "" if one is invalid."""
    read = [_read(text, "", table) for text in texts]
    if not all(_is_measure(number, unit, table) for number, unit in read):
        return ""
    sums = [
        Decimal(number) * table[unit] * n for (number, unit), n in zip(read, times, strict=True)
    ]
    first = read[0][1]
    return f"{_format_number(sum(sums, Decimal(0)) / table[first])} {first}"


def of_columns(header: list[str], matched: Mapping[str, int], kind: str) -> dict[str, str]:
    """Return the units in the names of the columns matched to measures of this kind, by name."""
    names = [
        header[matched[name]] for name, its in KINDS.items() if its == kind and name in matched
    ]
    return {name: unit for name in names if (unit := unit_in_text(name, TABLES[kind]))}


def of_account(country: str) -> dict[str, str]:
    """Return the parcel form's units in this country, by kind."""
    return dict(zip(TABLES, UNITS[country], strict=True))


def of_cell(name: str, row: ImportRow, file: Import) -> str:
    """Return a measure's unit in this row, by the column's name, the unit column or the choice."""
    kind = KINDS[name]
    if read_as := file.constants.get(f"{READ_AS}{kind}"):
        return str(read_as)
    place = file.columns.get(name)
    by_name = unit_in_text(file.header[place], TABLES[kind]) if place is not None else ""
    unit = row.seen(file.columns.get(kind))
    in_row = unit_in_text(unit, TABLES[kind]) or unit
    contradicts = by_name and in_row and in_row != by_name
    if contradicts or (kind in file.columns and not (by_name or in_row)):
        return UNSAID  # two units, or none although other rows have one: we don't guess
    return by_name or in_row or _chosen_unit(kind, file)


def in_the_forms(
    constants: Mapping[str, str], values: Mapping[str, str], row: ImportRow, file: Import
) -> dict[str, str]:
    """Return a row's values, or those for all rows, with measures in the parcel form's units."""
    plain, own = {**constants, **values}, of_account(file.sender.country)
    for name in MEASURES.keys() & plain.keys():
        kind = MEASURES[name]
        unit = of_cell(name, row, file) if name in values else _chosen_unit(kind, file)
        plain[name] = convert(plain[name], unit, own[kind], TABLES[kind])
    return {name: text for name, text in plain.items() if name not in TABLES}


def _chosen_unit(kind: str, file: Import) -> str:
    return str(file.constants.get(kind) or of_account(file.sender.country)[kind])


def _read(text: str, unit: str, table: Table) -> tuple[str, str]:
    """Return a cell's number and unit; the unit is "" if there is no number or no such unit."""
    text = _in_one(text, table)
    cell = CELL.fullmatch(text.strip())
    if cell is None or any(map(str.isnumeric, cell[2])):  # 1½ lb isn't 1 lb
        return text, ""
    number = f"0{cell[1]}" if cell[1].startswith(".") else cell[1]
    return number, unit_in_text(cell[2].replace("#", "lb"), table) if cell[2] else unit


def _in_one(text: str, table: Table) -> str:
    """Return “1 lb 3 oz” in its first unit, rounded up: 1.188 lb. Other text unchanged."""
    pairs = [(number, unit_in_text(unit, table)) for number, unit in PAIR.findall(text)]
    if (
        len(pairs) < 2
        or PAIR.sub("", text).strip()
        or not all(_is_measure(*pair, table) for pair in pairs)
    ):
        return text
    first = pairs[0][1]
    whole = (
        sum((Decimal(number) * table[unit] for number, unit in pairs), Decimal(0)) / table[first]
    )
    return f"{whole.quantize(PLACES, ROUND_UP).normalize():f} {first}"


def _is_measure(number: str, unit: str, table: Table) -> bool:
    return unit in table and PLAIN_NUMBER.fullmatch(number) is not None and len(number) <= LONGEST


def _format_number(number: Decimal) -> str:
    return f"{number.quantize(PLACES).normalize():f}"


def _normalised_words(text: str) -> list[str]:
    """Return a header's normalised words. The “in” of “length in cm” isn't a unit."""
    inches = INCHES.fullmatch(text)
    spaced = (f"{inches[1]} inch {inches[2]}" if inches else text).replace(".", " ")
    words = headings.plain(spaced).split()
    pairs = zip(words, [*words, ""][1:], strict=True)
    return [word for word, after in pairs if word != "in" or after not in UNIT_OF]
