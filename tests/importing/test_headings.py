"""The names of columns, and which line they are on."""

import pytest

from shipping_portal.importing import headings, reading


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("ShipToZipCode", "ship to zip code"),
        ("ship_to_zip_code", "ship to zip code"),
        ("SAAddressLine1", "sa address line 1"),
        ("RecipientZIP", "recipient zip"),
        ("Address1", "address 1"),
        ("Shipping Address1", "shipping address 1"),
        ("address_line1", "address line 1"),
        ("LxWxH", "lxwxh"),
        ("Company (optional)", "company"),
        ("eBay Plus", "ebay plus"),
        ("[ship_to_ZIP]", "ship to zip"),
        ("SKU", "sku"),
    ],
)
def test_a_column_name_without_blanks_is_split_into_words(name: str, plain: str) -> None:
    assert headings.plain(name) == plain


HEADER = "Name,Street,Suburb,Postcode"
ROW = "Ada Alder,3 Sampling Street,Brunswick,3056"


@pytest.mark.parametrize(
    ("above", "dropped"),
    [
        ("", ()),
        ("Orders for November,,,\n", ("Orders for November",)),
        ("Orders for November\n", ("Orders for November",)),
        ("Orders,,,\nPrinted 27/11/2026,,,\n,,,\n", ("Orders", "Printed 27/11/2026")),
        ("Deliver to,,Place,\n", ("Deliver to Place",)),
        ("Orders for November,,,\nDeliver to,,Place,\n", ("Orders for November", "Deliver to Place")),
    ],
)
def test_lines_above_the_column_names_are_left_out(above: str, dropped: tuple[str, ...]) -> None:
    sheet = reading.read(f"{above}{HEADER}\n{ROW}\n{HEADER}\n{ROW}\n".encode())
    assert sheet.header == HEADER.split(",")
    assert list(sheet.rows.values()) == [ROW.split(","), ROW.split(",")]
    assert sheet.dropped == (*dropped, "Name Street Suburb Postcode")


@pytest.mark.parametrize("first", ["Name,Street,,", "Name,Street,Suburb,"])
def test_the_first_line_is_the_header_if_it_has_over_half_as_many_names(first: str) -> None:
    below = "Note,Second,Third,Fourth" if first.count(",,") == 0 else "Note,Second,Third,"
    assert reading.read(f"{first}\n{below}\n{ROW}".encode()).header[:2] == ["Name", "Street"]


@pytest.mark.parametrize("row", [ROW, "Ada Alder,ada@shop.example,Brunswick,VIC", "Ada,Ada,Brunswick,VIC"])
def test_a_row_of_values_is_never_the_header(row: str) -> None:
    assert reading.read(f"Name\n{row}\n".encode()).header == ["Name"]


def test_a_title_may_be_followed_by_groups_of_three_names() -> None:
    groups = "Who,Where,,,What,,"
    names = "Name,Street,Suburb,Postcode,Item,Weight"
    sheet = reading.read(f"Orders\n{groups}\n{names}\nAda Alder,3 Low St,Brunswick,3056,Mug,2\n".encode())
    assert (sheet.header, sheet.dropped) == (names.split(","), ("Orders", "Who Where What"))
