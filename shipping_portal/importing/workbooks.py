"""Read Excel workbooks: the first sheet that isn't empty, each cell as people see it.

Each part is read once, by expat handlers: a library that builds objects for all cells takes several
times as long, and doesn't report hidden rows. Limits apply to all sheets together, before anything
is read.
"""

import datetime as dt
import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from xml.parsers import expat

from shipping_portal.importing.currencies import CODES, SIGNS
from shipping_portal.importing.delimited import LONGEST_CELL
from shipping_portal.importing.units import UNIT_OF

Attributes = dict[str, str]  # of an XML element

SIGNATURE = b"PK\x03\x04"
ENTRY = b"PK\x01\x02"  # begins each file's entry in a ZIP directory
MOST_FILES = 1_000
MOST_UNPACKED = 20 * 1024 * 1024
# 2,000 rows of 70 columns take 282,000, and two more for each separate text
MOST_ELEMENTS = 450_000
MOST_ATTRIBUTES = 1_000_000  # these have 430,000
MOST_FORMATS = 1_000  # number formats; Excel takes 250 custom ones
# A text stored once may be shown in every cell.
MOST_SHOWN = 8_000_000  # characters; 2,000 rows of 70 columns have two million
MOST_SHEETS = 5  # sheets read to find the first that isn't empty
LONGEST_NUMBER = 10**15
LAST_ROW = 1_048_576  # rows of Excel's sheets
DAY = "day"
UNCOMPUTED = "#CALC!"  # shown for a formula that no spreadsheet has computed yet
LONGEST_FORMAT = 255  # Excel's limit
OF_A_CODE = set("0 ()-")  # a number format of digits only, such as 00000 or 0000 000 000
YES = {"1", "true"}
PREFIX = re.compile(rb"(?:\xef\xbb\xbf)?\s*+(?:<\?[^>]*+>\s*+)?<(\w{1,20}:)")
FILLED = re.compile(rb"<(?:\w{1,20}:)?[vt][ >]")  # a cell's value
# How workbooks write a line end within a text, and an underscore before text that looks like one.
ESCAPED = re.compile("_x(0009|000[Aa]|000[Dd]|005[Ff])_")
# The parts of a number format: a text, a currency, a colour, a space, the digits.
PART_OF_FORMAT = re.compile(
    r'"([^"]{0,40}+)"|\\(.)|\[\$([^]-]{0,9}+)[^]]{0,9}+\]'
    r"|(\[(?:Black|Blue|Cyan|Green|Magenta|Red|White|Yellow|Color[0-9]{1,2})\]|_.|\*.)"
    r"|([#0?,.]{1,40}+)|(.)",
    re.IGNORECASE,
)
# Spreadsheets have no time zones.
EPOCHS = {False: dt.datetime(1899, 12, 30), True: dt.datetime(1904, 1, 1)}  # noqa: DTZ001
TOO_MUCH = (
    "This workbook unpacks to more than one import takes. Copy the rows to a new workbook, or save"
    " it as CSV."
)
TOO_MANY_SHEETS = (
    f"The first {MOST_SHEETS} sheets of this workbook are empty. Move the one with your orders to"
    " the front."
)
DAMAGED = (
    "This Excel workbook can't be read. In your spreadsheet choose Save as, then CSV, and upload"
    " that."
)


class BadWorkbook(Exception):
    """Raised when the workbook can't be read. The message is for its sender."""


@dataclass
class Table:
    """One sheet: its lines that aren't empty, each with its number and cells by column.

    `hidden` has the numbers of rows hidden by a filter, a collapsed group or by hand.
    """

    lines: list[tuple[int, dict[int, str]]] = field(default_factory=list)
    hidden: set[int] = field(default_factory=set)
    # the last of each run by its first
    hidden_columns: dict[int, int] = field(default_factory=dict)
    other_sheets: int = 0  # other visible sheets that aren't empty

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield number and cells of each line from the header on, padded to the header's length."""
        seen = (at for at, (number, _) in enumerate(self.lines) if number not in self.hidden)
        width = 0
        # A hidden line above the header isn't an order.
        for number, cells in self.lines[next(seen, 0) :]:
            last = max(cells)
            width = width or last
            yield number, [cells.get(at, "") for at in range(1, max(width, last) + 1)]

    def is_hidden_column(self, column: int) -> bool:
        return any(first <= column <= last for first, last in self.hidden_columns.items())


