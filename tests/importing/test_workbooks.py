"""Excel workbooks: cells are read as a person sees them, and no workbook takes too much memory or time."""

import datetime as dt
import io
import re
import tracemalloc
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from shipping_portal.importing import reading, workbooks
from tests.importing.workbooks import MAIN, SHEET, sheet_of, sheet_with, with_part, with_parts, workbook


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        ("0800", "@", "0800"),
        (800, "0000", "0800"),
        (2155, "00000", "02155"),
        (21551234, "00000-0000", "02155-1234"),
        (491570006, "0000 000 000", "0491 570 006"),
        (3056, "General", "3056"),
        (3056.0, "0", "3056"),
        (1.4, "0", "1.4"),
        (0.1 + 0.2, "General", "0.3"),
        (1280, "#,##0.00", "1280"),
        (123456789012345, "0.00E+00", "123456789012345"),
        (-5, "000", "-5"),
        (12345, "000", "12345"),
        (True, "General", "TRUE"),
        (dt.datetime(2026, 11, 19), "yyyy-mm-dd", "2026-11-19"),  # noqa: DTZ001 - a spreadsheet has no zones
        (dt.datetime(2026, 11, 19, 9, 5), "yyyy-mm-dd hh:mm", "2026-11-19 09:05"),  # noqa: DTZ001
        ("#N/A", "General", "#N/A"),
        (1.25, '0.00" lb"', "1.25 lb"),
        (350, '#,##0 "g"', "350 g"),
        (350, r"0\ \g", "350 g"),
        (45, "[$€-407]#,##0.00", "€45"),
        (45, "#,##0.00 [$USD]", "45 USD"),
        (45, '"US$"#,##0.00_);[Red]("US$"#,##0.00)', "US$45"),
        (-45, '"US$"#,##0.00_);[Red]("US$"#,##0.00)', "-45"),
        (7, '"INV-"000', "INV-007"),
        (1042, '"#"0', "#1042"),
        (3, '0" pcs"', "3"),
        (0.2, "0%", "0.2"),
        (12.5, "# ?/?", "12.5"),
        (1500, '0.0,"kg"', "1500"),
        (1500, '[>=1000]0.0,"kg";0"g"', "1500"),
        ("Zoe_x000D_\nDoe_x000d_", "General", "Zoe\r\nDoe\r"),
        ("a_x005F_x000D_b_x0000__xD83D_", "General", "a_x000D_b_x0000__xD83D_"),
    ],
)
def test_a_cell_is_read_the_way_a_person_sees_it(value: object, form: str, text: str) -> None:
    sheet = reading.read(workbook(["Name", "Cell"], ["Mia", value], form={"B2": form}))
    assert sheet.rows == {2: ["Mia", text]}


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("123456789012345678", "123456789012345678"),
        ("4111111111111111.0", "4.11111111111111e+15"),  # a spreadsheet keeps fifteen digits
        ("1.2345678901234501E+17", "1.23456789012345e+17"),
        ("1.2345E+11", "123450000000"),
        ("007", "7"),
        ("-5", "-5"),
    ],
)
def test_a_long_number_keeps_its_digits_or_shows_that_some_are_lost(written: str, text: str) -> None:
    cell = f'<c r="A2"><v>{written}</v></c><c r="B2" t="str"><v>Mia</v></c>'
    names = '<c r="A1" t="str"><v>Order</v></c><c r="B1" t="str"><v>Name</v></c>'
    sheet = reading.read(sheet_of(f'<row r="1">{names}</row><row r="2">{cell}</row>'))
    assert sheet.rows == {2: [text, "Mia"]}


def test_a_formula_is_read_as_its_value() -> None:
    data = sheet_of(
        '<row r="1"><c r="A1" t="inlineStr"><is><t>Name</t></is></c><c r="B1" t="inlineStr"><is><t>Weight</t></is></c>'
        '</row><row r="3"><c r="A3" t="inlineStr"><is><t>Mia</t></is></c><c r="B3"><f>1+1.5</f><v>2.5</v></c></row>'
    )
    sheet = reading.read(data)
    assert (sheet.header, sheet.rows) == (["Name", "Weight"], {3: ["Mia", "2.5"]})
    assert (sheet.encoding, sheet.delimiter) == ("xlsx", "")


