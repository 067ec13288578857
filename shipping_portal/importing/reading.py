"""What a file or a paste holds: its encoding, its delimiter, its header and its rows, or why it cannot be read."""

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from shipping_portal.accounts.address.text import normalise
from shipping_portal.importing import encodings, shops, workbooks
from shipping_portal.sheets import STARTS_A_FORMULA

MOST_ROWS = 2000
MOST_COUNTED = 20_000  # more rows: how many there are is no news
MOST_COLUMNS = 200
MOST_BYTES = 2 * 1024 * 1024  # of a workbook too, packed
LONGEST_CELL = 2000
LONGEST_HEADER = 20_000
LONGEST_LINE = 50_000  # that is read without its quotation marks
# Blank ones too. Each takes some ten microseconds where Python gives memory back after each, and takes it again.
MOST_LINES = 40_000
TOO_MANY_LINES = f"This file has more than {MOST_LINES:,} lines. Copy the rows to a new file and upload that."
MOST_BAD = 50  # lines that can't be read; with more, the file is something else
AMAZON = "Amazon"
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
# How others do: '0800, also before a phone number, and before a postcode with letters.
AS_TEXT_TOO = re.compile(r"'([0-9][0-9 ()+.-]*|[A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z][0-9A-Z])")
BELOW = re.compile(r"(?:[\d,]+ ?)?record\(s\) downloaded\b|seller id ?:", re.IGNORECASE | re.ASCII)
MOST_ABOVE = 10  # lines looked at for the names of the columns
HINTS = frozenset(("required", "optional", "mandatory"))  # below the names of a template's columns
MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


# What programs write into a cell that has nothing in it.
NOTHING = frozenset((
    "NULL", "null", "(null)", "N/A", "n/a", "n.a.", "N.A.", "nan", "NaN", "NAN", "None", "none", "nil", "NIL",
    "undefined", "-", "--", "–", "—", ".", "..", "...",
))  # fmt: skip
# What a spreadsheet shows where it could not compute a cell.
NOT_COMPUTED = re.compile(
    r"#(?:REF!|N/A|VALUE!|DIV/0!|NAME\?|NULL!|NUM!|SPILL!|CALC!|FIELD!|BLOCKED!|CONNECT!|UNKNOWN!|BUSY!|EXTERNAL!"
    r"|PYTHON!|TIMEOUT!|GETTING_DATA|ERROR!)|Err:5[0-9][0-9]"
)


class UnreadableFile(Exception):
    """The file cannot be imported; the sentence tells its sender why and what to do."""


@dataclass(frozen=True)
class Sheet:
    """A table as typed. `rows` are those with anything in them, by the numbers that a spreadsheet gives them.

    A workbook's `encoding` is xlsx; it has no `delimiter`.
    `dropped` are lines that a shop wrote below its orders, such as how many there are.
    `notes` are what its sender is told of the reading, see notes.py.
    """

    header: list[str]
    rows: dict[int, list[str]]
    encoding: str
    delimiter: str
    sha256: str
    dropped: tuple[str, ...] = ()
    notes: dict[str, Any] = field(default_factory=dict)

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
    notes: dict[str, Any] = {}
    lines, encoding, delimiter = _table(data, notes)
    dropped: list[str] = []
    names, lines = _header(lines, dropped)
    if not names:
        raise UnreadableFile("This file is empty.")
    if len(names) > MOST_COLUMNS:
        raise UnreadableFile(f"This file has {len(names):,} columns. One import takes at most {MOST_COLUMNS}.")
    header = [_plain(name).strip() or f"Column {place}" for place, name in enumerate(names, start=1)]
    rows = _rows(_without_what_is_below(lines, names, dropped), len(header))
    _note_cells(rows, notes)
    return Sheet(header, rows, encoding, delimiter, hashlib.sha256(data).hexdigest(), tuple(dropped), notes)


