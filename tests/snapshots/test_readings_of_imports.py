"""How a file of orders is read: its bytes and its columns."""

from itertools import product
from typing import Any

import pytest

from shipping_portal.accounts.models import PickupAddress, Sender
from shipping_portal.importing import columns, delimited, guessing, reading, row_values
from shipping_portal.importing.models import Import
from tests.importing.shop_files import MATCHES
from tests.snapshots.comparing import compare
from tests.snapshots.tables import lines

TWO = b"Name,City\nAna,Hobart\n"
FILES: tuple[bytes, ...] = (
    TWO, TWO.replace(b",", b"\t"), TWO.replace(b",", b";"), TWO.replace(b",", b"|"), TWO.replace(b"\n", b"\r\n"),
    TWO.replace(b"\n", b"\r"),
    b"\xef\xbb\xbf" + TWO, TWO.decode().encode("utf-16"), b"\xfe\xff" + TWO.decode().encode("utf-16-be"),
    TWO.replace(b"a,", b"\xe9,"),
    "Name\nZoë\n".encode(), b"Name\n\x81\n", b"a\n\x00", b"\xff\xfe\x00\x00a", b"", b" \n ", b"sep=;\na,b;c\n1;2",
    b"sep=:\na,b\n1,2", b"SEP=\t\r\na\tb\n1",
    b"a,b\n", b"a,,c\n1,2,3", b"\n\na,b\n\n1,2\n\n3,4\n", b'"a;b",c\n1,2', b'"a,a,a";b;c\n1;2;3', b"a\n1,2,3",
    b'a,b\n"1,2\n', b'a,b\n"1" x,2\n', b'a,b\n"1\n2",3\n4,5',
    b'a\n="0800"\n\'0800\n\'=1+1\n\'x\n\'+61 491\n="a"b"\n"=""0400"""', b"PK\x03\x04zip", b"\xd0\xcf\x11\xe0",
    b"%PDF-1", b"\x89PNG", b"\xff\xd8\xff",
    b"a,b\n1,2\n2 record(s) downloaded,x\nSeller ID: q\n3,4\n", b"a\n1,000record(s) downloaded\nseller id :x",
    b"a\nvinyl record(s) downloaded",
    b"a\n" + b"x" * 2000, b"a\n" + b"x" * 2001, b",".join([b"a"] * 200) + b"\n1", b",".join([b"a"] * 201) + b"\n1",
    b"a\n" + b"1\n" * 2000,
    b"a\n" + b"1\n" * 2001, b"a\n" + b" " * (2 * 1024 * 1024 - 3) + b"1",
    b"a\n" + b" " * (2 * 1024 * 1024 - 2) + b"1", b"a,b\n" + b"x" * 140_000,
    b"a b\n1", b"a,b;c;d\n1;2", b"a\xff\n", b"Name,Reason\n1,2", b"name , REASON\n1", b"Name\n1",
)  # fmt: skip


def sheet(data: bytes) -> Any:
    found = reading.read(data)
    names = [reading.read(one).fingerprint == found.fingerprint for one in (TWO, b"Name\n1")]
    return [found.header, found.rows, found.encoding, found.delimiter, found.filled, list(found.dropped), names]


def test_files_of_orders_are_read_as_expected() -> None:
    files = [
        Import(encoding=name, delimiter=sign)
        for name, sign in zip(("utf-8-sig", "cp1252", "utf-16", "utf-8"), delimited.DELIMITERS, strict=True)
    ]
    compare("reads-files", [*lines(sheet, FILES), *(f"{file.encoding}, {file.delimiter!r}" for file in files)])


ODD = (
    "Name,Address,City,Zip,Weight", "First Name,Last Name,Street 1,Suburb,Postcode", "Full Name,Last Name",
    "Last Name", "Ship to name,Name,Ship to city,City",
    "Billing City,Shipping City,City", "City (Shipping),City (Billing)", "Shipping to city", "Deliver to postcode",
    "NAME,name", "Weight (g),Weight unit,L,W,H",
    "Weight kg,Length mm,Width (in),Height \"", "weightKg,length_cm", "Order,Name", "Order Number,Name,Reference",
    "Qty,Item price,Item,SKU", "Notes,Delivery instructions",
    "Delivery note,Instructions", "Email (Billing),Phone (Billing)", "E-mail,Mobile", "Country,Country Code",
    "Region,County", "Unit,Building", "Description,Contents",
    "Item weight,Total weight", "Extra Cover up to,Insurance", "Origin,Tariff code,Customs value",
    "Column 1,Column 2", "Item 1 value", "depth,h", "Parcel length in cm",
)  # fmt: skip


@pytest.mark.django_db
def test_columns_are_guessed_as_expected() -> None:
    wanted = {
        country: columns.fields(Sender(country=country), PickupAddress(country=country))
        for country in ("AU", "US", "CA")
    }

    def guessed(header: str, country: str = "AU") -> dict[str, str]:
        names = header.split(",")
        return {field: names[at] for field, at in sorted(guessing.guess_columns(names, wanted[country]).items())}

    compare(
        "reads-columns",
        [
            *(f"{country} -> {[(one.name, one.label, one.is_needed) for one in fields]}" for country,
            fields in wanted.items()),
            *(f"{shop} -> {guessed(header)}" for shop, (header, _) in MATCHES.items()),
            *lines(guessed, ODD),
            *lines(guessed, [(one, "US") for one in ODD[:6]], "from the US"),
            *lines(columns.form_name, list(product(("weight", "length", "height", "description"), ("AU", "US",
            "CA")))),
            *lines(columns.plain_name, ["weight_kg", "weight_lb", "height_in", "width_cm", "weight_g", "size_cm",
            "length"]),
            *lines(row_values.country_code, ["Australia", "AU", "au", "usa", "U.S.A.", "United Kingdom", "England",
            "germany", "Deutschland", "XX", " nz ", ""]),
        ],
    )  # fmt: skip
