"""Read a report record by record in bounded memory; report unreadable cells with their line."""

import csv
import datetime as dt
import hashlib
import io
import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache

from shipping_portal.accounts.address.text import INVISIBLE
from shipping_portal.billing.reports.amounts import UnreadableCell, read_amount, read_number
from shipping_portal.billing.reports.fields import NEEDED, Profile

MOST_LINES = 100_000
LARGEST = MOST_LINES * 400  # bytes; a line of this family's reports has about a hundred
TOO_MUCH = f"The file has more than {MOST_LINES:,} lines. Ask the carrier for one a week."
CURRENCY = re.compile(r"[A-Z]{3}")
# What spreadsheets put around a text so that it isn't shortened or calculated.
AS_TEXT = re.compile(r"^(?:=\"([^\"]*)\"|'(.*))$")
SUBTOTAL = re.compile("sub[ -]?total", re.IGNORECASE)
SAVE_AS = "Save it as CSV, or ask the carrier for a report in CSV."
NO_REPORTS = {
    b"PK\x03\x04": f"This is a workbook. {SAVE_AS}",
    b"\xd0\xcf\x11\xe0": f"This is a workbook. {SAVE_AS}",
    b"%PDF": f"This is a PDF. {SAVE_AS}",
}
JOINED = "It is in both of the reports joined in this file. Upload them one after the other."
MOST_ZEROS = 12
# Days as a spreadsheet counts them, from 1982 to 2119: 46,352 is 26 November 2026.
SERIAL = re.compile(r"[3-7][0-9]{4}(\.0+)?", re.ASCII)
FIRST_DAY = dt.date(1899, 12, 30)
# What a spreadsheet saves for a number of twelve digits; many then look alike.
SHORTENED = re.compile(r"[0-9](?:[.,][0-9]+)?E\+[0-9]{2,3}", re.ASCII)
WORDED = ("type", "paid", "reason")  # a line's kind
LONGEST = {"type": 100, "paid": 60, "reason": 100, "reference": 100, "customer_reference": 10_000}


class NotAReport(Exception):
    """Raised when the file can't be the carrier's report: empty, too large, or missing columns."""


@dataclass(frozen=True)
class ReportRow:
    """One record of the file: amounts in currency units, weights in kg, volumes in m³.

    `number` is the line of the file on which it begins; `key` identifies the carrier's line
    wherever it reappears.
    """

    number: int
    key: str
    word: str
    reference: str
    customer_reference: str
    price: Decimal
    cover: Decimal
    currency: str
    day: dt.date | None
    measures: dict[str, Decimal | None]
    # keyed by the carrier's number as a spreadsheet may have shortened it
    other_keys: Sequence[str] = ()

    @property
    def used_key(self) -> str:
        """Return this line's key when it charges its order again.

        Reports have no term for that.
        """
        return hashlib.sha256(f"{self.key} used".encode()).hexdigest()


@dataclass(frozen=True)
class ReportTotal:
    """A stated total for one currency."""

    currency: str
    amount: Decimal


@dataclass(frozen=True)
class Problem:
    number: int
    message: str


def read_report(content: bytes, profile: Profile) -> Iterator[ReportRow | ReportTotal | Problem]:
    """Yield every record of the file. Raises NotAReport before the first."""
    if not content or content.isspace():
        raise NotAReport("The file is empty.")
    if sentence := NO_REPORTS.get(content[:4]):
        raise NotAReport(sentence)
    if len(content) > LARGEST or content.count(b"\n") > MOST_LINES + 1:  # its header
        raise NotAReport(TOO_MUCH)
    records = _records(content, profile.delimiter)
    number, header = _read_header(records)
    places = _places(header, profile)
    alike: Counter[bytes] = Counter()
    above: set[bytes] = set()  # lines of the joined reports above
    try:
        for number, cells in records:
            if cells == header:  # of the next of joined reports
                above.update(alike)
            elif len(cells) != len(header):
                yield Problem(
                    number, f"It has {len(cells)} cells where the header has {len(header)}."
                )
            elif record := _read(number, Cells(profile, places, cells), alike, above):
                yield record
    except csv.Error as error:
        yield Problem(number + 1, f"The file can't be read from here on: {error}.")


def _read_header(records: Iterator[tuple[int, list[str]]]) -> tuple[int, list[str]]:
    try:
        return next(records, (1, []))
    except csv.Error as error:
        raise NotAReport(f"The file's first line can't be read: {error}.") from error


@dataclass(frozen=True)
class Cells:
    """The cells of one record, by our field."""

    profile: Profile
    places: dict[str, int]
    cells: list[str]
    # cached, because a line's identity needs each cell again
    texts: dict[str, str] = field(default_factory=dict)

    def text(self, field: str) -> str:
        if field not in self.texts:
            self.texts[field] = self._text(field)
        return self.texts[field]

    def _text(self, field: str) -> str:
        text = " ".join(self.cells[self.places[field]].split()) if field in self.places else ""
        # Posted lines are known by their number and words as they came.
        if field not in ("line_id", *WORDED):
            text = AS_TEXT.sub(r"\1\2", text) if text[:1] in ("=", "'") else text
            text = INVISIBLE.sub("", text) if not text.isascii() else text
        # Databases can't store it.
        if "\x00" in text:
            raise UnreadableCell("It has a character that isn't text.")
        if len(text) > LONGEST.get(field, 100):
            raise UnreadableCell(f"“{text[:40]}…” is too long.")
        if field in ("line_id", "reference") and SHORTENED.fullmatch(text):
            raise UnreadableCell(f"“{text}” was a longer number, which a spreadsheet shortened.")
        return text

    def money(self, field: str) -> Decimal:
        """Read an amount to the cent. Raises UnreadableCell."""
        text, sign = self.text(field), self.profile.decimal_sign
        amount = read_amount(text, sign, self.currency()) if text else Decimal(0)
        if amount != round(amount, 2):
            asked = (
                ""
                if sign
                else " If its dot separates thousands, set the decimal sign in the billing profile."
            )
            raise UnreadableCell(f"“{text[:40]}” is not an amount to the cent.{asked}")
        return round(amount, 2)

    def measure(self, field: str) -> Decimal | None:
        text = self.text(field)
        if not text:
            return None
        if text[0] in "-−":
            raise UnreadableCell(f"“{text[:40]}” is not a weight or volume.")
        number = read_number(text, self.profile.decimal_sign)
        if number >= 100_000:
            raise UnreadableCell(f"“{text[:40]}” is not a weight or volume.")
        return number

    def day(self, field: str) -> dt.date | None:
        text = self.text(field)
        if not text:
            return None
        try:
            return _parse_day(text, self.profile.date_form)
        except ValueError:
            raise UnreadableCell(
                f"“{text[:40]}” is not a date as the profile says they are written."
            ) from None

    def currency(self) -> str:
        text = self.text("currency").upper()
        if not CURRENCY.fullmatch(text):
            raise UnreadableCell(f"“{text[:40]}” is not a currency.")
        return text


