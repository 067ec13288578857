"""Shops' exports, from the file to the carrier: the rows of an order are one parcel, and shipped orders are left out."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import (
    checking,
    columns,
    guessing,
    items,
    joining,
    leaving_out,
    progress,
    reading,
    row_values,
    shop_words,
    shops,
    unread,
    uploads,
)
from shipping_portal.importing.columns import FILE_ONLY
from shipping_portal.importing.models import Import, ImportRow
from tests import factories
from tests.importing import shop_files
from tests.importing.shop_files import Row, export
from tests.orders.test_importing import book, come_back, states, work_off
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

Take = Callable[..., Import]
BOX = {"weight": "1.2", "length": "30", "width": "20", "height": "10"}


@pytest.fixture
def take(quill: Sender, alice: User, localities: None, carrier: SandboxCarrier) -> Take:
    """`take(SHOPIFY, row, row)` is a checked import with columns matched by name. A row without measures gets a box."""

    def taken(header: str | Sequence[str], *rows: Row, delimiter: str = ",", **constants: str) -> Import:
        sheet = reading.read(export(header, *rows, delimiter=delimiter))
        now = timezone.now()
        file = uploads.store_upload(sheet, name="orders.csv", sender=quill, by=alice, now=now)
        fields = [*columns.fields(quill, quill.pickup_address()), *FILE_ONLY]
        guess = guessing.guess_columns(file.header, fields)
        checking.begin(file, guess, BOX | constants, now)
        work_off(file)
        return file

    return taken


def shopify(number: str, **changes: str) -> dict[str, str]:
    row = {
        "Name": number,
        "Email": "priya@example.net",
        "Financial Status": "paid",
        "Fulfillment Status": "unfulfilled",
        "Currency": "AUD",
        "Lineitem quantity": "1",
        "Lineitem name": "Speckled mug",
        "Lineitem price": "32.00",
        "Shipping Name": "Priya Nair",
        "Shipping Street": "4 Sample Street, Unit 3",
        "Shipping Address1": "4 Sample Street",
        "Shipping Address2": "Unit 3",
        "Shipping City": "Brunswick",
        "Shipping Zip": "'3056",
        "Shipping Province": "VIC",
        "Shipping Country": "AU",
    }
    return row | changes


def further(number: str, item: str, quantity: str = "1", price: str = "14.00") -> dict[str, str]:
    """Return a further line of an order, as Shopify writes it."""
    return {
        "Name": number,
        "Email": "priya@example.net",
        "Lineitem quantity": quantity,
        "Lineitem name": item,
        "Lineitem price": price,
        "Lineitem fulfillment status": "pending",
        "Vendor": "Quill & Co",
    }


def woocommerce(number: str, item: str, **changes: str) -> dict[str, str]:
    row = {
        "Order Number": number,
        "Order Status": "Processing",
        "Email (Billing)": "priya@example.net",
        "Phone (Billing)": "0491 570 006",
        "First Name (Shipping)": "Priya",
        "Last Name (Shipping)": "Nair",
        "Address 1&2 (Shipping)": "4 Sample Street",
        "City (Shipping)": "Brunswick",
        "State Code (Shipping)": "VIC",
        "Postcode (Shipping)": "3056",
        "Country Code (Shipping)": "AU",
        "Item Name": item,
        "Quantity (- Refund)": "1",
        "Item Cost": "32.00",
    }
    return row | changes


TO_OREGON = {
    "City (Shipping)": "Portland",
    "State Code (Shipping)": "OR",
    "Postcode (Shipping)": "97205",
    "Country Code (Shipping)": "US",
    "Phone (Billing)": "503 555 0142",
}


def entry_of(file: Import, number: int = 2) -> Any:
    row = file.rows.get(number=number)
    assert row.quote, row.problems
    return row.quote.details


# Every kind of shop file, and the content of its ready row.
READY: dict[str, tuple[str, Row, dict[str, str], dict[str, str]]] = {
    "Shopify": (shop_files.SHOPIFY, shopify("#1001"), {}, {"line2": "Unit 3", "postcode": "3056"}),
    "WooCommerce": (shop_files.WOOCOMMERCE, woocommerce("812", "Mug"), {}, {"name": "Priya Nair"}),
    "Etsy": (
        shop_files.ETSY,
        {
            "Order ID": "3310000001", "Full Name": "Priya  Nair", "First Name": "Priya", "Last Name": "Nair",
            "Street 1": "4 Sample Street", "Ship City": "Brunswick", "Ship State": "VIC", "Ship Zipcode": "3056",
            "Ship Country": "Australia", "Sale Date": "11/19/26",
        },
        {"receiver_email": "parcels@quill.example", "description": "Mugs"},
        {"name": "Priya Nair", "country": "AU"},
    ),
    "eBay AU": (
        shop_files.EBAY_AU,
        {
            "Order number": "12-00345-67890", "Buyer email": "0a1b2c@members.ebay.example",
            "Post to name": "Priya Nair", "Post to phone": "'0491 570 006", "Post to address 1": "4 Sample Street",
            "Post to city": "Brunswick", "Post to state": "VIC", "Post to postcode": "3056",
            "Post to country": "Australia", "Item title": "Mug", "Quantity": "1", "Paid on date": "19-Nov-26",
        },
        {},
        {"postcode": "3056"},
    ),
    "Amazon": (
        shop_files.AMAZON,
        {
            "order-id": "250-1234567-1234567", "buyer-email": "x@marketplace.example", "recipient-name": "Priya Nair",
            "ship-address-1": "4 Sample Street", "ship-city": "BRUNSWICK", "ship-postal-code": "3056",
            "ship-country": "AU", "product-name": "Mug", "quantity-purchased": "1", "quantity-to-ship": "1",
        },
        {},
        {"state": "VIC"},
    ),
    "Square": (
        shop_files.SQUARE,
        {
            "Order": "QX7-31", "Fulfillment Type": "Shipment", "Recipient Name": "Priya Nair",
            "Recipient Email": "priya@example.net", "Recipient Address": "4 Sample Street",
            "Recipient Postal Code": "3056", "Recipient City": "Brunswick", "Recipient Region": "VIC",
            "Recipient Country": "AU", "Item Quantity": "1", "Item Name": "Mug", "Item Price": "32.00",
        },
        {},
        {"line1": "4 Sample Street"},
    ),
    "BigCommerce": (
        shop_files.BIGCOMMERCE,
        {
            "Order ID": "118", "Order Status": "Awaiting Fulfillment", "Shipping Name": "Priya Nair",
            "Shipping First Name": "Priya", "Shipping Last Name": "Nair", "Shipping Street 1": "4 Sample Street",
            "Shipping Suburb": "Brunswick", "Shipping State": "Victoria", "Shipping Zip": "3056",
            "Shipping Country": "Australia", "Shipping Email": "priya@example.net",
        },
        {"description": "Mugs"},
        {"name": "Priya Nair"},
    ),
    "Starshipit": (
        shop_files.STARSHIPIT,
        {
            "Order Number": "5501", "Name": "Priya Nair", "Email": "priya@example.net", "Building": "Unit 3",
            "Street": "4 Sample Street", "Suburb": "Brunswick", "State": "VIC", "Postcode": "3056", "Country": "AU",
            "Delivery Instructions": "Authority to leave - front porch", "Item Description": "Mug", "Quantity": "1",
            "Weight": "1.2", "Length": "30", "Width": "20", "Height": "10",
        },
        {},
        {"instructions": "Authority To Leave: front porch", "line2": "Unit 3"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("shop", READY)
def test_a_shops_row_is_ready_without_matching_columns_by_hand(take: Take, shop: str) -> None:
    header, row, constants, expected = READY[shop]
    file = take(header, row, delimiter="\t" if shop == "Amazon" else ",", **constants)
    receiver = entry_of(file)["receiver"]
    assert states(file) == ["ready"]
    assert {name: receiver[name] for name in expected} == expected


def test_the_rows_of_an_order_are_one_parcel_with_all_its_items(take: Take, carrier: SandboxCarrier) -> None:
    rows = [
        woocommerce("812", "Speckled mug", **TO_OREGON),
        woocommerce("812", "Tea towel", **TO_OREGON | {"Quantity (- Refund)": "3", "Item Cost": "14.00"}),
    ]
    file = take(shop_files.WOOCOMMERCE, *rows, item_1_origin="AU")
    assert states(file) == ["ready", "joined"]
    said = [(item["description"], item["quantity"], item["value"]) for item in entry_of(file)["contents"]]
    assert said == [("Speckled mug", 1, "32.00"), ("Tea towel", 3, "14.00")]
    book(file)
    assert len(carrier.ledger("booked")) == 1


def test_a_second_line_without_an_address_joins_its_order(take: Take) -> None:
    file = take(
        shop_files.SHOPIFY,
        shopify("#1001"),
        further("#1001", "Tea towel"),
        further("#1001", "Tea towel"),
        shopify("#1002"),
    )
    assert states(file) == ["ready", "joined", "joined", "ready"]
    assert entry_of(file)["description"] == "Speckled mug and 2 more"
    assert progress.counts(file).rows == 2


@pytest.mark.parametrize(
    ("second", "state"),
    [
        ({"Address 1&2 (Shipping)": "9 Other Street"}, "skipped"),  # another box
        ({"Address 1&2 (Shipping)": "4  sample street"}, "joined"),
        ({"Item Name": "Speckled mug"}, "skipped"),  # the same row again
        ({"Order Number": "813"}, "ready"),
        ({"Order Number": ""}, "ready"),
    ],
)
def test_a_row_joins_its_order_only_for_another_item_to_the_same_address(take: Take, second: Row, state: str) -> None:
    rows = [woocommerce("812", "Speckled mug"), {**woocommerce("812", "Tea towel"), **second}]
    assert states(take(shop_files.WOOCOMMERCE, *rows)) == ["ready", state]


@pytest.mark.parametrize(
    ("weights", "lengths", "state", "found"),
    [
        (("1.2", "1.2"), ("30", "30"), "joined", "all have the same weight. It was taken once"),
        (("1.2", ""), ("30", ""), "joined", ""),
        (("1.2", "0.4"), ("30", "30"), "joined", "have different weights. The first was taken"),
        (("1.2", "1.2"), ("30", "40"), "skipped", ""),  # another box
    ],
)
def test_a_parcel_has_its_first_rows_measures_and_mentions_different_weights(
    take: Take, weights: tuple[str, str], lengths: tuple[str, str], state: str, found: str
) -> None:
    row = READY["Starshipit"][1]
    rows = [
        {**row, "Item Description": item, "Weight": w, "Length": n}
        for item, w, n in zip(("Mug", "Towel"), weights, lengths, strict=True)
    ]
    file = take(shop_files.STARSHIPIT, *rows)
    assert file.rows.get(number=3).state == state
    assert entry_of(file)["measures"]["weight"] == "1.2"
    first = file.rows.get(number=2)
    assert first.state == ("warning" if found else "ready")
    assert bool(first.problems) == bool(found)
    assert found in "".join(first.problems.get("weight_kg", []))


def test_weights_of_single_items_are_added_up(take: Take) -> None:
    header = shop_files.STARSHIPIT.replace(",Weight", ",Item weight")
    row = {name: text for name, text in READY["Starshipit"][1].items() if name != "Weight"}
    rows = [
        {**row, "Item Description": "Mug", "Item weight": "0.4", "Quantity": "2"},
        {**row, "Item Description": "Towel", "Item weight": "0.15"},
        {**row, "Item Description": "Mug", "Item weight": "", "Order Number": "5502"},
    ]
    sheet = reading.read(export(header, *rows))
    file = take(header, *rows)
    checking.begin(file, file.columns | {"weight": sheet.header.index("Item weight")}, {}, timezone.now())
    work_off(file)
    assert states(file) == ["ready", "joined", "fix"]
    assert entry_of(file)["measures"]["weight"] == "0.95"
    assert file.rows.get(number=4).problems == {"weight_kg": ["Enter the weight."]}


@pytest.mark.parametrize(
    ("header", "first", "second", "said"),
    [
        ("Item weight (g)", {"Item weight (g)": "400"}, {"Item weight (g)": "150"}, "0.95"),
        ("Item weight (g)", {"Item weight (g)": "0.4"}, {"Item weight (g)": "949.2"}, "0.95"),
        ("Item weight", {"Item weight": "400 g"}, {"Item weight": "0.15"}, "0.95"),
        ("Item weight,Weight unit", {"Item weight": "400", "Weight unit": "g"},
         {"Item weight": "0.15", "Weight unit": "kg"}, "0.95"),
        ("Item weight (g)", {"Item weight (g)": "0.4 kg"}, {"Item weight (g)": "150"}, "0.95"),
        ("Weight (g)", {"Weight (g)": "950"}, {"Weight (g)": "0.95 kg"}, "0.95"),
    ],
)  # fmt: skip
def test_an_orders_weights_are_added_up_with_each_rows_unit(
    take: Take, header: str, first: Row, second: Row, said: str
) -> None:
    """The order has two of the first item and one of the second, as Shopify lists them."""
    file = take(
        f"{shop_files.SHOPIFY},{header}",
        shopify("#1001", **{"Lineitem quantity": "2", **first}),
        further("#1001", "Tea towel") | second,
        weight="9",
    )
    matched = file.columns | {"weight": file.header.index(header.split(",")[0])}
    checking.begin(file, matched, file.constants, timezone.now())
    work_off(file)
    assert states(file)[1] == "joined"
    assert entry_of(file)["measures"]["weight"] == said


def test_an_orders_weights_in_grams_become_pounds_in_the_united_states(
    carrier: SandboxCarrier, localities: None
) -> None:
    maker = factories.sender(country="US")
    maya = factories.user("maya@maker.example")
    factories.member(maker, maya)
    address = factories.pickup_address(maker, email=maya.email)
    to_oregon = {
        "Shipping Zip": "97205", "Shipping City": "Portland", "Shipping Province": "OR", "Shipping Country": "US",
    }  # fmt: skip
    rows = [
        shopify("#1001", **to_oregon, **{"Item weight (g)": "453.592"}),
        further("#1001", "Tea towel", quantity="2") | {"Item weight (g)": "226.796"},
    ]
    sheet = reading.read(export(f"{shop_files.SHOPIFY},Item weight (g)", *rows))
    file = uploads.store_upload(sheet, name="orders.csv", sender=maker, by=maya, now=timezone.now())
    matched = guessing.guess_columns(file.header, columns.fields(maker, address))
    matched["weight"] = file.header.index("Item weight (g)")
    checking.begin(file, matched, {"length": "12", "width": "8", "height": "4"}, timezone.now())
    work_off(file)
    assert states(file) == ["ready", "joined"]
    measures = entry_of(file)["measures"]
    assert (measures["weight"], measures["weight_units"]) == ("2", "lb")


def test_the_same_number_in_another_unit_is_a_different_weight_or_box(take: Take) -> None:
    header = f"{shop_files.SHOPIFY},Weight,Weight unit,Length,Length unit"
    sides = {"Weight": "1", "Weight unit": "kg", "Length": "30", "Length unit": "cm"}
    rows = [
        shopify("#1001", **sides),
        shopify("#1001", **sides | {"Lineitem name": "Tea towel", "Weight unit": "lb"}),
        shopify("#1001", **sides | {"Lineitem name": "Bowl", "Length unit": "in"}),
    ]
    file = take(header, *rows)
    assert {"weight_unit", "size_unit"} <= file.columns.keys()
    assert states(file) == ["warning", "joined", "skipped"]
    assert "weight_kg" in file.rows.get(number=2).problems


def test_an_item_without_a_name_is_described_as_the_chosen_size(take: Take, quill: Sender) -> None:
    size = factories.size(quill, description="Speckled mugs")
    row = woocommerce("812", "", **TO_OREGON)
    file = take(shop_files.WOOCOMMERCE, row, item_1_origin="AU", size=str(size.uuid))
    assert [item["description"] for item in entry_of(file)["contents"]] == ["Speckled mugs"]


def test_a_joined_row_can_become_its_own_parcel_again(take: Take, alice: User) -> None:
    file = take(shop_files.WOOCOMMERCE, woocommerce("812", "Mug"), woocommerce("812", "Towel"))
    second = file.rows.get(number=3)
    assert joining.separate(second, timezone.now())
    work_off(file)
    assert states(file) == ["ready", "ready"]
    assert entry_of(file)["description"] == "Mug"
    checking.begin(file, file.columns, file.constants, timezone.now())
    work_off(file)
    assert states(file) == ["ready", "ready"]


def test_a_row_with_an_extra_cell_joins_no_order(take: Take) -> None:
    file = take(shop_files.WOOCOMMERCE, woocommerce("812", "Mug"), woocommerce("812", "Towel"))
    file.rows.filter(number=3).update(cells=[*file.rows.get(number=3).cells, "shifted"])
    checking.begin(file, file.columns, file.constants, timezone.now())
    work_off(file)
    assert states(file) == ["ready", "fix"]


def test_a_row_joins_by_its_corrected_order_number(take: Take) -> None:
    file = take(shop_files.WOOCOMMERCE, woocommerce("812", "Mug"), woocommerce("813", "Towel"))
    assert checking.schedule_check(file.rows.get(number=3), {"customer_reference": "812"}, timezone.now())
    checking.begin(file, file.columns, file.constants, timezone.now())
    work_off(file)
    assert states(file) == ["ready", "joined"]


def test_a_parcel_to_another_address_is_sent_even_if_the_rest_was_shipped(take: Take) -> None:
    shipped = {"Order Status": "Completed"}
    rows = [
        woocommerce("812", "Mug", **shipped),
        woocommerce("812", "Towel", **shipped),
        woocommerce("812", "Bowl", **{"Address 1&2 (Shipping)": "9 Other Street"}),
    ]
    assert states(take(shop_files.WOOCOMMERCE, *rows)) == ["skipped", "joined", "ready"]


def test_a_row_joined_to_a_booked_one_cannot_be_separated(take: Take) -> None:
    file = take(shop_files.WOOCOMMERCE, woocommerce("812", "Mug"), woocommerce("812", "Towel"))
    book(file)
    assert not joining.separate(file.rows.get(number=3), timezone.now())
    assert states(file) == ["booked", "joined"]


def test_an_order_with_more_items_than_the_form_has_needs_an_answer(take: Take) -> None:
    rows = [woocommerce("812", f"Mug {number}", **TO_OREGON) for number in range(6)]
    file = take(shop_files.WOOCOMMERCE, *rows, item_1_origin="AU")
    row = file.rows.get(number=2)
    assert row.problems["item_1_description"] == ["This order has more than 5 items. Write them as 5 or fewer."]
    assert checking.schedule_check(row, {"item_1_description": "Mugs"}, timezone.now())
    work_off(file)
    assert len(entry_of(file)["contents"]) == 5


@pytest.mark.parametrize(
    ("typed", "state"), [({}, "ready"), ({"Quantity (- Refund)": ""}, "fix"), ({"Item Cost": ""}, "fix")]
)
def test_no_quantity_is_invented_for_customs(take: Take, typed: Row, state: str) -> None:
    row = {**woocommerce("812", "Mug", **TO_OREGON), **typed}
    file = take(shop_files.WOOCOMMERCE, row, item_1_origin="AU")
    assert states(file) == [state]
    if "Quantity (- Refund)" in typed:
        assert file.rows.get().problems == {"item_1_quantity": ["Enter how many, 1 or more."]}


def test_failed_orders_come_back_with_all_their_rows(take: Take, quill: Sender, alice: User) -> None:
    rows = [
        woocommerce("812", "Mug", **TO_OREGON | {"Postcode (Shipping)": "97999"}),
        woocommerce("812", "Towel", **TO_OREGON | {"Postcode (Shipping)": "97999"}),
    ]
    file = take(shop_files.WOOCOMMERCE, *rows, item_1_origin="AU")
    assert checking.schedule_check(file.rows.get(number=2), {"item_2_description": "Tea towel"}, timezone.now())
    work_off(file)
    again = come_back(file, quill, alice)
    assert states(again) == ["fix", "joined"]
    said = row_values.values(again.rows.get(number=2), again)
    assert (said["item_1_description"], said["item_2_description"]) == ("Mug", "Tea towel")


@pytest.mark.parametrize(
    ("header", "first", "further", "corrected", "weight"),
    [
        ("Item weight", ("0.4", "2"), ("0.15", "1"), {}, "0.95"),
        ("Item weight", ("0.4", "2"), ("0.15", "1"), {"weight_kg": "2"}, "2"),
        ("Item weight", ("0.4", "3"), ("", "7"), {"weight_kg": "1"}, "1"),
        ("Item weight (g)", ("400", "2"), ("150", "1"), {"weight_kg": "2.5"}, "2.5"),
        ("Item weight", ("0.4", "2"), ("0.15", "1"), {"weight_kg": "2", "item_1_quantity": "4"}, "2"),
        ("Item weight", ("0.4", "2"), ("0.15", "1"), {"item_1_quantity": "4"}, "0.95"),
        ("Item weight", ("0.4", "2"), None, {"weight_kg": "1.5"}, "1.5"),
        ("Weight", ("0.4", "2"), ("0.15", "1"), {"weight_kg": "2"}, "2"),
    ],
)
def test_a_failed_order_keeps_its_weight_when_downloaded_and_imported_again(
    take: Take, quill: Sender, alice: User, header: str, first: tuple[str, str],
    further: tuple[str, str] | None, corrected: dict[str, str], weight: str,
) -> None:  # fmt: skip
    wrong = {"Postcode (Shipping)": "9999"}
    rows = [
        woocommerce("812", item, **wrong, **{header: row[0], "Quantity (- Refund)": row[1]})
        for item, row in (("Mug", first), ("Towel", further))
        if row
    ]
    file = take(f"{shop_files.WOOCOMMERCE},{header}", *rows)
    matched = file.columns | {"weight": file.header.index(header)}
    checking.begin(file, matched, file.constants, timezone.now())
    assert not corrected or checking.schedule_check(file.rows.get(number=2), corrected, timezone.now())
    work_off(file)
    again = come_back(file, quill, alice)
    assert states(again) == ["fix", "joined"][: len(rows)]
    said = [row_values.values(one.rows.get(number=2), one) for one in (file, again)]
    assert [one["weight_kg"] for one in said] == [weight, weight]
    assert said[0] == said[1]


# -- Orders that the shop itself would not send ------------------------------------------------------------------


def mixed() -> list[Row]:
    """Return twenty rows of a month's export. Eight of the orders have to be sent."""
    sent = [shopify(f"#10{n}", **{"Fulfillment Status": "fulfilled"}) for n in (10, 11, 12)]
    gone = [shopify("#1020", **{"Cancelled at": "2026-11-19 09:12:01 +1100"})]
    unpaid = [shopify(f"#10{n}", **{"Financial Status": "pending"}) for n in (30, 31)]
    refunded = [shopify("#1040", **{"Financial Status": "refunded"})]
    to_send = [shopify(f"#10{n}") for n in range(50, 58)]
    second = [further("#1010", "Tea towel"), further("#1050", "Tea towel"), further("#1050", "Bowl")]
    return [
        *sent[:1], second[0], *gone, *to_send[:1], *second[1:], *unpaid, *sent[1:], *refunded, *to_send[1:],
        further("#1057", "Bowl"), further("#1057", "Plate"),
    ]  # fmt: skip


