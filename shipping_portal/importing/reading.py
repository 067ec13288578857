"""What a file or a paste holds: its encoding, its delimiter, its header and its rows, or why it cannot be read."""

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from shipping_portal.accounts.places import normalise
from shipping_portal.importing import workbooks
from shipping_portal.sheets import STARTS_A_FORMULA

MOST_ROWS = 2000
MOST_COUNTED = 20_000  # more rows: how many there are is no news
MOST_COLUMNS = 200
MOST_BYTES = 2 * 1024 * 1024  # of a workbook too, packed
LONGEST_CELL = 2000
LONGEST_HEADER = 20_000
DELIMITERS = (",", "\t", ";", "|")
REASON = "Reason"  # the last column of the failed rows, which come back
TOO_LARGE = "This file is larger than 2 MB. Split it and import the parts one after the other."
SAVE_AS = "In your spreadsheet choose Save as, then CSV, and upload that file."
NO_TABLES = {
    b"\xd0\xcf\x11\xe0": f"This is an old Excel workbook, or one with a password. {SAVE_AS}",
    b"%PDF": "This is a PDF. Export your orders as CSV, and upload that file.",
    b"\x89PNG": "This is a picture. Export your orders as CSV, and upload that file.",
    b"\xff\xd8\xff": "This is a picture. Export your orders as CSV, and upload that file.",
}
AS_TEXT = re.compile(r'="([^"]*)"')  # how some exports keep the zero of 0800
AS_TEXT_TOO = re.compile(r"'([0-9][0-9 ()+.-]*)")  # how others do: '0800, also before a phone number
BELOW = re.compile(r"(?:[\d,]+ ?)?record\(s\) downloaded\b|seller id ?:", re.IGNORECASE | re.ASCII)
MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


class UnreadableFile(Exception):
    """The file cannot be imported; the sentence tells its sender why and what to do."""


@dataclass(frozen=True)
class Sheet:
    """A table as typed. `rows` are those with anything in them, by the numbers that a spreadsheet gives them.

    A workbook's `encoding` is xlsx; it has no `delimiter`.
    `dropped` are lines that a shop wrote below its orders, such as how many there are.
    """

    header: list[str]
    rows: dict[int, list[str]]
    encoding: str
    delimiter: str
    sha256: str
    dropped: tuple[str, ...] = ()

    @property
    def filled(self) -> list[int]:
        """The columns with anything in them below the header."""
        return sorted({place for row in self.rows.values() for place, cell in enumerate(row) if cell.strip()})

    @property
    def fingerprint(self) -> str:
        """Names the header: files of the same shop have the same, and failed rows that come back too."""
        names = [normalise(name) for name in self.header]
        return hashlib.sha256(
            "\x1f".join(names[:-1] if names[-1:] == [normalise(REASON)] else names).encode()
        ).hexdigest()


def read(data: bytes) -> Sheet:
    """Return the table in these bytes. Raises UnreadableFile; nothing is guessed that cannot be told."""
    if len(data) > MOST_BYTES:
        raise UnreadableFile(TOO_LARGE)
    lines, encoding, delimiter = _table(data)
    _, names = next(lines, (0, []))
    if not names:
        raise UnreadableFile("This file is empty.")
    if len(names) > MOST_COLUMNS:
        raise UnreadableFile(f"This file has {len(names):,} columns. One import takes at most {MOST_COLUMNS}.")
    header = [_plain(name).strip() or f"Column {place}" for place, name in enumerate(names, start=1)]
    dropped: list[str] = []
    rows = _rows(_without_what_is_below(lines, dropped), len(header))
    return Sheet(header, rows, encoding, delimiter, hashlib.sha256(data).hexdigest(), tuple(dropped))


def _table(data: bytes) -> tuple[Iterator[tuple[int, list[str]]], str, str]:
    """Return the lines of the table, its encoding and the sign between its cells."""
    if data.startswith(workbooks.SIGNATURE):
        return _of_workbook(data), "xlsx", ""
    text, encoding = _text(data)
    delimiter, body = _delimiter(text)
    return _lines(body, delimiter), encoding, delimiter


