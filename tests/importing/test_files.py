"""What a shop's file contains apart from its orders."""

import pytest

from shipping_portal.importing import delimited, reading
from tests.importing.shop_files import EBAY_AU, export

ROW = {"Order number": "12-00345-67890", "Post to name": "Priya Nair", "Item title": "Mug"}


@pytest.mark.parametrize(
    "below",
    [
        '"1","record(s) downloaded,"," from 1-Nov-26 to 20-Nov-26"\r\nSeller ID : quillmugs\r\n',
        "1 record(s) downloaded,,,\r\nSeller ID: quillmugs,,,\r\n",
        "record(s) downloaded\r\nSeller ID : quillmugs\r\n",
    ],
)
@pytest.mark.parametrize("above", [b"", b"\r\n", b",,,,,,\r\n"])
def test_lines_above_and_below_the_orders_are_not_rows(above: bytes, below: str) -> None:
    sheet = reading.read(above + export(EBAY_AU, {}, ROW) + b"\r\n" + below.encode())
    assert sheet.header[1] == "Order number"
    assert len(sheet.rows) == 1
    assert [text.partition(" from")[0].strip(",: 1") for text in sheet.dropped] == [
        "record(s) downloaded",
        "Seller ID : quillmugs" if "Seller ID :" in below else "Seller ID: quillmugs",
    ]


def test_an_order_that_mentions_downloaded_records_is_still_a_row() -> None:
    row = ROW | {"Item title": "Vinyl record(s) downloaded cover"}
    sheet = reading.read(export(EBAY_AU, row))
    assert (len(sheet.rows), sheet.dropped) == (1, ())


@pytest.mark.parametrize("data", [b",,,\n,,,\n", b"sep=,\n", b'" "\n', b"\n" * 30])
def test_a_file_with_only_punctuation_is_empty(data: bytes) -> None:
    with pytest.raises(reading.UnreadableFile, match="empty"):
        reading.read(data)


@pytest.mark.parametrize(("blank", "is_read"), [(delimited.MOST_LINES - 2, True), (delimited.MOST_LINES - 1, False)])
def test_blank_lines_count_towards_the_limit(blank: int, is_read: bool) -> None:
    data = b"name\n" + b"\n" * blank + b"Mia\n"
    if is_read:
        assert reading.read(data).rows == {delimited.MOST_LINES: ["Mia"]}
        return
    with pytest.raises(reading.UnreadableFile, match="more than 40,000 lines"):
        reading.read(data)


BAD = 'name,suburb,weight\n"Pat,"A,1\nJo,B,2\n"Zoe" x,C,3\nOk,"D, E",4\n"never,F,5\nlast,G,6\n'


def test_a_line_with_an_unpaired_quotation_mark_is_one_row_to_fix() -> None:
    sheet = reading.read(BAD.encode())
    assert sheet.rows == {
        2: ['"Pat', '"A', "1"],
        3: ["Jo", "B", "2"],
        4: ['"Zoe" x', "C", "3"],
        5: ["Ok", "D, E", "4"],
        6: ['"never', "F", "5"],
        7: ["last", "G", "6"],
    }
    assert sheet.notes["bad_rows"] == [2, 4, 6]


def test_a_quotation_mark_never_joins_two_rows() -> None:
    """Without the mark each line has all the header's cells. A two-line address in one cell stays one cell."""
    joined = reading.read(b'name,item,note\nPat,"Cozy Mug,1\nJo,Dad",2\n')
    assert joined.rows == {2: ["Pat", '"Cozy Mug', "1"], 3: ["Jo", 'Dad"', "2"]}
    assert joined.notes["bad_rows"] == [2]
    address = reading.read(b'name,address,note\nPat,"Unit 1, 2 A St\nBack door",x\n')
    assert address.rows == {2: ["Pat", "Unit 1, 2 A St\nBack door", "x"]}
    assert "bad_rows" not in address.notes


def test_a_quotation_mark_behind_a_space_begins_a_cell() -> None:
    sheet = reading.read(b'name, address, note\n"Poe, Pat", "Unit 1, 2 A St", "x"\nJo,  "3 B St", 5" plate\n')
    assert sheet.rows == {2: ["Poe, Pat", "Unit 1, 2 A St", "x"], 3: ["Jo", "3 B St", '5" plate']}
    assert "bad_rows" not in sheet.notes


@pytest.mark.parametrize("quote", ["", '"'])
def test_each_file_of_joined_ones_begins_with_a_mark_that_is_no_letter(quote: str) -> None:
    header, row = f"{quote}name{quote},{quote}suburb, state{quote},note\n", f"{quote}Pat{quote},A,x\n"
    header = header if quote else header.replace("suburb, state", "suburb")
    one = f"\ufeff{header}{row}"
    sheet = reading.read(f"\ufeff{one}{one}\ufeff{row}".encode())
    assert sheet.header[0] == "name"
    assert list(sheet.rows.values()) == [["Pat", "A", "x"]] * 3
    assert len(sheet.dropped) == 1


