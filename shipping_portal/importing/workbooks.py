"""Excel workbooks: the first sheet with anything in it, each cell as the text a person sees in it."""

import datetime as dt
import io
import zipfile
from collections.abc import Iterator
from typing import Any

from defusedxml.ElementTree import iterparse

SIGNATURE = b"PK\x03\x04"
MOST_UNPACKED = 20 * 1024 * 1024
MOST_TAGS = 2_000_000  # 2,000 rows of 70 columns have 600,000
WIDEST = 16_384  # cells of one row, the most that Excel has
LONGEST = 20_000  # lines, blank ones too
CHUNK = 1024 * 1024
OF_A_CODE = set("0 ()-")  # a number format of digits alone, such as 00000 or 0000 000 000
TOO_MUCH = "This workbook unpacks to more than one import takes. Copy the rows to a new workbook, or save it as CSV."
TOO_LONG = f"This sheet goes on below row {LONGEST:,}. Copy the rows to a new workbook and upload that."
DAMAGED = "This Excel workbook can't be read. In your spreadsheet choose Save as, then CSV, and upload that."


class BadWorkbook(Exception):
    """It cannot be read; the sentence is for its sender."""


def lines(data: bytes, widest: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and cells of each line of the first sheet that has any, at most `widest` + 1 cells of each.

    Formulas are read as the values they had when the workbook was saved. Raises BadWorkbook.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _refuse_bombs(archive)
        yield from _lines(data, widest)
    except BadWorkbook:
        raise
    except Exception as error:  # a damaged workbook breaks openpyxl in a dozen ways
        raise BadWorkbook(DAMAGED) from error


def _refuse_bombs(archive: zipfile.ZipFile) -> None:
    """Refuse what unpacks to too much before any of it is read as a table.

    The directory's sizes are what zipfile reads of a member at most, whatever is packed behind them.
    """
    if sum(member.file_size for member in archive.infolist()) > MOST_UNPACKED:
        raise BadWorkbook(TOO_MUCH)
    tags = 0
    for member in archive.infolist():
        with archive.open(member) as source:
            while chunk := source.read(CHUNK):
                tags += chunk.count(b"<")
                if tags > MOST_TAGS:
                    raise BadWorkbook(TOO_MUCH)
        if member.filename.startswith("xl/") and member.filename.endswith(".xml"):
            with archive.open(member) as source:
                _refuse_wide_rows(source)


def _refuse_wide_rows(source: Any) -> None:
    """openpyxl keeps a whole row: one of a million cells would take a gigabyte."""
    cells = 0
    for event, element in iterparse(source, ("start", "end")):
        name = element.tag.rpartition("}")[2]
        if event == "end":
            element.clear()
        elif name == "row":
            cells = 0
        elif name == "c":
            cells += 1
            if cells > WIDEST:
                raise BadWorkbook(TOO_MUCH)


def _lines(data: bytes, widest: int) -> Iterator[tuple[int, list[str]]]:
    from openpyxl import load_workbook  # noqa: PLC0415  (5 MB of every process, for who sends a workbook)

    book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    width = 0  # of the header: other lines are as long as it, as they are in a CSV file
    for sheet in book.worksheets:
        if width or sheet.sheet_state != "visible":
            continue
        sheet.reset_dimensions()  # they may say anything
        for number, row in enumerate(sheet.iter_rows(max_col=widest + 1), start=1):
            if number > LONGEST:
                raise BadWorkbook(TOO_LONG)
            cells = [_shown(cell) for cell in row]
            if filled := [at for at, cell in enumerate(cells, start=1) if cell.strip()]:
                width = width or filled[-1]
                yield number, (cells + [""] * width)[: max(width, filled[-1])]


def _shown(cell: Any) -> str:
    """Return the text of a cell. No number is rounded: what a format hides of a weight is still paid for."""
    value = cell.value
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).upper()
    if isinstance(value, dt.datetime):
        return f"{value:%Y-%m-%d %H:%M}".removesuffix(" 00:00")
    if isinstance(value, int | float):
        return _number(value, str(cell.number_format))
    return str(value)


def _number(value: float, form: str) -> str:
    whole = int(value) if value == int(value) else None
    if whole is None:
        return f"{value:.15g}"
    text, zeros = str(whole), form.count("0")
    if whole < 0 or not zeros or not OF_A_CODE.issuperset(form) or len(text) > zeros:
        return text
    digits = iter(text.zfill(zeros))
    return "".join(next(digits) if sign == "0" else sign for sign in form)