def read(data: bytes, widest: int, most: int) -> Table:
    """Return the first sheet with any lines: at most `most` lines of `widest` + 1 cells each.

    Formulas have the values stored in the workbook. Raises BadWorkbook.
    """
    try:
        if data.count(ENTRY) > MOST_FILES:
            raise BadWorkbook(TOO_MUCH)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _first_filled(_Parts(archive), widest, most)
    except BadWorkbook:
        raise
    except Exception as error:
        # A damaged workbook can fail in a dozen ways.
        raise BadWorkbook(DAMAGED) from error


class Form(NamedTuple):
    """A number format: a digits-only code, DAY, or "" for all others, with the text around it."""

    code: str = ""
    before: str = ""
    after: str = ""


class _Enough(Exception):
    """Raised when enough lines were read."""


class _Parts:
    """The files in a workbook, and how much of an import's limits remains."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive, self.names = archive, set(archive.namelist())
        self.elements, self.attributes = MOST_ELEMENTS, MOST_ATTRIBUTES
        self.bytes = MOST_UNPACKED  # a workbook may list one sheet several times
        # zipfile reads no more of a file than the size in the directory, whatever else is packed.
        if sum(member.file_size for member in archive.infolist()) > MOST_UNPACKED:
            raise BadWorkbook(TOO_MUCH)

    def walk(
        self,
        name: str,
        start: Callable[[str, Attributes], Any],
        end: Any = None,
        text: Any = None,
    ) -> None:
        """Parse one file with the expat handlers `start`, `end` and `text`."""
        xml = self.archive.read(name)
        self.elements -= xml.count(b"<") - xml.count(b"</")
        self.attributes -= xml.count(b"=")
        self.bytes -= len(xml)
        if min(self.elements, self.attributes, self.bytes) < 0:
            raise BadWorkbook(TOO_MUCH)
        # without namespaces, because a long one would be copied for each element
        parser = expat.ParserCreate()
        parser.buffer_text = True
        # document types aren't allowed, so there are no entities
        parser.StartDoctypeDeclHandler = _refuse
        parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = (
            start,
            end,
            text,
        )
        parser.Parse(_unprefixed(xml), True)

    def related(self, name: str) -> dict[str, tuple[str, str]]:
        """Return by id the kind and name of each part that a part refers to."""
        folder, file = posixpath.split(name)
        found: dict[str, tuple[str, str]] = {}

        def start(tag: str, given: Attributes) -> None:
            if tag == "Relationship" and given.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, given["Target"])).lstrip(
                    "/"
                )
                found[given["Id"]] = given["Type"].rpartition("/")[2], target

        relations = posixpath.join(folder, "_rels", f"{file}.rels")
        if relations in self.names:
            self.walk(relations, start)
        return {
            key: (kind, target) for key, (kind, target) in found.items() if target in self.names
        }


def _unprefixed(xml: bytes) -> bytes:
    """Return the file without the prefix that some programs add to all element names."""
    found = PREFIX.match(xml)
    return xml.replace(b"<" + found[1], b"<").replace(b"</" + found[1], b"</") if found else xml


def _refuse(*_: Any) -> None:
    raise BadWorkbook(DAMAGED)


def _first_filled(parts: _Parts, widest: int, most: int) -> Table:
    """Return the first visible sheet with any lines."""
    main = next(name for kind, name in parts.related("").values() if kind == "officeDocument")
    related, sheets, is_1904 = parts.related(main), [], False

    def start(tag: str, given: Attributes) -> None:
        nonlocal is_1904
        if tag == "workbookPr":
            is_1904 = given.get("date1904") in YES
        elif tag == "sheet" and given.get("state", "visible") == "visible":
            key = next((value for name, value in given.items() if name.endswith(":id")), "")
            kind, name = related.get(key, ("", ""))
            if kind == "worksheet":
                sheets.append(name)

    parts.walk(main, start)
    names = {kind: name for kind, name in related.values() if kind in ("sharedStrings", "styles")}
    strings = _strings(parts, names["sharedStrings"]) if "sharedStrings" in names else []
    formats = _formats(parts, names["styles"]) if "styles" in names else []
    for name in sheets[:MOST_SHEETS]:
        sheet = _Sheet(strings, formats, widest, most, is_1904=is_1904)
        with suppress(_Enough):
            parts.walk(name, sheet.start, sheet.end, sheet.text)
        if sheet.table.lines:
            # Each sheet once, however often the workbook lists it.
            others = set(sheets[sheets.index(name) :]) - {name}
            sheet.table.other_sheets = sum(
                1 for other in others if FILLED.search(parts.archive.read(other))
            )
            return sheet.table
    if len(sheets) > MOST_SHEETS:
        raise BadWorkbook(TOO_MANY_SHEETS)
    return Table()


def _strings(parts: _Parts, name: str) -> list[str]:
    """Return the shared strings by position, without phonetic text."""
    found = []
    pieces: list[str] = []
    spoken = 0

    def start(tag: str, _: Attributes) -> None:
        nonlocal spoken
        if tag == "si":
            pieces.clear()
        spoken += tag == "rPh"

    def end(tag: str) -> None:
        nonlocal spoken
        if tag == "si":
            found.append(_shorten(_unescaped("".join(pieces))))
        spoken -= tag == "rPh"

    def text(piece: str) -> None:
        if not spoken:
            pieces.append(piece)

    parts.walk(name, start, end, text)
    return found


def _unescaped(text: str) -> str:
    return ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def _shorten(text: str) -> str:
    """Shorten a text that is too long for a cell so that it is just long enough to be refused."""
    return text if len(text) <= LONGEST_CELL else text.strip()[: LONGEST_CELL + 1]


def _formats(parts: _Parts, name: str) -> list[Form]:
    """Return each cell style's number format."""
    from openpyxl.styles import numbers  # noqa: PLC0415  (5 MB per process, and few files need it)

    codes, found, is_of_cells = dict(numbers.BUILTIN_FORMATS), [], False

    def start(tag: str, given: Attributes) -> None:
        nonlocal is_of_cells
        if tag == "numFmt":
            codes[int(given["numFmtId"])] = given["formatCode"]
        elif tag == "xf" and is_of_cells:
            found.append(int(given.get("numFmtId", 0)))
        elif tag in ("cellXfs", "cellStyleXfs", "cellStyles", "dxfs"):
            is_of_cells = tag == "cellXfs"

    parts.walk(name, start)
    if len(codes) > MOST_FORMATS:
        raise BadWorkbook(TOO_MUCH)
    plain = {
        number: _plain(code[:LONGEST_FORMAT], numbers.is_date_format)
        for number, code in codes.items()
    }
    return [plain.get(number, Form()) for number in found]