def test_a_formula_without_a_value_is_a_cell_that_could_not_be_computed() -> None:
    """Programs write formulas that only a spreadsheet computes. Blank, such a weight would be the saved size's."""
    data = sheet_of(
        '<row r="1"><c r="A1" t="str"><v>Name</v></c><c r="B1" t="str"><v>Weight</v></c><c r="C1" t="str"><v>Unit</v>'
        '</c></row><row r="2"><c r="A2" t="str"><v>Mia</v></c><c r="B2"><f>1+1.5</f></c><c r="C2" t="str">'
        "<f>IF(1,&quot;&quot;)</f><v></v></c></row>"
    )
    sheet = reading.read(data)
    assert sheet.rows[2][:2] == ["Mia", "#CALC!"]
    assert "".join(sheet.rows[2][2:]) == ""
    assert reading.NOT_COMPUTED.fullmatch(sheet.rows[2][1])


def test_the_first_visible_sheet_with_content_is_read() -> None:
    def more(book: Any) -> None:
        book.active.sheet_state = "hidden"
        book.create_sheet("Blank")
        orders = book.create_sheet("Orders")
        orders.append(["Name", "Suburb", "Note"])
        orders.append(["Mia", "Hobart"])

    sheet = reading.read(workbook(["Lookup"], before=more))
    assert (sheet.header, sheet.rows) == (["Name", "Suburb", "Note"], {2: ["Mia", "Hobart", ""]})


def test_further_sheets_that_are_not_empty_are_noted() -> None:
    def more(book: Any) -> None:
        for title in ("Blank", "December", "January"):
            book.create_sheet(title)
        book["December"].append(["Name"])
        book["January"].append([1])

    sheet = reading.read(workbook(["Name"], ["Mia"], before=more))
    assert (sheet.rows, sheet.notes) == ({2: ["Mia"]}, {"other_sheets": 2})
    assert reading.read(workbook(["Name"], ["Mia"])).notes == {}


def test_a_sheet_that_is_listed_thousands_of_times_is_read_once_more_at_most() -> None:
    def more(book: Any) -> None:
        book.create_sheet("December").append(["Name"])

    data = workbook(["Name"], ["Mia"], before=more)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        listed = archive.read("xl/workbook.xml")
    (december,) = re.findall(rb'<sheet [^>]*name="December"[^>]*/>', listed)
    data = with_part(data, "xl/workbook.xml", listed.replace(december, december * 10_000))
    assert reading.read(data).notes == {"other_sheets": 1}


def test_too_many_rows_or_columns_are_refused_as_in_any_other_file() -> None:
    with pytest.raises(reading.UnreadableFile, match="2,001 rows"):
        reading.read(workbook(["Name"], *(["Mia"] for _ in range(2001))))
    with pytest.raises(reading.UnreadableFile, match="201 columns"):
        reading.read(workbook([f"Column {at}" for at in range(300)], ["x"] * 300))