@pytest.mark.parametrize(("bad", "is_read"), [(delimited.MOST_BAD, True), (delimited.MOST_BAD + 1, False)])
def test_a_file_with_many_unpaired_quotation_marks_is_refused(bad: int, is_read: bool) -> None:
    data = b"name,note\n" + b'"Pat" x,y\n' * bad
    if is_read:
        assert len(reading.read(data).rows) == bad
        return
    with pytest.raises(reading.UnreadableFile, match="don't pair up"):
        reading.read(data)


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ('name\tnote\n"Pat\nPoe"\tx\n', ["Pat\nPoe", "x"]),  # as a spreadsheet copies a cell of two lines
        ('name\tnote\n"Pat ""Mug"" Poe"\tx\n', ['Pat "Mug" Poe', "x"]),
        ('name\tnote\n"Pat\tx\nJo"\ty\n', ['"Pat', "x"]),
        ('name\tnote\n"Pat" Poe\tx\n', ['"Pat" Poe', "x"]),
        ('name\tnote\n5" plate\tx\n', ['5" plate', "x"]),
    ],
)
def test_quotation_marks_in_a_tabbed_file_count_only_if_the_whole_file_fits_them(text: str, cells: list[str]) -> None:
    assert next(iter(reading.read(text.encode()).rows.values())) == cells


ORDERS = "Order,Name,Street,Item\n1,{name},{street},{item}\n"


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("Pat O&#039;Brien", "Pat O'Brien"),
        ("Pat O&#x27;Brien", "Pat O'Brien"),
        ("Mug &amp; saucer", "Mug & saucer"),
        ("Mug &amp;amp; saucer", "Mug & saucer"),
        ("&quot;Blue&quot; mug", '"Blue" mug'),
        ("Jos&eacute; Diaz", "José Diaz"),
        ("2&nbsp;mugs", "2\u00a0mugs"),
        ("1 High St<br />Unit 4", "1 High St\nUnit 4"),
        ("R&D; Lab", "R&D; Lab"),
        ("Salt & pepper; cups", "Salt & pepper; cups"),
        ("&nosuch; <b>", "&nosuch; <b>"),
    ],
)
def test_signs_that_a_shop_wrote_for_a_web_page_are_read_as_people_see_them(written: str, seen: str) -> None:
    sheet = reading.read(ORDERS.format(name=written, street=written, item=written).encode())
    assert sheet.rows == {2: ["1", seen, seen, seen]}


@pytest.mark.parametrize("between", [",", "\t"])
@pytest.mark.parametrize(("length", "is_read"), [(300, True), (301, False), (600_000, False)])
def test_a_column_with_a_name_of_a_page_is_refused(between: str, length: int, is_read: bool) -> None:
    """Each name is compared with all fields, and shown at each of them: two megabytes became sixty."""
    data = between.join(["Name", *["ﷺ" * min(length, 40_000)] * (1 + length // 40_000)]) + f"\nMia{between}1\n"
    if is_read:
        assert reading.read(data.encode()).header == ["Name", "ﷺ" * length]
        return
    with pytest.raises(reading.UnreadableFile, match="The name of a column has more than 300 characters"):
        reading.read(data.encode())


def test_a_column_name_has_no_signs_of_a_web_page() -> None:
    assert reading.read(b"Order,Name &amp; company\n1,Ada\n").header == ["Order", "Name & company"]


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("'2 Low St", "2 Low St"),
        ("'12/3 High St", "12/3 High St"),
        ("'12A Low St", "12A Low St"),
        ("'1/2", "1/2"),
        ("'0800", "0800"),
        ("'90s posters", "'90s posters"),
        ("'t Hooft", "'t Hooft"),
        ("'2 cups' set", "'2 cups' set"),
    ],
)
def test_a_mark_that_keeps_a_street_from_being_a_date_is_not_part_of_it(written: str, seen: str) -> None:
    assert reading.read(ORDERS.format(name="Ada", street=written, item="Mug").encode()).rows[2][2] == seen


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"<html><body><table><tr><th>Order</th></tr>\n<tr><td>1</td></tr></table>", "a web page or XML"),
        (b"\xef\xbb\xbf\r\n<!DOCTYPE html>\n<html>", "a web page or XML"),
        ("<table>\n<tr>".encode("utf-16"), "a web page or XML"),
        (b'<?xml version="1.0"?>\n<Workbook/>', "a web page or XML"),
        (b'[{"order": "1", "name": "Ada"}]\n', "JSON"),
        (b'{\n  "orders": []\n}', "JSON"),
        (b"BEGIN:VCARD\nFN:Ada Alder\nEND:VCARD\n", "contact cards"),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_what_it_is(data: bytes, why: str) -> None:
    with pytest.raises(reading.UnreadableFile, match=why):
        reading.read(data)


def test_the_sign_that_ends_an_old_programs_file_is_no_row() -> None:
    assert reading.read(b"Order,Name\r\n1,Ada\r\n\x1a").rows == {2: ["1", "Ada"]}


@pytest.mark.parametrize(
    ("names", "units", "header"),
    [
        ("Name,Weight,Length", ",oz,cm", ["Name", "Weight (oz)", "Length (cm)"]),
        ("Name,Weight,Length", ",(g),[mm]", ["Name", "Weight (g)", "Length (mm)"]),
        ("Name,Weight,Length", ",Grams,", ["Name", "Weight (Grams)", "Length"]),
        ("Name,Weight,Length", ",g,cm,,", ["Name", "Weight (g)", "Length (cm)"]),
        ("Name,Weight,Length", ",g,cm,cm", None),
        ("Name,Weight,Length", ",2,cm", None),
        ("Name,Weight,Length", "Ada,g,cm", None),
        ("Name,Weight (kg),Length", ",g,cm", None),
    ],
)
def test_units_on_a_line_of_their_own_belong_to_the_names_above(
    names: str, units: str, header: list[str] | None
) -> None:
    sheet = reading.read(f"{names}\n{units}\nAda,20,30\n".encode())
    assert sheet.header == (header or names.split(","))
    assert [*sheet.rows] == ([3] if header else [2, 3])
    assert len(sheet.dropped) == bool(header)
