"""A pasted address: how each format is read, and what is left for the sender to sort out."""

from typing import Any

import pytest

from orders.drafting import pasting

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("localities")]

PRIYA = {"name": "Priya Nair", "line1": "4 Sample Street", "suburb": "Hobart", "state": "TAS", "postcode": "7000",
         "country": "AU"}  # fmt: skip
NOWHERE = {"suburb": "Nowhere", "state": "TAS", "postcode": "7999"}
MAIL = {"email": "priya.nair@example.net"}
PHONE = {"phone": "0491 570 156"}
AVERY = {"name": "Avery Lund", "line1": "500 Placeholder Ave", "suburb": "Portland", "state": "OR",
         "postcode": "97205", "country": "US"}  # fmt: skip
OTTAWA = {"name": "Jo Roy", "line1": "90 Sample Street", "suburb": "Ottawa", "state": "ON", "postcode": "K1P 5M7",
          "country": "CA"}  # fmt: skip

READ: dict[str, tuple[str, str, dict[str, Any], list[str]]] = {
    "an envelope": ("AU", "Priya Nair\n4 Sample Street\nHobart TAS 7000", PRIYA, []),
    "the fields of a form": (
        "AU",
        "Name: Priya Nair\nStreet: 4 Sample Street\nSuburb: Hobart\nState: TAS\nPost code: 7000\nCountry: Australia",
        PRIYA,
        [],
    ),
    "NUL characters, which no database keeps": (
        "AU",
        "Pri\0ya Nair\n4 Sample Street\ngate code\0 42\nHobart TAS 7000",
        PRIYA,
        ["gate code 42"],
    ),
    "capitals": ("AU", "Priya Nair\n4 Sample Street\nHOBART TAS 7000\nAUSTRALIA", PRIYA, []),
    "one line": ("AU", "Priya Nair, 4 Sample Street, Hobart TAS 7000, priya.nair@example.net", PRIYA | MAIL, []),
    "cells of a spreadsheet's row": (
        "AU",
        "Priya Nair\tNair Ceramics Pty Ltd\t4 Sample Street\tHobart\tTAS\t7000",
        PRIYA | {"company": "Nair Ceramics Pty Ltd"},
        [],
    ),
    "one line without commas": ("AU", "Priya Nair 4 Sample Street Hobart TAS 7000", PRIYA, []),
    "the state after the postcode": ("AU", "Priya Nair\n4 Sample Street\nHobart 7000 TAS", PRIYA, []),
    "the state in full": ("AU", "Priya Nair\n4 Sample Street\nHobart, Tasmania, 7000", PRIYA, []),
    "a line for each part": ("AU", "Priya Nair\n4 Sample Street\nHobart\nTasmania\n7000\nAustralia", PRIYA, []),
    "with a company": (
        "AU",
        "Priya Nair\nNair Ceramics Pty Ltd\n4 Sample Street\nHobart TAS 7000",
        PRIYA | {"company": "Nair Ceramics Pty Ltd"},
        [],
    ),
    "the company first": (
        "AU",
        "Nair Ceramics Pty Ltd\nPriya Nair\n4 Sample Street\nHobart TAS 7000",
        PRIYA | {"company": "Nair Ceramics Pty Ltd"},
        [],
    ),
    "a unit below the street": (
        "AU",
        "Priya Nair\n4 Sample Street\nUnit 3\nHobart TAS 7000",
        PRIYA | {"line2": "Unit 3"},
        [],
    ),
    "a unit in front of the street": (
        "AU",
        "Priya Nair\nUnit 3, 4 Sample Street\nHobart TAS 7000",
        PRIYA | {"line2": "Unit 3"},
        [],
    ),
    "a PO box": ("AU", "Priya Nair\nPO Box 12\nHobart TAS 7000", PRIYA | {"line1": "PO Box 12"}, []),
    "a gate code": (
        "AU",
        "Priya Nair\n4 Sample Street\ngate code 42\nHobart TAS 7000\npriya.nair@example.net",
        PRIYA | MAIL,
        ["gate code 42"],
    ),
    "a signature": (
        "AU",
        ("--\nPriya Nair\nNair Ceramics\n4 Sample Street, Hobart TAS 7000\nM: 0491 570 156\nE: priya.nair@example.net"),
        PRIYA | MAIL | PHONE | {"company": "Nair Ceramics"},
        [],
    ),
    "an order confirmation": (
        "AU",
        (
            "Order #1042\nShip to:\nPriya Nair\n4 Sample Street\nHobart Tasmania 7000\nAustralia\n"
            "Phone: +61 491 570 156\nTotal: $48.00"
        ),
        PRIYA | PHONE,
        ["Order #1042", "Total: $48.00"],
    ),
    "labels before the parts": (
        "AU",
        "Name: Priya Nair\nAddress: 4 Sample Street\nHobart TAS 7000\nEmail: priya.nair@example.net",
        PRIYA | MAIL,
        [],
    ),
    "a word of the place that the list has not": (
        "AU",
        "Priya Nair\n4 Sample Street\nNorth Hobart TAS 7000",
        PRIYA,
        ["North"],
    ),
    "a house number like a postcode": (
        "AU",
        "Priya Nair\n7000 Sample Street\nHobart TAS 7000",
        PRIYA | {"line1": "7000 Sample Street"},
        [],
    ),
    "the United States": ("US", "Avery Lund\n500 Placeholder Ave\nPortland, OR 97205", AVERY, []),
    "a ZIP+4 and a phone": (
        "US",
        "Avery Lund\n500 Placeholder Ave Apt 5\nPortland, OR 97205-1234\nUSA\n(503) 226-0142",
        AVERY | {"line1": "500 Placeholder Ave Apt 5", "phone": "(503) 226-0142"},
        [],
    ),
    "abroad": ("AU", "Avery Lund\n500 Placeholder Ave\nPortland, Oregon 97205\nUnited States", AVERY, []),
    "Canada": ("CA", "Jo Roy\n90 Sample Street\nOttawa ON K1P 5M7", OTTAWA, []),
    "Canada without the space": ("CA", "Jo Roy, 90 Sample Street, Ottawa ON k1p5m7, Canada", OTTAWA, []),
    "a rural route": (
        "US",
        "Avery Lund\nRural Route 2 Box 15\nPortland OR 97205",
        AVERY | {"line1": "Rural Route 2 Box 15"},
        [],
    ),
    "a rural route by its letters": ("CA", "Jo Roy\nRR 2\nOttawa ON K1P 5M7", OTTAWA | {"line1": "RR 2"}, []),
    "a street with a number for its name": (
        "US",
        "Avery Lund, 350 5th Ave, Suite 21, Portland, OR 97205",
        AVERY | {"line1": "350 5th Ave", "line2": "Suite 21"},
        [],
    ),
    "a box of the general post office": (
        "AU",
        "Priya Nair\nGPO Box 12\nHobart TAS 7000",
        PRIYA | {"line1": "GPO Box 12"},
        [],
    ),
    "a private bag": ("AU", "Priya Nair\nPrivate Bag 12\nHobart TAS 7000", PRIYA | {"line1": "Private Bag 12"}, []),
    "digits as wide as Japanese ones": ("AU", "Priya Nair\n４ Sample Street\nHobart TAS ７０００", PRIYA, []),
    "a place not on the list": (
        "AU",
        "Priya Nair\n4 Sample Street\nNowhere TAS 7999\npriya.nair@example.net",
        PRIYA | MAIL | NOWHERE,
        [],
    ),
    "a place not on the list, on one line": (
        "AU",
        "Priya Nair, 4 Sample Street, Nowhere, TAS 7999",
        PRIYA | NOWHERE,
        [],
    ),
    "a place not on the list, after its street": (
        "AU",
        "Priya Nair\n4 Sample Street Nowhere TAS 7999",
        PRIYA | NOWHERE,
        [],
    ),
    "a foreign place where nothing goes": (
        "CA",
        "Priya Nair\n4 Sample Street\nHobart TAS 7000",
        {},
        ["Priya Nair", "4 Sample Street", "Hobart TAS 7000"],
    ),
    "two addresses under headings": (
        "AU",
        (
            "Shipping address\nPriya Nair\n4 Sample Street\nHobart TAS 7000\nAustralia\n\n"
            "Billing address\nAvery Lund\n5 Other Street\nBrunswick VIC 3056\nAustralia"
        ),
        PRIYA,
        ["Avery Lund", "5 Other Street", "Brunswick VIC 3056"],
    ),
    "the address of the bill first": (
        "AU",
        "BILL TO:\nAvery Lund\n5 Other Street\nBrunswick VIC 3056\nSHIP TO:\nPriya Nair\n4 Sample Street\nHobart TAS 7000",
        PRIYA,
        ["Avery Lund", "5 Other Street", "Brunswick VIC 3056"],
    ),
    "from and to": (
        "AU",
        "From: Quill, 5 Other Street, Brunswick VIC 3056, 03 9000 1234\nTo: Priya Nair, 4 Sample Street, Hobart TAS 7000",
        PRIYA,
        ["Quill, 5 Other Street, Brunswick VIC 3056, 03 9000 1234"],
    ),
    "an email's from and to": (
        "AU",
        "From: <priya.nair@example.net>\nTo: shop@quill.example\nPriya Nair\n4 Sample Street\nHobart TAS 7000",
        PRIYA | MAIL,
        ["shop@quill.example"],
    ),
    "a page of an order": (
        "AU",
        (
            "Customer\nAvery Lund\npriya.nair@example.net\nShipping address\nPriya Nair\n4 Sample Street\nHobart TAS 7000\n"
            "0491 570 156\nBilling address\nSame as shipping address"
        ),
        PRIYA | MAIL | PHONE,
        ["Customer", "Avery Lund", "Same as shipping address"],
    ),
    "only the address of a bill": ("AU", "Billing address:\nPriya Nair\n4 Sample Street\nHobart TAS 7000", PRIYA, []),
    "two addresses of which none is the receiver's for certain": (
        "AU",
        "Priya Nair\n4 Sample Street\nHobart TAS 7000\n\nAvery Lund\n5 Other Street\nBrunswick VIC 3056",
        {},
        ["Priya Nair", "4 Sample Street", "Hobart TAS 7000", "Avery Lund", "5 Other Street", "Brunswick VIC 3056"],
    ),
    "one address twice": (
        "AU",
        "Priya Nair\n4 Sample Street\nHobart TAS 7000\nPriya Nair\n4 Sample Street\nHobart TAS 7000",
        PRIYA,
        ["Hobart TAS 7000", "Priya Nair", "4 Sample Street"],
    ),
    "another place below the address": (
        "AU",
        "Priya Nair\n4 Sample Street\nHobart TAS 7000\nwritten in Brunswick 3056",
        PRIYA,
        ["written in Brunswick 3056"],
    ),
    "two phones above the street": (
        "AU",
        "Priya Nair\n0491 570 156\n(03) 9000 1234\n4 Sample Street\nHobart TAS 7000",
        PRIYA | PHONE,
        ["(03) 9000 1234"],
    ),
    "nothing": ("AU", " \n ", {}, []),
}