def _of_workbook(data: bytes) -> Iterator[tuple[int, list[str]]]:
    try:
        yield from workbooks.lines(data, MOST_COLUMNS, 1 + MOST_ROWS + MOST_COUNTED)
    except workbooks.BadWorkbook as error:
        raise UnreadableFile(str(error)) from error


def _text(data: bytes) -> tuple[str, str]:
    for start, sentence in NO_TABLES.items():
        if data.startswith(start):
            raise UnreadableFile(sentence)
    marked = next((name for mark, name in MARKS.items() if data.startswith(mark)), "")
    if not marked and b"\x00" in data:
        raise UnreadableFile(f"This file holds binary data, so it is not a CSV file. {SAVE_AS}")
    for encoding in [marked] if marked else ["utf-8", "cp1252"]:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
        else:
            if "\x00" in text:
                raise UnreadableFile(f"This file holds binary data, so it is not a CSV file. {SAVE_AS}")
            return text, encoding
    raise UnreadableFile(
        f"A character on line {line} cannot be read. In your spreadsheet choose Save as, then “CSV UTF-8”."
    )


def _delimiter(text: str) -> tuple[str, str]:
    """Return the sign between cells, and the text without the line by which some spreadsheets name it."""
    named = re.match(r"sep=([,;\t|])\r?\n", text, re.IGNORECASE)
    if named:
        return named[1], text[named.end() :]
    bare = re.sub(r'"(?:[^"]|"")*"', "x", text[:LONGEST_HEADER])
    first = next((line for line in bare.splitlines() if line.strip()), "")
    seen = Counter(first)
    return max(DELIMITERS, key=lambda sign: seen[sign]), text


def _lines(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and cells of each line with anything in it. Blank ones count, as they do in a spreadsheet."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for number, line in enumerate(reader, start=1):
            if any(map(str.strip, line)):
                yield number, line
    except csv.Error as error:
        if "field limit" in str(error):
            raise UnreadableFile(
                f"A cell near line {reader.line_num} has more than {LONGEST_CELL:,} characters."
            ) from error
        raise UnreadableFile(
            f"The quotation marks near line {max(reader.line_num, 1)} don't pair up, so it is unclear where a cell "
            "ends. Put the line right and upload the file again."
        ) from error


def _without_what_is_below(
    lines: Iterator[tuple[int, list[str]]], dropped: list[str]
) -> Iterator[tuple[int, list[str]]]:
    """Leave out, and add to `dropped`, what eBay writes below the orders; files put together have it in between."""
    for number, line in lines:
        filled = [cell.strip() for cell in line if cell.strip()]
        if BELOW.match(" ".join(filled)):
            dropped.append(" ".join(filled)[:80])
        else:
            yield number, line


def _rows(lines: Iterator[tuple[int, list[str]]], width: int) -> dict[int, list[str]]:
    """Return as many rows as one import takes; some more are only counted."""
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
            f"This file has {many}{len(rows) + beyond:,} rows. One import takes at most {MOST_ROWS:,}: split the file "
            "and import the parts one after the other."
        )
    if not rows:
        raise UnreadableFile("This has a first line but no rows below it. The first line names the columns.")
    return rows


def _row(number: int, line: list[str], width: int) -> list[str]:
    """Return the cells of a row, without blank ones beyond the header's; what no column can be is one more cell."""
    while len(line) > width and not line[-1].strip():
        line.pop()
    if further := line[MOST_COLUMNS:]:
        line = [*line[:MOST_COLUMNS], " ".join(further)[:LONGEST_CELL]]
    if any(len(cell) > LONGEST_CELL for cell in line):
        raise UnreadableFile(f"A cell on row {number} has more than {LONGEST_CELL:,} characters. Shorten it.")
    return [_plain(cell) for cell in line]


def _plain(cell: str) -> str:
    """Return the cell without what keeps spreadsheets from calculating or shortening it; formulas stay text."""
    if not cell.startswith(("=", "'")):
        return cell
    if as_text := AS_TEXT.fullmatch(cell) or AS_TEXT_TOO.fullmatch(cell):
        return as_text[1]
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(STARTS_A_FORMULA) else cell