def _header(
    lines: Iterator[tuple[int, list[str]]], dropped: list[str]
) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the names of the columns and the lines below them.

    A title or the names of groups of columns above them are left out, and added to `dropped`: lines with half as many
    cells filled at most as a line below that has no number and no address in it.
    """
    top = list(islice(lines, MOST_ABOVE))
    if not top:
        return [], lines
    first = _filled(top[0][1])
    at = next(
        (at for at, (_, line) in enumerate(top) if _is_of_names(line) and len(_filled(line)) >= 2 * len(first)), 0
    )
    dropped += [" ".join(_filled(line))[:80] for _, line in top[:at]]
    return top[at][1], chain(top[at + 1 :], lines)


def _filled(line: list[str]) -> list[str]:
    return [cell.strip() for cell in line if cell.strip()]


def _is_of_names(line: list[str]) -> bool:
    """Return whether a line may name columns: three or more different words, no number and no address."""
    names = [cell.casefold() for cell in _filled(line)]
    return len(names) >= 3 and len({*names}) == len(names) and all(map(_may_name_a_column, names))


def _may_name_a_column(text: str) -> bool:
    """Return whether a cell holds words, no number and no email."""
    return "@" not in text and not text[:1].isdigit() and any(map(str.isalpha, text))


def _note_cells(rows: dict[int, list[str]], notes: dict[str, Any]) -> None:
    """Note the words that stand for nothing, and where the first letters stand that could have been read otherwise."""
    words = Counter(cell for row in rows.values() for cell in row if cell in NOTHING)
    if words:
        notes["blanks"], notes["blank_words"] = words.total(), sorted(words)
    if "letters" in notes:
        letters = ((number, at) for number, row in rows.items() for at, cell in enumerate(row) if not cell.isascii())
        notes["letters"] = list(islice(letters, 2))


def _table(data: bytes, notes: dict[str, Any]) -> tuple[Iterator[tuple[int, list[str]]], str, str]:
    """Return the lines of the table, its encoding and the sign between its cells."""
    if data.startswith(workbooks.SIGNATURE):
        return _of_workbook(data, notes), "xlsx", ""
    text, encoding = _text(data, notes)
    delimiter, body = _delimiter(text)
    if delimiter == "\t" and not _has_quotes(body):
        return _unquoted(body), encoding, delimiter
    return _lines(body, delimiter, notes), encoding, delimiter


def _of_workbook(data: bytes, notes: dict[str, Any]) -> Iterator[tuple[int, list[str]]]:
    try:
        table = workbooks.read(data, MOST_COLUMNS, 1 + MOST_ROWS + MOST_COUNTED)
    except workbooks.BadWorkbook as error:
        raise UnreadableFile(str(error)) from error
    if table.hidden:
        notes["hidden_rows"] = sorted(table.hidden.intersection(number for number, _ in table.lines))
    if columns := [at for at in range(MOST_COLUMNS) if table.is_hidden_column(at + 1)]:
        notes["hidden_columns"] = columns
    return table.rows()


def _text(data: bytes, notes: dict[str, Any]) -> tuple[str, str]:
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
                f"A character on line {line} cannot be read. In your spreadsheet choose Save as, then “CSV UTF-8”."
            ) from error
        text, encoding = guessed
        notes["letters"] = []
    if "\x00" in text:
        raise UnreadableFile(f"This file holds binary data, so it is not a CSV file. {SAVE_AS}")
    before = encodings.decoded_back(text)
    if before != text:
        notes["letters"], notes["decoded_back"] = [], True
    return before, encoding


def _delimiter(text: str) -> tuple[str, str]:
    """Return the sign between cells, and the text without the line by which some spreadsheets name it."""
    named = re.match(r"sep=([,;\t|])\r?\n", text, re.IGNORECASE)
    if named:
        return named[1], text[named.end() :]
    bare = re.sub(r'"(?:[^"]|"")*"', "x", text[:LONGEST_HEADER])
    top = [Counter(line) for line in bare.splitlines() if line.strip()][:MOST_ABOVE]
    seen = next((signs for signs in top if any(signs[sign] for sign in DELIMITERS)), Counter[str]())
    return max(DELIMITERS, key=lambda sign: seen[sign]), text


def _has_quotes(text: str) -> bool:
    """Return whether quotation marks around cells mean anything in this file with tabs.

    Spreadsheets write them. Amazon and others don't: there a title may begin with one, and end without. So they count
    only where all of the file can be read by them, and no cell then holds a tab and the end of a line.
    """
    if '"' not in text or shops.of(text[:LONGEST_HEADER].partition("\n")[0].rstrip("\r").split("\t")) == AMAZON:
        return False
    try:
        cells = chain.from_iterable(csv.reader(io.StringIO(text, newline=""), delimiter="\t", strict=True))
        return not any("\t" in cell and ("\n" in cell or "\r" in cell) for cell in cells)
    except csv.Error:
        return False


def _unquoted(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and cells of each line with anything in it: each tab parts two cells, each line is a row."""
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        if line.strip():
            yield number, line.rstrip("\n").split("\t")


