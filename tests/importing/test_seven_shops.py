"""Exports from seven shops, from the upload to the carrier's ledger and back, without matching a column by hand."""

import csv
import io
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import shops
from shipping_portal.importing.models import Import
from tests import factories
from tests.importing.shop_files import HOBART, OREGON, SEVEN, orders_of
from tests.orders.test_importing import work_off
from tests.pages.conftest import listed as listed
from tests.pages.conftest import ohio as ohio
from tests.pages.test_imports import book, check_page, upload
from tests.pages.typed import text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

ROWS = [pytest.param(3, id="three orders"), pytest.param(200, id="two hundred", marks=pytest.mark.nightly)]
# The heads that the shop's own upload, or the tool of its sellers, asks for; and those of them that name the order.
BACK = {
    "Shopify": ("Name", "Fulfillment: Tracking Company", "Fulfillment: Tracking Number"),
    "WooCommerce": ("order_id", "tracking_provider", "tracking_number"),
    "eBay Australia": ("Order Number", "Shipping Carrier Used", "Tracking Number"),
    "eBay UK": ("Order Number", "Shipping Carrier Used", "Tracking Number"),
    "eBay US": ("Order Number", "Shipping Carrier Used", "Tracking Number"),
    "Etsy": ("Order ID", "Carrier", "Tracking number"),
    "Amazon": ("order-id", "carrier-name", "tracking-number"),
}


def default_size(sender: Sender) -> None:
    sides = dict(zip(("length", "width", "height"), map(Decimal, (12, 9, 4)), strict=True))
    pounds = {"weight_units": "lb", "dimension_units": "in", **sides} if sender.country == "US" else {}
    sender.default_size = factories.size(sender, description="Mugs", **pounds)
    sender.save()


@pytest.mark.parametrize("count", ROWS)
@pytest.mark.parametrize("shop", SEVEN)
def test_a_shops_export_is_booked_without_matching_a_column(
    shop: str, count: int, carrier: SandboxCarrier, request: pytest.FixtureRequest
) -> None:
    client: Client = request.getfixturevalue("ohio" if shop == "eBay US" else "listed")
    sender = Sender.objects.get(name="Ohio Parts" if shop == "eBay US" else "Quill & Co")
    default_size(sender)
    content = orders_of(shop, count, OREGON if shop == "eBay US" else HOBART)
    answer = upload(client, content)
    file = Import.objects.get()
    assert answer["Location"] == check_page(file)
    work_off(file)
    page = text(client.get(check_page(file)))
    assert f"Read as an export of {shop}." in page
    assert f"{count} of {count} rows checked." in page
    assert f"Ready {count} of {count} rows" in page
    assert ("record(s) downloaded" in page) == shop.startswith("eBay")
    book(client, file)
    work_off(file)
    assert len(carrier.ledger("booked")) == count
    comes_back(shop, client, file)


def comes_back(shop: str, client: Client, file: Import) -> None:
    """Check that the file for the shop has each order's tracking number and no link that acts for the sender."""
    answer = client.get(reverse("shipped_rows", args=[file.uuid]))
    content = b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    rows = list(csv.DictReader(io.StringIO(content), delimiter="\t" if shop == "Amazon" else ","))
    number, company, tracking = BACK[shop]
    booked = Order.objects.values_list("customer_reference", "carrier_reference")
    assert {(row[number].strip("#"), row[tracking]) for row in rows} == {(n.strip("#"), ref) for n, ref in booked}
    assert {row[company] for row in rows} == {"Shipping Portal"}
    assert "token" not in content


def test_a_parcel_cancelled_since_is_not_in_the_file_for_the_shop(listed: Client, quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice, state="booking")
    gone, stays = (factories.order(quill, alice, status=status) for status in ("cancelled", "booked"))
    for order in (gone, stays):
        factories.import_row(quill, alice, file=file, state="booked", problems={}, order=order)
    answer = listed.get(reverse("shipped_rows", args=[file.uuid]))
    content = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    assert (gone.carrier_reference in content, stays.carrier_reference in content) == (False, True)


def test_a_senders_own_columns_come_back_as_they_were(listed: Client, quill: Sender, alice: User) -> None:
    header = ["Order", "Name", "name ", "", "1", "Carrier", "Order"]
    file = factories.import_file(quill, alice, state="booking", header=header)
    order = factories.order(quill, alice, status="booked")
    sold = [["1001", "Noor Tamsin", "Mugs", note, "b", "?", "a second"] for note in ("", "gift")]
    head = factories.import_row(quill, alice, file=file, state="booked", problems={}, order=order, cells=sold[0])
    factories.import_row(quill, alice, file=file, state="joined", problems={}, joined_into=head, cells=sold[1])
    answer = listed.get(reverse("shipped_rows", args=[file.uuid]))
    content = b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    heads, *rows = csv.reader(io.StringIO(content))
    assert heads == [*header, "Tracking number", "Tracking page"]
    assert [row[:8] for row in rows] == [
        [*cells[:5], "Shipping Portal", "a second", order.carrier_reference] for cells in sold
    ]


def test_without_a_size_a_shops_export_asks_for_one(listed: Client) -> None:
    answer = upload(listed, orders_of("Shopify", 2))
    assert answer["Location"] == reverse("match_columns", args=[Import.objects.get().uuid])


def test_a_senders_own_file_is_not_taken_for_a_shops(listed: Client) -> None:
    default_size(Sender.objects.get(name="Quill & Co"))
    answer = upload(listed, "Name,Email,Address 1,Suburb,Postcode\nNoor,noor@example.net,4 Sample Street,Hobart,7000\n")
    file = Import.objects.get()
    assert shops.find_shop(file.header) == ""
    page = listed.get(answer["Location"]).content.decode()
    assert f'<option value="{file.sender.default_size.uuid}" selected>' in page  # type: ignore[union-attr]


@pytest.mark.parametrize("shop", SEVEN)
def test_every_shop_is_recognised_by_its_header(shop: str) -> None:
    assert shops.find_shop(SEVEN[shop][0].split(",")) == shop
