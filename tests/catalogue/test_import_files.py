"""Odd files of parcels: each is read as intended or refused with a reason."""

import time
import tracemalloc
from typing import Any

import pytest

from shipping_portal.importing import delimited, reading
from shipping_portal.importing.forms import named_columns, shown_name
from shipping_portal.importing.reading import UnreadableFile
from tests.catalogue.rows import rows

HEAD = "Name,Suburb,Note\n"
ROW = "Priya Nair,Brunswick,porch\n"
PLAIN = (HEAD + ROW).encode()


@rows(
    "data, encoding, delimiter",
    ("C2", "UTF-8", PLAIN, "utf-8", ","),
    ("C2", "a byte-order mark", b"\xef\xbb\xbf" + PLAIN, "utf-8-sig", ","),
    ("C2", "UTF-16", (HEAD + ROW).encode("utf-16"), "utf-16", ","),
    ("C2", "cp1252", "Name,Suburb\nRené,Brunswick".encode("cp1252"), "cp1252", ","),
    ("C8", "semicolons", PLAIN.replace(b",", b";"), "utf-8", ";"),
    ("C8", "tabs", PLAIN.replace(b",", b"\t"), "utf-8", "\t"),
    ("C8", "a line that names the delimiter", b"sep=;\r\n" + PLAIN.replace(b",", b";"), "utf-8", ";"),
    ("C8", "a line break in the first name", b'"Name\n(first)";"Town, or city"\nPriya;Brunswick', "utf-8", ";"),
    ("C2", "UTF-16, big end first", b"\xfe\xff" + (HEAD + ROW).encode("utf-16-be"), "utf-16", ","),
    ("C8", "commas inside quotes", b'"Name, first";"Town, or city"\nPriya;Brunswick', "utf-8", ";"),
    ("C16", "CRLF", PLAIN.replace(b"\n", b"\r\n"), "utf-8", ","),
    ("C16", "CR alone", PLAIN.replace(b"\n", b"\r"), "utf-8", ","),
    ("C16", "blank lines", PLAIN + b"\n\n,,\n", "utf-8", ","),
)
def test_a_table_is_read_as_intended(data: bytes, encoding: str, delimiter: str) -> None:
    sheet = reading.read(data)
    assert (sheet.encoding, sheet.delimiter, len(sheet.rows)) == (encoding, delimiter, 1)
    [row] = sheet.rows.values()
    assert row[0].startswith(("Priya", "René"))


@rows(
    "typed, cell",
    ("C3", "a formula", "=HYPERLINK(1)", "=HYPERLINK(1)"),
    ("C3", "a plus", "+1", "+1"),
    ("C3", "an at sign", "@SUM", "@SUM"),
    ("C3", "a fullwidth equals sign", "＝1", "＝1"),
    ("C3", "a formula that an export kept from being one", "'=1+1", "=1+1"),
    ("C3", "an apostrophe of a name", "'t Hof", "'t Hof"),
    ("C3", "an apostrophe of a decade", "'90s vinyl", "'90s vinyl"),
    ("C3", "a postcode kept by an apostrophe", "'3056", "3056"),
    ("C3", "a ZIP+4 kept by an apostrophe", "'02155-1234", "02155-1234"),
    ("C3", "a phone kept by an apostrophe", "'0491 570 006", "0491 570 006"),
    ("C3", "a phone abroad kept by an apostrophe", "'+61 491 570 006", "+61 491 570 006"),
    ("C3", "two apostrophes", "''3056", "''3056"),
    ("C3", "a zero kept by a formula", '"=""0800"""', "0800"),
    ("C3", "a zero kept by a bare formula", '="0800"', "0800"),
    ("C16", "a line break in quotes", '"porch\nleft"', "porch\nleft"),
    ("C16", "quotes in quotes", '"the ""red"" door"', 'the "red" door'),
)
def test_a_cell_stays_text(typed: str, cell: str) -> None:
    assert reading.read(f"Name,Note\nPriya,{typed}\n".encode()).rows == {2: ["Priya", cell]}


