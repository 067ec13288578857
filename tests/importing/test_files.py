"""What stands in a shop's file besides its orders."""

import pytest

from shipping_portal.importing import reading
from tests.importing.shop_files import EBAY_AU, export
from tests.table import table

ROW = {"Order number": "12-00345-67890", "Post to name": "Priya Nair", "Item title": "Mug"}


@table(
    "below",
    [
        '"1","record(s) downloaded,"," from 1-Nov-26 to 20-Nov-26"\r\nSeller ID : quillmugs\r\n',
        "1 record(s) downloaded,,,\r\nSeller ID: quillmugs,,,\r\n",
        "record(s) downloaded\r\nSeller ID : quillmugs\r\n",
    ],
)
@table("above", [b"", b"\r\n", b",,,,,,\r\n"])
def test_lines_around_the_orders_are_no_rows(above: bytes, below: str) -> None:
    sheet = reading.read(above + export(EBAY_AU, {}, ROW) + b"\r\n" + below.encode())
    assert sheet.header[1] == "Order number"
    assert len(sheet.rows) == 1
    assert [text.partition(" from")[0].strip(",: 1") for text in sheet.dropped] == [
        "record(s) downloaded",
        "Seller ID : quillmugs" if "Seller ID :" in below else "Seller ID: quillmugs",
    ]


def test_an_order_that_only_mentions_records_stays() -> None:
    row = ROW | {"Item title": "Vinyl record(s) downloaded cover"}
    sheet = reading.read(export(EBAY_AU, row))
    assert (len(sheet.rows), sheet.dropped) == (1, ())


@table("data", [b",,,\n,,,\n", b"sep=,\n", b'" "\n', b"\n" * 30])
def test_a_file_of_signs_alone_is_empty(data: bytes) -> None:
    with pytest.raises(reading.UnreadableFile, match="empty"):
        reading.read(data)
