"""Every filled cell is read, is known to be unimportant, or makes its row wait, whatever its column is called."""

import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipping_portal.accounts.address.places import normalise_name
from shipping_portal.accounts.models import PickupAddress, Sender
from shipping_portal.importing import columns, guessing, shop_words, unread
from shipping_portal.importing.models import Import, ImportRow
from tests.importing import shop_files

HEADERS = [
    shop_files.SHOPIFY, shop_files.WOOCOMMERCE, shop_files.WOOCOMMERCE_UNDERSCORED, shop_files.ETSY,
    shop_files.ETSY_ITEMS, shop_files.EBAY_AU, shop_files.EBAY_US, shop_files.EBAY_UK, shop_files.AMAZON,
    shop_files.SQUARE, shop_files.BIGCOMMERCE, shop_files.STARSHIPIT,
]  # fmt: skip
NAMES = sorted({name for header in HEADERS for name in header.split(",")})
SAID = "Zorbleflux 77"  # is in no other cell
# Words that say something of the parcel, its receiver or its money, wherever they stand in a name.
WEIGHTY = (
    "address line 4", "street 2b", "unit no", "phone 2 of site", "signature", "authority", "parcel weight",
    "box dimensions", "number of parcels", "pickup date", "delivery date", "dispatch date", "insured amount",
    "declared value", "instructions", "delivery notes", "gate code", "fragile", "dangerous goods", "cod amount",
)  # fmt: skip


@cache
def wanted() -> list[columns.Field]:
    """Everything a column can be, made once, as it is the same for every file of an account."""
    return [*columns.fields(Sender(country="AU"), PickupAddress(country="AU")), *columns.FILE_ONLY]


def waits(header: list[str], cells: list[str], *, for_customs: bool = True) -> set[str]:
    """Return the columns that such a row waits for, with columns matched by name."""
    sender = Sender(country="AU")
    file = Import(sender=sender, header=header, columns=guessing.guess_columns(header, wanted()), constants={})
    found = unread._unread(ImportRow(file=file, cells=cells), file, {}, for_customs=for_customs)
    return {header[place] for place, _ in found}


def read_of(header: list[str]) -> set[str]:
    """Return the names of the columns that are read."""
    places = guessing.guess_columns(header, wanted()).values()
    known = {*shop_words.KNOWN_COLUMNS, "reason"}
    return {name for at, name in enumerate(header) if at in places or normalise_name(name) in known}


@pytest.mark.parametrize("header", HEADERS)
def test_each_column_of_a_shop_is_read_listed_or_makes_its_rows_wait(header: str) -> None:
    names = header.split(",")
    waiting, read = waits(names, [SAID] * len(names)), read_of(names)
    for name in names:
        known = unread.is_irrelevant(normalise_name(name)) or unread.OTHER_PARTY.fullmatch(normalise_name(name))
        assert name in read or known or name in waiting, name


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text("abcdefghijklmnop ABC-_#1", min_size=1, max_size=24), min_size=1, max_size=6, unique=True))
def test_an_unknown_column_makes_its_filled_rows_wait(unknown: list[str]) -> None:
    header = ["Name", "Address 1", *unknown]
    waiting, read = waits(header, ["Ada Alder", "3 Sampling Street", *[SAID] * len(unknown)]), read_of(header)
    for name in unknown:
        plain = normalise_name(name)
        assert name in read or unread.is_irrelevant(plain) or unread.OTHER_PARTY.fullmatch(plain) or (
            name in waiting
        ), name  # fmt: skip
    assert waits(header, ["Ada Alder", "3 Sampling Street", *[""] * len(unknown)]) == set()


@pytest.mark.parametrize("name", WEIGHTY)
def test_a_column_about_a_parcel_is_never_unimportant(name: str) -> None:
    header = ["Name", "Address 1", name]
    assert name in read_of(header) or name in waits(header, ["Ada Alder", "3 Sampling Street", SAID])


@pytest.mark.parametrize("cell", ["", " ", "0", "0.00", "No", "false", "n/a", "None", "-", "$0.00", "NULL"])
def test_a_cell_with_a_word_for_nothing_does_not_wait(cell: str) -> None:
    assert waits(["Name", "Zorble"], ["Ada Alder", cell]) == set()


@pytest.mark.parametrize(
    ("name", "for_customs"), [("Customs office", True), ("Tariff note", True), ("Commodity", True)]
)
def test_customs_columns_matter_only_abroad(name: str, for_customs: bool) -> None:
    assert waits(["Name", name], ["Ada Alder", SAID], for_customs=for_customs) == {name}
    assert waits(["Name", name], ["Ada Alder", SAID], for_customs=False) == set()


@pytest.mark.parametrize("street", ["Billing Address 1", "Shipping Address 1"])
def test_the_billing_address_is_unimportant_next_to_the_receivers(street: str) -> None:
    header = ["Name", street, "Billing Address 4"]
    sender = Sender(country="AU")
    file = Import(sender=sender, header=header, columns={"receiver_name": 0, "receiver_line1": 1}, constants={})
    row = ImportRow(file=file, cells=["Ada Alder", "3 Sampling Street", SAID])
    found = list(unread._unread(row, file, {}, for_customs=False))
    assert bool(found) == (street == "Billing Address 1")


def test_the_list_of_unimportant_columns_has_one_valid_pattern_per_line() -> None:
    for line in unread.OF_NO_MATTER.strip().splitlines():
        assert re.compile(line)
        assert unread.is_irrelevant(line) or not line.isalpha()