def test_shipped_cancelled_refunded_and_unpaid_orders_are_never_booked(take: Take, carrier: SandboxCarrier) -> None:
    file = take(shop_files.SHOPIFY, *mixed())
    counts = progress.counts(file)
    assert file.rows.count() == 20
    assert (counts.rows, counts.ready, counts.skipped, counts.joined, counts.fix) == (15, 8, 7, 5, 0)
    assert dict(progress.left_out_by_shop(file)) == {
        shop_words.SHIPPED: 3,
        shop_words.UNPAID: 2,
        shop_words.CANCELLED: 1,
        shop_words.REFUNDED: 1,
    }
    book(file)
    booked = sorted(Order.objects.values_list("customer_reference", flat=True))
    assert booked == [f"#10{n}" for n in range(50, 58)]
    assert len(carrier.ledger("booked")) == 8


def test_one_click_puts_back_all_rows_left_out_for_the_same_reason(take: Take) -> None:
    file = take(shop_files.SHOPIFY, *mixed())
    assert checking.take_all(file, shop_words.UNPAID, timezone.now()) == 2
    assert checking.take_all(file, "", timezone.now()) == 0
    work_off(file)
    assert progress.counts(file).ready == 10
    assert dict(progress.left_out_by_shop(file)).keys() == {
        shop_words.SHIPPED,
        shop_words.CANCELLED,
        shop_words.REFUNDED,
    }