def _plain(code: str, is_day: Callable[[str], bool]) -> Form:
    if OF_A_CODE.issuperset(code):
        return Form(code)
    return Form(DAY) if is_day(code) else _with_texts(code)


def _with_texts(code: str) -> Form:
    """Return a format of digits, with any meaningful text around them.

    This is a unit, a currency, or the beginning of a number such as “INV-”000. Formats that
    calculate don't count: percentages, fractions, thousands.
    """
    texts, digits = ["", ""], ""
    for text, escaped, currency, nothing, some, other in PART_OF_FORMAT.findall(
        code.partition(";")[0]
    ):
        if some and not digits:
            digits = some
        elif some or (other and other not in " $€£¥-+()"):
            return Form()
        elif not nothing:
            texts[bool(digits)] += text or escaped or currency or other
    before, after = texts
    if not digits or digits.endswith(","):
        return Form()
    is_code = OF_A_CODE.issuperset(digits)
    says = [
        text
        for text in (before.strip(), after.strip())
        if text.casefold() in UNIT_OF or text in SIGNS or CODES.fullmatch(text)
    ]
    return Form(
        digits if is_code else "",
        before if is_code or before.strip() in says else "",
        after if after.strip() in says else "",
    )


class _Sheet:
    """Collects a sheet's cells from expat, ignoring everything between its lines."""

    def __init__(
        self, strings: list[str], formats: list[Form], widest: int, most: int, *, is_1904: bool
    ) -> None:
        self.strings, self.formats, self.widest, self.most, self.is_1904 = (
            strings,
            formats,
            widest,
            most,
            is_1904,
        )
        self.table = Table()
        self.number = self.column = 0
        self.kind = self.style = ""
        self.cells: dict[int, str] = {}
        self.pieces: list[str] = []
        self.reads, self.spoken = False, 0
        self.left = MOST_SHOWN
        self.is_uncomputed = False

    def start(self, tag: str, given: Attributes) -> None:
        if tag == "c":
            place = given.get("r", "")
            self.column = _column(place) if place else self.column + 1
            self.kind, self.style, self.pieces = given.get("t", "n"), given.get("s", ""), []
            self.is_uncomputed = False
        elif tag in ("f", "v"):  # a formula comes before its value
            self.is_uncomputed = tag == "f"
        elif tag == "row":
            # two rows with the same number are two rows
            self.number = max(int(given.get("r", 0)), self.number + 1)
            self.column, self.cells = 0, {}
            if self.number > LAST_ROW:
                raise BadWorkbook(DAMAGED)
            if given.get("hidden") in YES or given.get("ht") == "0":
                self.table.hidden.add(self.number)
        elif tag == "col" and (given.get("hidden") in YES or given.get("width") == "0"):
            self.hide(int(given["min"]), int(given["max"]))
        elif tag == "rPh":  # phonetic text
            self.spoken += 1
        self.reads = tag in ("v", "t") and not self.spoken

    def hide(self, first: int, last: int) -> None:
        """Store a run of hidden columns if an import could reach its first one."""
        if 0 < first <= self.widest:
            runs = self.table.hidden_columns
            runs[first] = max(last, runs.get(first, 0))

    def text(self, piece: str) -> None:
        if self.reads:
            self.pieces.append(piece)

    def end(self, tag: str) -> None:
        self.reads = False
        if tag == "c" and self.pieces:
            if (shown := self.shown("".join(self.pieces))).strip():
                self.cells[min(self.column, self.widest + 1)] = shown
                self.left -= len(shown)
        elif tag == "c" and self.is_uncomputed:
            self.cells[min(self.column, self.widest + 1)] = UNCOMPUTED
        elif tag == "rPh":
            self.spoken -= 1
        elif tag == "row" and self.cells:
            if self.left < 0:
                raise BadWorkbook(TOO_MUCH)
            self.table.lines.append((self.number, self.cells))
            if len(self.table.lines) == self.most:
                raise _Enough

    def shown(self, text: str) -> str:
        """Return what a person sees.

        Numbers aren't rounded, because hidden digits of a weight still cost money.
        """
        if self.kind == "s":
            return self.strings[int(text)]
        if self.kind == "b":
            return "TRUE" if int(text) else "FALSE"
        if self.kind == "d":
            return _of_moment(dt.datetime.fromisoformat(text))
        if self.kind != "n":
            return _shorten(_unescaped(text))
        form = self.formats[int(self.style)] if self.style else Form()
        if form.code == DAY:
            return _of_day(float(text), is_1904=self.is_1904)
        number = _number(text, form.code)
        return number if number.startswith("-") else f"{form.before}{number}{form.after}"