def _lines(text: str, delimiter: str, notes: dict[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and cells of each line with anything in it. Blank ones count, as they do in a spreadsheet.

    A line that can't be read is a row to fix: what stands between its delimiters, and a note of it.
    """
    source = io.StringIO(text, newline="")
    number = bad = width = 0
    while True:
        begins = source.tell()
        reader = csv.reader(_line_by_line(source), delimiter=delimiter, strict=True)
        try:
            for line in reader:
                ends = source.tell()
                if _has_joined(line, delimiter) and _are_rows(text[begins:ends].splitlines(), delimiter, width):
                    raise csv.Error("two lines in one")
                number, begins = number + 1, ends
                if number > MOST_LINES:
                    raise UnreadableFile(TOO_MANY_LINES)
                width = width or len(line)
                if any(map(str.strip, line)):
                    yield number, line
            return
        except csv.Error as error:
            number, bad = number + 1, bad + 1
            source.seek(begins)
            written = source.readline()
            if bad > MOST_BAD or len(written) > LONGEST_LINE or number == 1:
                raise UnreadableFile(_why_unreadable(error, number)) from error
            notes.setdefault("bad_rows", []).append(number)
            yield number, written.rstrip("\r\n").split(delimiter)


def _has_joined(line: list[str], delimiter: str) -> bool:
    """Return whether a quoted cell holds a delimiter and a line end: then its marks may have joined two rows."""
    return any(delimiter in cell and len(cell.splitlines()) > 1 for cell in line)


def _are_rows(written: list[str], delimiter: str, width: int) -> bool:
    """Return whether each of these lines has as many cells as the header without its quotation marks."""
    return len(written) > 1 and all(one.count(delimiter) == width - 1 for one in written)


def _line_by_line(source: io.StringIO) -> Iterator[str]:
    """Yield the lines of a text that says how far it was read, which it doesn't while it is iterated over."""
    while line := source.readline():
        yield line


def _why_unreadable(error: csv.Error, number: int) -> str:
    if "field limit" in str(error):
        return f"A cell near line {number} has more than {LONGEST_CELL:,} characters."
    return (
        f"The quotation marks near line {number} don't pair up, so it is unclear where a cell "
        "ends. Put the line right and upload the file again."
    )


def _without_what_is_below(
    lines: Iterator[tuple[int, list[str]]], names: list[str], dropped: list[str]
) -> Iterator[tuple[int, list[str]]]:
    """Leave out, and add to `dropped`, what eBay writes below the orders, and the first line once more.

    Files put together have both in between. A line that describes the columns stands right below their names.
    """
    again, is_first = _filled(names), True
    for number, line in lines:
        filled = _filled(line)
        if filled == again or BELOW.match(" ".join(filled)) or (is_first and _describes(names, line)):
            dropped.append(" ".join(filled)[:80])
        else:
            is_first = False
            yield number, line


def _describes(names: list[str], line: list[str]) -> bool:
    """Return whether half of these cells at least say what their columns are: “Current order status.”, “Required”."""
    pairs = [(normalise(name), normalise(cell)) for name, cell in zip(names, line, strict=False) if cell.strip()]
    about = [cell for name, cell in pairs if cell in HINTS or (name and name != cell and f" {name} " in f" {cell} ")]
    return len(about) >= 3 and 2 * len(about) >= len(pairs)


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
