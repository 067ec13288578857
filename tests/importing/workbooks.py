"""Workbooks made by hand."""

import io
import zipfile
from collections.abc import Callable
from typing import Any

from openpyxl import Workbook


def workbook(
    *rows: list[Any], form: dict[str, str] | None = None, before: Callable[[Any], None] | None = None
) -> bytes:
    """Return a workbook of these rows. `form` gives cells, such as A2, a number format."""
    book = Workbook()
    sheet: Any = book.active
    for row in rows:
        sheet.append(row)
    for place, code in (form or {}).items():
        sheet[place].number_format = code
    if before:
        before(book)
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def with_part(data: bytes, name: str, text: bytes) -> bytes:
    """Return the same workbook with one of its files replaced."""
    return with_parts(data, {name: text})


def with_parts(data: bytes, texts: dict[str, bytes]) -> bytes:
    """Return the same workbook with some of its files replaced or added."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for member in dict.fromkeys([*old.namelist(), *texts]):
            new.writestr(member, texts[member] if member in texts else old.read(member))
    return packed.getvalue()


SHEET = "xl/worksheets/sheet1.xml"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def sheet_of(rows: str, *, above: str = "") -> bytes:
    text = f'<?xml version="1.0"?>{above}<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
    return with_part(workbook(["Name"]), SHEET, text.encode())