@rows(
    "data, sentence",
    ("C1", "nothing", b"", "This file is empty."),
    ("C1", "only blanks", b" \r\n ", "This file is empty."),
    ("C1", "only a mark", b"\xef\xbb\xbf", "This file is empty."),
    ("C1", "a header alone", HEAD.encode(), "no rows below it"),
    ("C2", "bytes of no encoding", PLAIN + b"caf\xc3\x28\x81", "A character on line 3 cannot be read."),
    ("C2", "half of a UTF-16 character", b"\xff\xfea", "A character on line 1 cannot be read."),
    ("C7", "a quotation mark without its pair in the first line", b'Name,"Note\nPriya,porch\n', "don't pair up"),
    ("C7", "a cell of 200 kB", HEAD.encode() + b"x" * 200_000, "more than 2,000 characters"),
    ("C7", "a cell of 3,000 characters", HEAD.encode() + b"x" * 3000, "A cell on row 2 has more than 2,000"),
    ("C7", "NUL", HEAD.encode() + b"Pri\x00ya", "binary data"),
    ("C9", "2,001 rows", HEAD.encode() + ROW.encode() * 2001, "This file has 2,001 rows. One import takes"),
    ("C9", "more than 2 MB", b"x" * (reading.MOST_BYTES + 1), "larger than 2 MB"),
    ("C9", "300 columns", b"a," * 300 + b"\n1,2", "301 columns"),
    ("C9", "a row too many below blank lines", HEAD.encode() + b"\n" * 9000 + ROW.encode() * 2001, "2,001 rows"),
    ("C2", "UTF-16 without its mark", (HEAD + ROW).encode("utf-16-le"), "binary data"),
    ("C10", "random bytes", bytes(range(256)) * 40, "binary data"),
    ("C10", "xlsx", b"PK\x03\x04rest", "Save as, then CSV"),
    ("C10", "xls", b"\xd0\xcf\x11\xe0rest", "Save as, then CSV"),
    ("C10", "PDF", b"%PDF-1.7", "This is a PDF."),
    ("C10", "PNG", b"\x89PNG\r\n", "This is a picture."),
)  # fmt: skip
def test_a_file_that_cannot_be_imported_is_refused_with_a_reason(data: bytes, sentence: str) -> None:
    began = time.process_time()
    with pytest.raises(UnreadableFile) as refused:
        reading.read(data)
    assert sentence in str(refused.value)
    assert time.process_time() - began < 1


def test_rows_are_numbered_as_in_a_spreadsheet() -> None:
    """Blank lines count, and a cell of two lines counts once."""
    text = 'Name,Note\n\nPriya,"porch\nleft"\n,\nNoor,gate\n'
    assert reading.read(text.encode()).rows == {3: ["Priya", "porch\nleft"], 5: ["Noor", "gate"]}


def test_columns_with_the_same_name_are_kept_separate() -> None:
    header = reading.read(b"Name,Note,NOTE\nPriya,porch,left").header
    assert named_columns(header) == [("0", "Name"), ("1", "Note (column 2)"), ("2", "NOTE (column 3)")]


def test_many_blank_lines_take_little_memory() -> None:
    data = b"Name,Suburb\n" + b",\n" * (delimited.MOST_LINES - 2) + ROW.encode()
    tracemalloc.start()
    assert len(reading.read(data).rows) == 1
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 4 * 1024 * 1024


def test_two_thousand_rows_are_read() -> None:
    assert len(reading.read(HEAD.encode() + ROW.encode() * 2000).rows) == 2000


@rows(
    "name, shown",
    ("C11", "a path", "../../x.csv", "x.csv"),
    ("C11", "a Windows path", "C:\\orders\\x.csv", "x.csv"),
    ("C11", "a header", "a\r\nX: y.csv", "a  X: y.csv"),
)
def test_a_files_name_is_shown_without_its_path(name: str, shown: str) -> None:
    assert shown_name(name) == shown


def header_of(*names: str) -> Any:
    return reading.read((",".join(names) + "\n1,2,3").encode()).fingerprint


def test_a_header_is_recognised_in_another_case_and_with_a_column_of_reasons() -> None:
    assert header_of("Name", "Suburb") == header_of("NAME", " suburb ") == header_of("Name", "Suburb", "Reason")
    assert header_of("Name", "Suburb") != header_of("Suburb", "Name")