def _column(place: str) -> int:
    """Return 28 for AB12."""
    column = 0
    for letter in place[:4]:
        if not letter.isalpha():
            break
        column = column * 26 + ord(letter) - 64
    return column


def _of_day(value: float, *, is_1904: bool) -> str:
    """Return a number's day, and its time if there is one."""
    try:
        # 1900 wasn't a leap year, but Excel counts it as one
        moment = EPOCHS[is_1904] + dt.timedelta(days=value + (0 < value < 60 and not is_1904))
    except OverflowError:
        return "#VALUE!"
    moment += dt.timedelta(microseconds=500)
    return str(moment.time().replace(microsecond=0)) if 0 <= value < 1 else _of_moment(moment)


def _of_moment(moment: dt.datetime) -> str:
    return moment.isoformat(" ", "minutes")[:16].removesuffix(" 00:00")


def _number(stored: str, form: str) -> str:
    value, text = float(stored), stored.lstrip("0") or "0"
    if not stored.isdecimal():
        # Spreadsheets keep fifteen digits: the others of a longer number are lost.
        if value != int(value) or abs(value) >= LONGEST_NUMBER:
            return f"{value:.15g}"
        text = str(int(value))
    zeros = form.count("0")
    if value < 0 or len(text) > zeros:
        return text
    digits = iter(text.zfill(zeros))
    return "".join(next(digits) if sign == "0" else sign for sign in form)