def test_a_shipped_order_that_is_put_back_is_still_left_out_if_it_is_booked(
    take: Take, quill: Sender, alice: User
) -> None:
    factories.order(quill, alice, status="booked", customer_reference="#1001")
    file = take(shop_files.SHOPIFY, shopify("#1001", **{"Fulfillment Status": "fulfilled"}))
    row = file.rows.get()
    assert row.problems == {shops.STATUS: [shop_words.SHIPPED]}
    assert checking.schedule_check(row, leaving_out.accepting_correction(row), timezone.now())
    work_off(file)
    row = file.rows.get()
    assert (row.state, row.problems[""][0].partition(" is booked")[0]) == ("skipped", "Your order number #1001")


def test_a_row_with_an_extra_cell_that_is_put_back_still_needs_fixing(take: Take) -> None:
    file = take(shop_files.SHOPIFY, shopify("#1001", **{"Fulfillment Status": "fulfilled"}))
    ImportRow.objects.update(cells=[*file.rows.get().cells, "shifted"])
    assert checking.take_all(file, shop_words.SHIPPED, timezone.now()) == 1
    work_off(file)
    assert "cells; the first line has" in file.rows.get().problems[""][0]
    assert [line[-1] for line in progress.failed_sheet(file)[1]] == ["shifted"]