@pytest.mark.parametrize(("home", "text", "parts", "left"), READ.values(), ids=READ.keys())
def test_each_address_format_is_parsed(home: str, text: str, parts: dict[str, str], left: list[str]) -> None:
    pasted = pasting.read(text, home)
    found = {name: value for name, value in pasted.parts.items() if value}
    assert {**found, "suburb": found.get("suburb", "").title()} == {**parts, "suburb": parts.get("suburb", "")}
    assert pasted.left == left


def test_a_very_long_text_is_read_up_to_a_limit() -> None:
    assert pasting.read("7000 " * 4000, "AU").parts == {}


def test_text_beyond_the_limit_is_shown_and_not_lost() -> None:
    text = "Priya Nair\n4 Sample Street\nHobart TAS 7000\n" + "x" * pasting.LONGEST
    pasted = pasting.read(text, "AU")
    assert pasted.parts["line1"] == "4 Sample Street"
    assert "".join(pasted.left) == "x" * pasting.LONGEST


@pytest.mark.parametrize(("length", "is_left"), [(255, False), (256, True)])
def test_a_line_longer_than_a_field_is_not_used_and_is_shown(length: int, is_left: bool) -> None:
    line = "4 Sample Street ".ljust(length, "x")
    pasted = pasting.read(f"Priya Nair\n{line}\nHobart TAS 7000", "AU")
    assert (line in pasted.left, pasted.parts.get("line1") == line) == (is_left, not is_left)


@pytest.mark.parametrize(("numbers", "is_found"), [(4, True), (5, False)])
def test_the_postcode_is_one_of_the_last_five_lines(numbers: int, is_found: bool) -> None:
    text = "Priya Nair\n4 Sample Street\nHobart TAS 7000\n" + "order 1234\n" * numbers
    assert ("suburb" in pasting.read(text, "AU").parts) == is_found


@pytest.mark.parametrize(
    "text", ["abc 3121 " * 222, "1234 " * 400, "Hobart 7000x 7000 " * 111, "Melbourne 3000 Carlton 3053 " * 71]
)
def test_a_text_full_of_postcodes_takes_one_lookup(text: str, django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(2):
        pasting.read(text, "AU")
