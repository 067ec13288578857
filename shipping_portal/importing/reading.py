"""Read a file or paste: its encoding, delimiter, header and rows, or why it is unreadable."""

import hashlib
import html
import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from shipping_portal.accounts.address.text import normalise_name
from shipping_portal.importing import encodings, headings, workbooks
from shipping_portal.importing.delimited import (
    LONGEST_CELL,
    MOST_ABOVE,
    Lines,
    UnreadableFile,
    find_delimiter,
    has_quotes,
    read_lines,
    read_unquoted,
)
from shipping_portal.importing.headings import split_words
from shipping_portal.importing.units import UNIT_OF
from shipping_portal.sheets import STARTS_A_FORMULA

Notes = dict[str, Any]  # see notes.py

MOST_ROWS = 2000
MARKED = ("=", "'")  # how a cell begins if its text must not be calculated
MOST_COUNTED = 20_000  # beyond this, the number of rows doesn't matter
MOST_COLUMNS = 200
LONGEST_NAME = 300  # characters of a column's name, which the next page shows for each field
MOST_BEYOND = 20  # cells beyond the header's; any more count as one
MOST_BYTES = 2 * 1024 * 1024  # bytes, also for a packed workbook
REASON = "Reason"  # the last column of an uploaded sheet of failed rows
TOO_LARGE = "This file is larger than 2 MB. Split it and import the parts one after the other."
NAME_TOO_LONG = (
    f"The name of a column has more than {LONGEST_NAME} characters. The first line has to name the"
    " columns: shorten their names, or add that line."
)
SAVE_AS = "In your spreadsheet choose Save as, then CSV, and upload that file."
NO_TABLES = {
    b"\xd0\xcf\x11\xe0": f"This is an old Excel workbook, or one with a password. {SAVE_AS}",
    b"%PDF": "This is a PDF. Export your orders as CSV, and upload that file.",
    b"\x89PNG": "This is a picture. Export your orders as CSV, and upload that file.",
    b"\xff\xd8\xff": "This is a picture. Export your orders as CSV, and upload that file.",
}
WEB_PAGE = f"This is a web page or XML, even if its name ends in .xls. {SAVE_AS}"
NOT_ROWS = {
    r"<(?:!|\?|html|head|meta|style|table|div)": WEB_PAGE,
    r"\[?\s*\{\s*[\"}]": "This is JSON. Export your orders as CSV, and upload that file.",
    r"BEGIN:VCARD": "These are contact cards. Export your contacts as CSV, and upload that file.",
}
AS_TEXT = re.compile(r'="([^"]*)"')  # how some exports keep the leading zero of 0800
# How other exports do: '0800, and also before a phone number, a postcode with letters, or a street
# such as '1/2 High St, which would become a date; but not in '90s posters.
AS_TEXT_TOO = re.compile(
    r"'([0-9][0-9 ()+.-]*|[A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z][0-9A-Z]"
    r"|[0-9]+[A-RT-Z]?(?:[/-][0-9]+[A-RT-Z]?)*(?: (?:[^']|'(?=\w))+)?)",
    re.IGNORECASE,
)
# What shops write for a web page: O&#039;Brien, salt &amp; pepper, 1 High St<br />Unit 4.
FOR_A_WEB_PAGE = re.compile(r"&(?:#?[0-9a-z]{2,8});|<br ?/?>", re.IGNORECASE)
MOST_ESCAPED = 3  # how many times in a row
BELOW = re.compile(r"(?:[\d,]+ ?)?record\(s\) downloaded\b|seller id ?:", re.IGNORECASE | re.ASCII)
# texts below the names of a template's columns
HINTS = frozenset(("required", "optional", "mandatory"))
MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


# What programs write into empty cells.
NOTHING = frozenset(
    split_words(
        "NULL, null, (null), <null>, [null], N/A, n/a, n.a., N.A., NA, <NA>, nan, NaN, NAN, NaT,"
        "None, none, (none), nil, NIL, undefined, (blank), (empty), \\N,"
        "-, --, –, —, ., .., ..."
    )
)
# What a spreadsheet shows if it could not compute a cell, and a shop if it could not fill it.
NOT_COMPUTED = re.compile(
    r"\{\{|\[object |\bundefined\b|\w null$"
    r"|#(?:REF!|N/A|VALUE!|DIV/0!|NAME\?|NULL!|NUM!|SPILL!|CALC!|FIELD!|BLOCKED!|CONNECT!|UNKNOWN!|BUSY!|EXTERNAL!"
    r"|PYTHON!|TIMEOUT!|GETTING_DATA|ERROR!)|Err:5[0-9][0-9]"
)