# -- What spreadsheets and encodings lost ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["£ukasz", "Mi£osz", "Zo%C3%AB", "Zo=C3=AB", "Zo\\u00eb"])
def test_letters_written_in_another_code_are_reported(take: Take, name: str) -> None:
    """A Central European file read as a Western one, and letters that a program wrote for another."""
    file = take(shop_files.WOOCOMMERCE, woocommerce("812", "Mug", **{"First Name (Shipping)": name}))
    [text] = file.rows.get().problems["receiver_name"]
    assert text.startswith(f"Letters were lost here: “{name} Nair”.")


@pytest.mark.parametrize("name", ["Zoë", "100% Ada", "A=B", "Łukasz", "£5 Shop"])
def test_signs_beside_letters_are_no_lost_letters(take: Take, name: str) -> None:
    assert states(take(shop_files.WOOCOMMERCE, woocommerce("812", "Mug", **{"First Name (Shipping)": name}))) == [
        "ready"
    ]


def test_letters_lost_by_an_export_are_reported_once(take: Take) -> None:
    file = take(shop_files.WOOCOMMERCE, woocommerce("812", "Mug", **{"First Name (Shipping)": "??ng"}))
    row = file.rows.get()
    found = "Letters were lost here: “??ng Nair”. Put it right, or save the row as it is."
    assert (row.state, row.problems) == ("warning", {"receiver_name": [found]})
    assert checking.schedule_check(row, {"receiver_name": "??ng Nair"}, timezone.now())
    work_off(file)
    assert states(file) == ["ready"]


