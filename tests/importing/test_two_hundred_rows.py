"""Files of two hundred rows, from the upload to the carrier's ledger: sizes, totals, and orders already sent."""

import random
import re
from collections.abc import Callable
from decimal import Decimal

import pytest
from django.test import Client

from orders.models import Order
from shipping_portal.importing.models import Import
from tests.importing import shop_files
from tests.importing.pressing import press_check
from tests.importing.shop_files import Row, export
from tests.importing.test_orders import BOX, shopify, woocommerce
from tests.orders.ledger import in_the_ledger
from tests.orders.test_importing import work_off
from tests.pages.conftest import listed as listed
from tests.pages.conftest import ohio as ohio
from tests.pages.test_imports import book, check_page, match, upload
from tests.pages.typed import text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = [pytest.mark.django_db, pytest.mark.nightly]

ROWS = 200
MELBOURNE = "4 Sample Street,Brunswick,3056"
OREGON = "1 Sample Street,Portland,97205"


def measured(header: str, place: str, cells: Callable[[random.Random], str]) -> bytes:
    """Return a file of ROWS orders #1000, #1001, ... each with its own measures."""
    made = random.Random(10)  # noqa: S311 - the same file each time
    head = f"Name,Email,Address 1,Suburb,Postcode,Contents,Order number,{header}"
    rows = [f"Priya Nair,priya@example.net,{place},Mugs,#{1000 + n},{cells(made)}" for n in range(ROWS)]
    return "\n".join([head, *rows]).encode()


def millimetres(made: random.Random) -> str:
    sides = sorted((made.randint(120, 400) for _ in range(3)), reverse=True)
    return ",".join(map(str, (made.randint(400, 4900), *sides)))


def inches(made: random.Random) -> str:
    sides = sorted((made.randint(5, 16) for _ in range(3)), reverse=True)
    return ",".join(map(str, (made.randint(12, 160), *sides)))


def kilograms_of(grams: str, *millimetres: str) -> tuple[Decimal, ...]:
    return (Decimal(grams) / 1000, *(Decimal(side) / 10 for side in millimetres))


def pounds_of(ounces: str, *inches: str) -> tuple[Decimal, ...]:
    return (round(Decimal(ounces) / 16, 3), *map(Decimal, inches))


def recorded(carrier: SandboxCarrier) -> list[tuple[Decimal, ...]]:
    """Return the weight and sides of everything the carrier booked, heaviest last."""
    return sorted((Decimal(line[0]), *map(Decimal, line[2:5])) for line in in_the_ledger(carrier))


def promised(client: Client, file: Import) -> tuple[int, Decimal]:
    """Return the number of parcels and the total next to the button, before booking."""
    said = re.search(r"\$([\d,]+\.\d\d) \w+ (\d+) (?:parcels|packages)", text(client.get(check_page(file))))
    assert said
    return int(said[2]), Decimal(said[1].replace(",", ""))


MEASURED = {
    "grams and millimetres": (
        "listed", MELBOURNE, "Weight (g),Length (mm),Width (mm),Height (mm)", millimetres, kilograms_of,
    ),
    "ounces and inches": (
        "ohio", OREGON, "Weight (oz),Length (in),Width (in),Height (in)", inches, pounds_of,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("who", "place", "header", "cells", "meant"), MEASURED.values(), ids=MEASURED)
def test_each_parcel_is_booked_with_the_size_in_its_file(
    who: str,
    place: str,
    header: str,
    cells: Callable[[random.Random], str],
    meant: Callable[..., tuple[Decimal, ...]],
    carrier: SandboxCarrier,
    request: pytest.FixtureRequest,
) -> None:
    client: Client = request.getfixturevalue(who)
    content = measured(header, place, cells)
    upload(client, content)
    file = Import.objects.get()
    match(client, file)
    work_off(file)
    count, total = promised(client, file)
    assert (count, carrier.ledger("booked")) == (ROWS, [])
    book(client, file)
    work_off(file)
    made = [line.split(",")[7:] for line in content.decode().splitlines()[1:]]
    assert recorded(carrier) == sorted(meant(*measures) for measures in made)
    assert sum(Order.objects.values_list("charged_price", flat=True)) == total


@pytest.mark.parametrize("first", range(2), ids=["from the first day", "once there is a history"])
def test_a_file_with_sizes_ten_times_too_big_is_stopped(first: int, listed: Client, carrier: SandboxCarrier) -> None:
    header = "Weight (g),Length,Width,Height"  # no unit of length: ours is the centimetre
    if first:
        upload(listed, measured("Weight (g),Length (mm),Width (mm),Height (mm)", MELBOURNE, millimetres))
        match(listed, file := Import.objects.get())
        work_off(file)
        book(listed, file)
        work_off(file)
    before = len(carrier.ledger("booked"))
    upload(listed, measured(header, MELBOURNE, millimetres).replace(b"#1", b"#9"))
    file = Import.objects.latest("pk")
    match(listed, file)
    work_off(file)
    page = text(listed.get(check_page(file)))
    assert f"Very light for their size: {ROWS} rows" in page
    assert "Are the measures in mm" in page
    assert "Ready 0 " in page
    assert book(listed, file).status_code == 422
    work_off(file)
    assert (before, len(carrier.ledger("booked"))) == (ROWS * first, before)


def shopify_file(state: int, number: str) -> Row:
    return shopify(number, **SHOPIFY_STATES[state])


def woocommerce_file(state: int, number: str) -> Row:
    return woocommerce(number.strip("#"), "Mug", **WOOCOMMERCE_STATES[state])


# The first of each is to be sent, no other is.
SHOPIFY_STATES: list[dict[str, str]] = [
    {},
    {"Fulfillment Status": "fulfilled"},
    {"Cancelled at": "2026-11-19 09:12:01 +1100"},
    {"Financial Status": "refunded"},
    {"Financial Status": "pending"},
]
WOOCOMMERCE_STATES: list[dict[str, str]] = [
    {},
    {"Order Status": "Completed"},
    {"Order Status": "Cancelled"},
    {"Order Status": "Refunded"},
    {"Order Status": "Pending payment"},
]


@pytest.mark.parametrize(
    ("header", "row"),
    [(shop_files.SHOPIFY, shopify_file), (shop_files.WOOCOMMERCE, woocommerce_file)],
    ids=["Shopify", "WooCommerce"],
)
def test_no_shipped_cancelled_or_unpaid_order_is_booked(
    header: str, row: Callable[[int, str], Row], listed: Client, carrier: SandboxCarrier
) -> None:
    made = random.Random(10)  # noqa: S311 - the same file each time
    states = [made.choice((0, 0, 0, 1, 2, 3, 4)) for _ in range(ROWS)]
    upload(listed, export(header, *(row(state, f"#{1000 + n}") for n, state in enumerate(states))))
    press_check(listed, file := Import.objects.get())
    to_send = {str(1000 + n) for n, state in enumerate(states) if state == 0}
    count, total = promised(listed, file)
    assert (count, carrier.ledger("booked")) == (len(to_send), [])
    book(listed, file)
    work_off(file)
    booked = Order.objects.values_list("customer_reference", "charged_price")
    assert {reference.strip("#") for reference, _ in booked} == to_send
    assert (len(carrier.ledger("booked")), sum(price for _, price in booked)) == (len(to_send), total)
    assert set(recorded(carrier)) == {tuple(map(Decimal, BOX.values()))}
