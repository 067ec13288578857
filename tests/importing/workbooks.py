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


RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def sheet_with(rows: str, *, strings: str = "", styles: str = "", listed: int = 1) -> bytes:
    """Return a workbook of one sheet, shared strings and styles, which lists the sheet this often."""
    begin, sheets = '<?xml version="1.0"?>', '<sheet name="A" sheetId="1" r:id="sheet"/>' * listed
    kinds = {
        "sheet": ("worksheet", "worksheets/sheet1"),
        "strings": ("sharedStrings", "strings"),
        "styles": ("styles",) * 2,
    }
    links = "".join(
        f'<Relationship Id="{key}" Type="{RELATIONS}/{kind}" Target="{name}.xml"/>'
        for key, (kind, name) in kinds.items()
    )
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>{sheets}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f"<Relationships>{links}</Relationships>",
        "xl/strings.xml": f"<sst>{strings}</sst>",
        "xl/styles.xml": f"<styleSheet>{styles}</styleSheet>",
    }
    return with_parts(sheet_of(rows), {name: (begin + text).encode() for name, text in parts.items()})