# A report covers a week or two.
@lru_cache(maxsize=100)
def _parse_day(text: str, form: str) -> dt.date:
    try:
        return dt.datetime.strptime(text, form).date()  # noqa: DTZ007  (a day, no time)
    except ValueError:
        if not SERIAL.fullmatch(text):
            raise
        return FIRST_DAY + dt.timedelta(days=int(text[:5]))


def _records(content: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each record that isn't empty, with the line it begins on."""
    text = io.TextIOWrapper(io.BytesIO(content), encoding=_encoding(content), newline="")
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    begins = 1
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield begins, cells
        begins = reader.line_num + 1


def _encoding(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"  # like a spreadsheet's “Unicode text”
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"  # every byte is a character, so damage shows in its cell, with its line
    return "utf-8-sig"


def _places(header: list[str], profile: Profile) -> dict[str, int]:
    names = [_plain(name) for name in header]
    found = {name: place for place, name in enumerate(names)}
    columns = profile.columns
    places = {
        field: found[_plain(name)]
        for field, name in columns.items()
        if name.strip() and _plain(name) in found
    }
    if missing := [columns.get(field) or field for field in NEEDED if field not in places]:
        first = profile.delimiter.join(header)[:80].replace("\t", " ")
        shown = f" Its first line is “{first}”." if first.isprintable() else ""
        raise NotAReport(
            f"The file has no column {', '.join(f'“{name}”' for name in missing)}.{shown}"
        )
    # We can't guess which of two amounts is due.
    if twice := [
        columns[field] for field, place in places.items() if names.count(names[place]) > 1
    ]:
        raise NotAReport(
            f"The file has more than one column {', '.join(f'“{name}”' for name in twice)}."
        )
    return places


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold()


def _read(
    number: int, of: Cells, alike: Counter[bytes], above: Container[bytes]
) -> ReportRow | ReportTotal | Problem | None:
    """Return a record, or None for a subtotal."""
    try:
        kind = of.text("type").casefold().rstrip(": ")
        if kind and kind == of.profile.total_word.casefold().rstrip(": "):
            return ReportTotal(of.currency(), of.money("price"))
        if SUBTOTAL.match(kind) and not of.text("reference"):
            return None
        return _row(number, of, alike, above)
    except UnreadableCell as error:
        return Problem(number, str(error))


def _row(number: int, of: Cells, alike: Counter[bytes], above: Container[bytes]) -> ReportRow:
    if not of.text("type") or not of.text("price"):
        raise UnreadableCell("It has no type or no amount.")
    word = " / ".join(part for name in WORDED if (part := of.text(name)))
    identity = _identity(of, word)
    # two equal lines in one report are two lines
    alike[digest := hashlib.sha256(identity.encode()).digest()] += 1
    if digest in above:
        raise UnreadableCell(JOINED)
    key, *others = (
        hashlib.sha256(f"{one}#{alike[digest]}".encode()).hexdigest()
        for one in (identity, *(f"id {other}" for other in other_spellings(of.text("line_id"))))
    )
    return ReportRow(
        number=number,
        key=key,
        other_keys=others,
        word=word,
        reference=of.text("reference"),  # in the carrier's case, as everywhere else
        customer_reference=of.text("customer_reference")[:255],  # our references are never longer
        price=of.money("price"),
        cover=of.money("cover"),
        currency=of.currency(),
        day=of.day("refund_date") or of.day("order_date"),
        measures={
            name: of.measure(name)
            for name in ("declared_kg", "declared_m3", "measured_kg", "measured_m3")
        },
    )


def other_spellings(number: str) -> list[str]:
    """Return the number with more or fewer leading zeros: a spreadsheet saves 00123 as 123."""
    if not (number.isascii() and number.isdecimal()):
        return []
    digits = number.lstrip("0")
    return [
        other for zeros in range(MOST_ZEROS) if digits and (other := "0" * zeros + digits) != number
    ]


def _identity(of: Cells, word: str) -> str:
    """Return the carrier's own line number, otherwise the line's parsed values.

    Later measures and raw cells aren't used, so a file resaved by a spreadsheet has the same lines.
    """
    if own := of.text("line_id"):
        return f"id {own}"
    whole = of.money("price") if of.profile.cover_inside else of.money("price") + of.money("cover")
    days = of.day("order_date"), of.day("refund_date")
    meaning = (
        word.casefold(),
        of.text("reference").upper(),
        f"{whole:.2f}",
        of.currency(),
        *map(str, days),
    )
    return "\x1f".join(meaning)
