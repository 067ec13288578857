"""The pages for a shop's export show what was left out, joined or unused before anything is booked."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import checking, shop_words, shops
from shipping_portal.importing.models import Import, ImportRow
from tests import factories
from tests.importing import shop_files
from tests.importing.pressing import press_check
from tests.importing.shop_files import export
from tests.importing.test_orders import further, shopify
from tests.orders.test_importing import work_off
from tests.pages.conftest import listed as listed
from tests.pages.test_imports import check_page, upload
from tests.pages.typed import text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

SHIPPED = {"Fulfillment Status": "fulfilled"}


@pytest.fixture
def file(listed: Client, carrier: SandboxCarrier) -> Import:
    rows = [
        shopify("#1001", **{"Note Attributes": "Gift"}),
        further("#1001", "Tea towel"),
        shopify("#1002", **SHIPPED),
        shopify("#1003", **SHIPPED),
        shopify("#1004", **{"Financial Status": "pending"}),
    ]
    upload(listed, export(shop_files.SHOPIFY, *rows))
    file = Import.objects.get()
    press_check(listed, file)
    file.refresh_from_db()
    return file


def test_the_check_shows_what_is_left_out_joined_and_not_used(listed: Client, file: Import) -> None:
    page = text(listed.get(check_page(file)))
    assert "4 of 4 rows checked." in page
    assert "2 left out: Already shipped in your shop." in page
    assert "1 left out: Not paid yet in your shop." in page
    assert "2 rows of order #1001 are one parcel." in page
    assert "Not needed for a parcel: Lineitem fulfillment status, Shipping Street, Note Attributes, Vendor." in page
    assert "Book 1 parcel" in page
    assert "To fix" not in page


def test_one_click_puts_back_all_shipped_orders(listed: Client, file: Import) -> None:
    skipped = text(listed.get(f"{check_page(file)}?show=skipped"))
    assert "Import all 2 anyway: Already shipped in your shop" in skipped
    answer = listed.post(reverse("take_left_out", args=[file.uuid]), {"why": shop_words.SHIPPED}, follow=True)
    assert "2 rows put back. Nothing is booked yet." in text(answer)
    work_off(file)
    assert "Book 3 parcels" in text(listed.get(check_page(file)))


def test_a_single_shipped_order_can_be_put_back(listed: Client, file: Import) -> None:
    row = file.rows.get(number=4)
    assert "Already shipped in your shop." in text(listed.get(reverse("import_row", args=[file.uuid, row.pk])))
    listed.post(reverse("import_row", args=[file.uuid, row.pk]), {"anyway": "yes", "show": "skipped"})
    work_off(file)
    assert "Book 2 parcels" in text(listed.get(check_page(file)))


def test_a_joined_row_links_to_its_parcel_and_can_be_separated(listed: Client, file: Import) -> None:
    first, second = file.rows.filter(number__in=(2, 3))
    assert "Part of row 2" in text(listed.get(f"{check_page(file)}?show=joined"))
    ready = listed.get(f"{check_page(file)}?show=ready&sort=price").content.decode()
    assert f'id="row-{first.pk}"' in ready
    assert f'id="row-{second.pk}"' not in ready
    url = reverse("import_row", args=[file.uuid, second.pk])
    assert listed.get(url)["Location"] == reverse("import_row", args=[file.uuid, first.pk])
    listed.post(url)
    work_off(file)
    second.refresh_from_db()
    assert second.state == "fix"  # it has no address
    assert "Joined" not in text(listed.get(check_page(file)))


def test_another_accounts_rows_cannot_be_put_back(file: Import, bob: User, visit: object) -> None:
    client = visit(bob)  # type: ignore[operator]
    assert client.post(reverse("take_left_out", args=[file.uuid]), {"why": shop_words.SHIPPED}).status_code == 404
    assert file.rows.filter(state="skipped").count() == 3


def test_lines_that_are_not_orders_are_mentioned(listed: Client) -> None:
    row = {"Order number": "12-00345-67890", "Post to name": "Priya Nair"}
    below = b"\r\n1,record(s) downloaded\r\nSeller ID : quillmugs\r\n"
    answer = upload(listed, b"\r\n" + export(shop_files.EBAY_AU, row) + below)
    sentence = "aren't orders: “1 record(s) downloaded”, “Seller ID : quillmugs”."
    assert sentence in text(listed.get(answer["Location"]))
    assert Import.objects.get().rows.count() == 1


def test_a_value_without_a_quantity_is_not_assumed_to_be_for_one(listed: Client) -> None:
    upload(listed, "Name,Suburb,Customs value\nPriya Nair,Portland,12.00")
    page = listed.get(reverse("match_columns", args=[Import.objects.get().uuid])).content.decode()
    assert 'name="all_item_1_quantity"' in page
    assert not re.search(r'name="all_item_1_quantity" value="1"', page)


@pytest.mark.parametrize("show", ["fix", "joined", "skipped", "ready"])
def test_the_check_takes_the_same_number_of_queries_however_many_rows_are_joined(
    show: str, listed: Client, quill: Sender, alice: User
) -> None:
    file = factories.import_file(quill, alice)
    file.columns["customer_reference"] = 0
    file.save()
    found = []
    for more in (1, 2, 20):
        for _ in range(more):
            head = factories.import_row(quill, alice, file=file)
            factories.import_row(quill, alice, file=file, state="joined", joined_into=head, problems={})
            shown = {shops.STATUS: [shop_words.SHIPPED]}
            factories.import_row(quill, alice, file=file, state="skipped", problems=shown)
        listed.get(check_page(file))
        with CaptureQueriesContext(connection) as seen:
            assert listed.get(f"{check_page(file)}?show={show}").status_code == 200
        found.append(len([query for query in seen.captured_queries if "SAVEPOINT" not in query["sql"]]))
    assert found[0] == found[1] == found[2] <= 21


def test_matching_columns_again_joins_and_separates_rows_again(file: Import) -> None:
    """Without order numbers no rows are joined; with them again they are one parcel."""
    with_number = dict(file.columns)
    without = {name: place for name, place in with_number.items() if name != "customer_reference"}
    for matched, joined in ((without, 0), (with_number, 1)):
        assert checking.begin(file, matched, file.constants, file.created_at)
        assert file.rows.filter(state="joined").count() == joined
        assert ImportRow.objects.exclude(joined_into=None).count() == joined