@dataclass(frozen=True)
class Sheet:
    """A table as typed.

    `rows` holds the rows that aren't empty, by their number in the spreadsheet.

    A workbook's `encoding` is xlsx, without a `delimiter`. `dropped` holds lines that a shop wrote
    below its orders, such as their count. `notes` report how it was read, see notes.py.
    """

    header: list[str]
    rows: dict[int, list[str]]
    encoding: str
    delimiter: str
    sha256: str
    dropped: tuple[str, ...] = ()
    notes: Notes = field(default_factory=dict)

    @property
    def filled(self) -> list[int]:
        """Return the columns that aren't empty below the header."""
        found: set[int] = set()
        for row in self.rows.values():
            found.update(
                place for place, cell in enumerate(row) if place not in found and cell.strip()
            )
        return sorted(found)

    @property
    def fingerprint(self) -> str:
        """Return a hash of the header, the same for a shop's files and for their failed rows."""
        names = [normalise_name(name) for name in self.header]
        return hashlib.sha256(
            "\x1f".join(names[:-1] if names[-1:] == [normalise_name(REASON)] else names).encode()
        ).hexdigest()


def read(data: bytes) -> Sheet:
    """Return the table in these bytes. Raises UnreadableFile instead of guessing."""
    if len(data) > MOST_BYTES:
        raise UnreadableFile(TOO_LARGE)
    notes: Notes = {}
    lines, encoding, delimiter = _table(data, notes)
    dropped: list[str] = []
    names, lines = _header(lines, dropped)
    if max(map(len, names), default=0) > LONGEST_NAME:
        raise UnreadableFile(NAME_TOO_LONG)
    names, lines = _with_units(names, lines, dropped)
    if not names:
        raise UnreadableFile("This file is empty.")
    if len(names) > MOST_COLUMNS:
        raise UnreadableFile(
            f"This file has {len(names):,} columns. One import takes at most {MOST_COLUMNS}."
        )
    header = [
        _clean_cell(name).strip() or f"Column {place}" for place, name in enumerate(names, start=1)
    ]
    rows = _rows(_without_what_is_below(lines, names, dropped), len(header))
    _note_cells(rows, notes)
    return Sheet(
        header, rows, encoding, delimiter, hashlib.sha256(data).hexdigest(), tuple(dropped), notes
    )


def _header(lines: Lines, dropped: list[str]) -> tuple[list[str], Lines]:
    """Return the column names and the lines below them.

    A title or names of column groups above them are left out and added to `dropped`. These lines
    have at most half as many filled cells as a line below them without a number or address. A file
    may have a title, groups and names.
    """
    top = list(islice(lines, MOST_ABOVE))
    if not top:
        return [], lines
    at = 0
    for below, (_, line) in enumerate(top):
        if _is_of_names(line) and len(_filled(line)) >= 2 * len(_filled(top[at][1])):
            at = below
    dropped += [" ".join(_filled(line))[:80] for _, line in top[:at]]
    return top[at][1], chain(top[at + 1 :], lines)


def _with_units(names: list[str], lines: Lines, dropped: list[str]) -> tuple[list[str], Lines]:
    """Add units from a separate line below the names to the names: “Weight (g)”."""
    first = list(islice(lines, 1))
    cells = [cell.strip(" ()[].") for cell in first[0][1]] if first else []
    units = {at: cell for at, cell in enumerate(cells) if cell}
    are_units = all(at < len(names) and cell.casefold() in UNIT_OF for at, cell in units.items())
    words = {word for at in units if are_units for word in headings.plain(names[at]).split()}
    if not units or not are_units or words & UNIT_OF.keys():  # the names already have units
        return names, chain(first, lines)
    dropped.append(" ".join(units.values()))
    return [
        f"{name} ({units[at]})" if at in units else name for at, name in enumerate(names)
    ], lines


def _filled(line: list[str]) -> list[str]:
    return [text for cell in line if (text := cell.strip())]


def _is_of_names(line: list[str]) -> bool:
    """Return whether a line may hold column names: at least three words, no number or address."""
    names = [cell.casefold() for cell in _filled(line)]
    return len(names) >= 3 and len({*names}) == len(names) and all(map(_may_name_a_column, names))


def _may_name_a_column(text: str) -> bool:
    """Return whether a cell has words, but no number or email."""
    return "@" not in text and not text[:1].isdigit() and any(map(str.isalpha, text))


def _note_cells(rows: dict[int, list[str]], notes: Notes) -> None:
    """Record words that mean an empty cell, and the first letters open to another reading."""
    words = Counter(cell for row in rows.values() for cell in row if cell in NOTHING)
    if words:
        notes["blanks"], notes["blank_words"] = words.total(), sorted(words)
    if "letters" in notes:
        letters = (
            (number, at)
            for number, row in rows.items()
            for at, cell in enumerate(row)
            if not cell.isascii()
        )
        notes["letters"] = list(islice(letters, 2))


def _table(data: bytes, notes: Notes) -> tuple[Lines, str, str]:
    """Return the table's lines, its encoding and its delimiter."""
    if data.startswith(workbooks.SIGNATURE):
        return _of_workbook(data, notes), "xlsx", ""
    text, encoding = _text(data, notes)
    delimiter, body = find_delimiter(text)
    if delimiter == "\t" and not has_quotes(body):
        return read_unquoted(body), encoding, delimiter
    return read_lines(body, delimiter, notes), encoding, delimiter