ENTITY = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>'
LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
NAMED = '<row r="1"><c r="A1" t="inlineStr"><is><t>{}</t></is></c></row>'
SHOWN = "<row>" + '<c t="s"><v>0</v></c>' * 3 + "</row>"
REFUSED: list[tuple[str, Callable[[], bytes], str]] = [
    ("unpacks to a gigabyte", lambda: with_part(workbook(["Name"]), SHEET, b" " * 200_000_000), workbooks.TOO_MUCH),
    ("holds a second file that does", lambda: with_part(workbook(["Name"]), "docProps/app.xml", b" " * 30_000_000),
     workbooks.TOO_MUCH),
    ("has millions of columns", lambda: sheet_of("<row>" + "<c/>" * 2_000_000 + "</row>"), workbooks.TOO_MUCH),
    ("has millions of attributes", lambda: sheet_of("<c " + 'a="" ' * 1_300_000 + "/>"), workbooks.TOO_MUCH),
    ("has a thousand files", lambda: with_parts(workbook(["Name"]), {f"x{at}": b"" for at in range(1000)}),
     workbooks.TOO_MUCH),
    ("has millions of cells", lambda: sheet_of("<row><c/><c/></row>" * 600_000), workbooks.TOO_MUCH),
    ("lists a sheet again and again", lambda: sheet_with(" \n" * 8_000_000, listed=5), workbooks.TOO_MUCH),
    ("has a thousand formats", lambda: sheet_with("", styles="".join(
        f'<numFmt numFmtId="{at}" formatCode="0"/>' for at in range(200, 1_200))), workbooks.TOO_MUCH),
    ("shows one text everywhere", lambda: sheet_with(SHOWN * 2_000, strings=f"<si><t>{'x' * 2_000}</t></si>"),
     workbooks.TOO_MUCH),
    ("has a row below the last", lambda: sheet_of(NAMED.format("Name") + '<row r="1048577"><c/></row>'),
     workbooks.DAMAGED),
    ("reads a file of ours", lambda: sheet_of(NAMED.format("&e;"), above=ENTITY), workbooks.DAMAGED),
    ("has entities of entities", lambda: sheet_of(NAMED.format("&b;"), above=LAUGHS), workbooks.DAMAGED),
    ("is cut short", lambda: workbook(["Name"], ["Mia"])[:-400], workbooks.DAMAGED),
    ("is another kind of ZIP", lambda: b"PK\x03\x04" + b"x" * 900, workbooks.DAMAGED),
    ("has no sheet", lambda: with_part(workbook(["Name"]), "xl/workbook.xml", b"<x/>"), "This file is empty."),
]  # fmt: skip


@pytest.mark.parametrize(("what", "data", "why"), REFUSED)
def test_a_workbook_that_takes_too_much_is_refused(what: str, data: Callable[[], bytes], why: str) -> None:
    packed = data()
    assert len(packed) < reading.MOST_BYTES, what
    tracemalloc.start()
    with pytest.raises(reading.UnreadableFile) as refusal:
        reading.read(packed)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (str(refusal.value), most < 60 * 1024 * 1024) == (why, True), f"{what}: {most:,} bytes"


@pytest.mark.parametrize("blank", ["", " "])
def test_a_text_in_every_cell_of_a_workbook_is_cut_where_no_cell_is_longer(blank: str) -> None:
    """Otherwise each of the cells would be as long as the largest part of a workbook."""
    text = f"<si><t>{blank}{'x' * 2_000_000}{blank}</t></si>"
    data = sheet_with("<row>" + '<c t="s"><v>0</v></c>' * 200 + "</row>", strings=text)
    ((_, cells),) = workbooks.read(data, reading.MOST_COLUMNS, reading.MOST_ROWS).lines
    assert {*cells.values()} == {"x" * (workbooks.LONGEST_CELL + 1)}


@pytest.mark.parametrize("cell", ['<c t="s"><v>0</v></c>', '<c t="inlineStr"><is><t>{}</t></is></c>'])
def test_a_cell_that_is_too_long_is_refused_however_many_blanks_it_begins_with(cell: str) -> None:
    text = " " * 3_000 + "x" * 2_001
    rows = row(1, "Name") + f"<row>{cell.format(text)}</row>"
    with pytest.raises(reading.UnreadableFile, match="A cell on row 2 has more than 2,000 characters"):
        reading.read(sheet_with(rows, strings=f"<si><t>{text}</t></si>"))


def test_a_part_larger_than_its_stated_size_is_refused() -> None:
    data = with_part(workbook(["Name"], ["Mia"]), SHEET, b" " * 50_000_000)
    size = (50_000_000).to_bytes(4, "little")
    assert data.count(size) >= 1
    with pytest.raises(reading.UnreadableFile):
        reading.read(data.replace(size, (5_000).to_bytes(4, "little")))


def row(number: int, text: str, given: str = "") -> str:
    return f'<row r="{number}" {given}><c t="inlineStr"><is><t>{text}</t></is></c></row>'