@pytest.mark.parametrize(
    ("country", "typed", "read"),
    [("US", "2155", "02155"), ("US", "2155-1234", "02155-1234"), ("US", "97205", "97205"), ("AU", "800", "800")],
)
def test_a_zip_code_gets_its_leading_zero_back(take: Take, country: str, typed: str, read: str) -> None:
    changes = {"Postcode (Shipping)": typed, "Country Code (Shipping)": country}
    file = take(shop_files.WOOCOMMERCE, woocommerce("812", "Mug", **changes))
    assert row_values.values(file.rows.get(), file)["receiver_postcode"] == read


@pytest.mark.parametrize(
    ("choice", "place", "instructions"),
    [
        ("Authority To Leave", "front porch", "Authority To Leave: front porch"),
        ("authority_to_leave", "", "Authority To Leave"),
        ("Signature on Delivery", "", "Signature on Delivery"),
        ("", "Authority To Leave: front porch", "Authority To Leave: front porch"),
        ("None", "", ""),
        ("", "", ""),
        ("back door", "", None),
        ("", "back door", None),
    ],
)
def test_instructions_are_kept_or_asked_about(take: Take, choice: str, place: str, instructions: str | None) -> None:
    words = "Where to leave it, or what the driver should know"
    row = {**READY["Starshipit"][1], "Delivery Instructions": choice, words: place}
    file = take([*shop_files.STARSHIPIT.split(","), words], row)
    if instructions is None:
        asked = "Choose Authority To Leave or Signature on Delivery to go with “back door”."
        assert file.rows.get().problems == {"delivery_choice": [asked]}
    else:
        assert entry_of(file)["receiver"]["instructions"] == instructions