def _of_workbook(data: bytes, notes: Notes) -> Lines:
    try:
        table = workbooks.read(data, MOST_COLUMNS, 1 + MOST_ROWS + MOST_COUNTED)
    except workbooks.BadWorkbook as error:
        raise UnreadableFile(str(error)) from error
    if table.hidden:
        notes["hidden_rows"] = sorted(
            table.hidden.intersection(number for number, _ in table.lines)
        )
    if columns := [at for at in range(MOST_COLUMNS) if table.is_hidden_column(at + 1)]:
        notes["hidden_columns"] = columns
    if table.other_sheets:
        notes["other_sheets"] = table.other_sheets
    return table.rows()


def _text(data: bytes, notes: Notes) -> tuple[str, str]:
    for start, sentence in NO_TABLES.items():
        if data.startswith(start):
            raise UnreadableFile(sentence)
    encoding = next((name for mark, name in MARKS.items() if data.startswith(mark)), "")
    if not encoding and b"\x00" in data:
        raise UnreadableFile(f"This file holds binary data, so it is not a CSV file. {SAVE_AS}")
    try:
        text, encoding = data.decode(encoding or "utf-8"), encoding or "utf-8"
    except UnicodeDecodeError as error:
        guessed = None if encoding else encodings.guess(data)
        if guessed is None:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise UnreadableFile(
                f"A character on line {line} cannot be read. In your spreadsheet choose Save as,"
                " then “CSV UTF-8”."
            ) from error
        text, encoding = guessed
        notes["letters"] = []
    text = text.replace("\ufeff", "")  # joined files each begin with a mark
    if "\x00" in text:
        raise UnreadableFile(f"This file holds binary data, so it is not a CSV file. {SAVE_AS}")
    text = text.removesuffix("\x1a")  # old programs end a file with this
    top = text[:LONGEST_CELL].lstrip()
    for pattern, sentence in NOT_ROWS.items():
        if re.match(pattern, top, re.IGNORECASE):
            raise UnreadableFile(sentence)
    before = encodings.decoded_back(text)
    if before != text:
        notes["letters"], notes["decoded_back"] = [], True
    return before, encoding


def _without_what_is_below(lines: Lines, names: list[str], dropped: list[str]) -> Lines:
    """Drop what eBay writes below the orders, and repeated headers; add both to `dropped`.

    Concatenated files have both in the middle. A line that describes the columns follows their
    names.
    """
    again, is_first = _filled(names), True
    for number, line in lines:
        filled = _filled(line[:MOST_COLUMNS])
        if (
            filled == again
            or BELOW.match(" ".join(filled))
            or (is_first and _is_like_a_header(names, line))
        ):
            dropped.append(" ".join(filled)[:80])
        else:
            is_first = False
            yield number, line


def _is_like_a_header(names: list[str], line: list[str]) -> bool:
    """Return whether half of these cells describe their columns.

    “Current order status.”, “Required”.
    """
    pairs = [
        (normalise_name(name), normalise_name(cell))
        for name, cell in zip(names, line, strict=False)
        if cell.strip()
    ]
    about = [
        cell
        for name, cell in pairs
        if cell in HINTS or (name and name != cell and f" {name} " in f" {cell} ")
    ]
    return len(about) >= 3 and 2 * len(about) >= len(pairs)


def _rows(lines: Lines, width: int) -> dict[int, list[str]]:
    """Return as many rows as one import takes, and count a few more."""
    rows: dict[int, list[str]] = {}
    beyond = 0
    for number, line in lines:
        if len(rows) == MOST_ROWS:
            beyond += 1
        else:
            rows[number] = _row(number, line, width)
        if beyond == MOST_COUNTED:
            break
    if beyond:
        many = "more than " if beyond == MOST_COUNTED else ""
        raise UnreadableFile(
            f"This file has {many}{len(rows) + beyond:,} rows. One import takes at most"
            f" {MOST_ROWS:,}: split the file and import the parts one after the other."
        )
    if not rows:
        raise UnreadableFile(
            "This has a first line but no rows below it. The first line names the columns."
        )
    return rows


def _row(number: int, line: list[str], width: int) -> list[str]:
    """Return a row's cells, without blank ones beyond the header. Cells far beyond become one."""
    while len(line) > width and not line[-1].strip():
        line.pop()
    if further := line[width + MOST_BEYOND :]:
        line = [*line[: width + MOST_BEYOND], " ".join(further)[:LONGEST_CELL]]
    if max(map(len, line), default=0) > LONGEST_CELL:
        raise UnreadableFile(
            f"A cell on row {number} has more than {LONGEST_CELL:,} characters. Shorten it."
        )
    return [
        _clean_cell(cell) if cell.startswith(MARKED) or "&" in cell or "<" in cell else cell
        for cell in line
    ]


def _clean_cell(cell: str) -> str:
    """Return the cell as people see it, without marks that prevent calculating or shortening.

    Formulas stay text.
    """
    for _ in range(MOST_ESCAPED):
        cell = FOR_A_WEB_PAGE.sub(_seen, cell)
    if as_text := AS_TEXT.fullmatch(cell) or AS_TEXT_TOO.fullmatch(cell):
        return as_text[1]
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(STARTS_A_FORMULA) else cell


def _seen(found: re.Match[str]) -> str:
    return "\n" if found[0].startswith("<") else html.unescape(found[0])