@pytest.mark.parametrize(
    ("given", "is_hidden"),
    [
        ('hidden="1"', True),
        ('hidden="true"', True),
        ('hidden="1" outlineLevel="1"', True),  # of a group that is closed
        ('ht="0" customHeight="1"', True),
        ('hidden="0"', False),
        ('hidden="false" outlineLevel="1"', False),
        ('ht="15" collapsed="1"', False),  # closes the group above it
    ],
)
def test_a_hidden_row_is_noted(given: str, is_hidden: bool) -> None:
    sheet = reading.read(sheet_of(row(1, "Name") + row(2, "Ann") + row(5, "Mia", given)))
    assert sheet.rows == {2: ["Ann"], 5: ["Mia"]}
    assert sheet.notes.get("hidden_rows", []) == ([5] if is_hidden else [])


def test_the_header_is_the_first_visible_row() -> None:
    sheet = reading.read(sheet_of(row(1, "order_name", 'hidden="1"') + row(2, "Name") + row(3, "Mia")))
    assert (sheet.header, sheet.rows) == (["Name"], {3: ["Mia"]})


@pytest.mark.parametrize("prefix", ["", "x:"])
def test_hidden_columns_are_read_and_noted(prefix: str) -> None:
    text = (
        f'<{prefix}worksheet xmlns{":x" if prefix else ""}="{MAIN}"><{prefix}cols><{prefix}col min="2" max="2" '
        f'hidden="1"/></{prefix}cols><{prefix}sheetData><{prefix}row><{prefix}c t="str"><{prefix}v>Name</{prefix}v>'
        f'</{prefix}c><{prefix}c t="str"><{prefix}v>Weight</{prefix}v></{prefix}c></{prefix}row><{prefix}row>'
        f'<{prefix}c t="str"><{prefix}v>Mia</{prefix}v></{prefix}c><{prefix}c><{prefix}v>2</{prefix}v></{prefix}c>'
        f"</{prefix}row></{prefix}sheetData></{prefix}worksheet>"
    )
    sheet = reading.read(with_part(workbook(["Name"]), SHEET, text.encode()))
    assert (sheet.rows, sheet.notes["hidden_columns"]) == ({2: ["Mia", "2"]}, [1])


def test_a_column_that_is_hidden_again_and_again_is_kept_once() -> None:
    again = '<cols><col min="2" max="2" hidden="1"/>' + "".join(
        f'<col min="{at}" max="{at}" hidden="1"/>' for at in (2, 2, -1, 0, *range(202, 9_000))
    ) + '<col min="2" max="3" hidden="1"/></cols>'  # fmt: skip
    data = sheet_of(f"<sheetData>{row(1, 'Name') + row(2, 'Mia')}</sheetData>", above="")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        text = archive.read(SHEET).replace(b"<sheetData>", again.encode() + b"<sheetData>", 1)
    table = workbooks.read(with_part(data, SHEET, text), reading.MOST_COLUMNS, reading.MOST_ROWS)
    assert table.hidden_columns == {2: 3}


def test_phonetic_text_is_ignored() -> None:
    spoken = '<is><t>Tokyo</t><rPh sb="0" eb="1"><t>toukyou</t></rPh></is>'
    sheet = reading.read(sheet_of(row(1, "Name") + f'<row><c t="inlineStr">{spoken}</c></row>'))
    assert sheet.rows == {2: ["Tokyo"]}


@pytest.mark.parametrize(("sheets", "is_read"), [(4, True), (5, False)])
def test_the_first_filled_sheet_must_be_one_of_the_first_five(sheets: int, is_read: bool) -> None:
    def blank_first(book: Any) -> None:
        for at in range(sheets):
            book.create_sheet(f"Blank {at}", 0)

    data = workbook(["Name"], ["Mia"], before=blank_first)
    if is_read:
        assert reading.read(data).rows == {2: ["Mia"]}
        return
    with pytest.raises(reading.UnreadableFile, match="first 5 sheets of this workbook are empty"):
        reading.read(data)