def test_unused_columns_are_listed(take: Take) -> None:
    rows = [shopify("#1001", **{"Note Attributes": "Gift", "Total": "46.00"}), further("#1001", "Tea towel")]
    assert unread.listed(take(shop_files.SHOPIFY, *rows), {}) == [
        "Total",
        "Lineitem fulfillment status",
        "Shipping Street",
        "Note Attributes",
        "Vendor",
    ]


def test_a_second_box_without_an_address_is_not_joined(take: Take) -> None:
    row = READY["Starshipit"][1]
    mug = {**row, "Item Description": "Mug", "Weight": "1.2", "Length": "30"}
    kept = ("Order Number", "Email", "Weight", "Length", "Width", "Height")
    vase = {**{name: mug.get(name, "") for name in kept}, "Item Description": "Vase", "Length": "60"}
    assert states(take(shop_files.STARSHIPIT, mug, vase))[1] != "joined"
    assert states(take(shop_files.STARSHIPIT, mug, {**vase, "Length": "30"}))[1] == "joined"


@pytest.mark.parametrize(
    ("rows", "given", "weight"),
    [
        ([{"weight": "0.4 kg", "item_1_quantity": "2"}, {"weight": "0.15 kg"}], {}, "0.95 kg"),
        ([{"weight": "0.4 kg"}, {"weight": "0.1 kg"}], {"item_1_quantity": "3"}, "1.5 kg"),
        ([{"weight": "0.4 kg", "item_1_quantity": "1"}, {"weight": "0.1 kg"}], {"item_1_quantity": "3"}, "0.7 kg"),
    ],
)
def test_a_parcels_weight_counts_each_item_by_its_quantity(
    rows: list[dict[str, str]], given: dict[str, str], weight: str
) -> None:
    assert items.joined(rows, given, are_weights_of_one=True)["weight"] == weight
