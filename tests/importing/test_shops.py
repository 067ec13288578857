"""What a shop says about its orders: shipped, cancelled, refunded and unpaid ones are recognised."""

import pytest

from shipping_portal.importing import shops
from shipping_portal.importing.shop_words import CANCELLED, NO_PARCEL, PARTLY, REFUNDED, SHIPPED, UNPAID
from tests.importing import shop_files
from tests.importing.shop_files import Row

CASES: list[tuple[str, Row, str]] = [
    (shop_files.SHOPIFY, {"Financial Status": "paid", "Fulfillment Status": "unfulfilled"}, ""),
    (shop_files.SHOPIFY, {"Financial Status": "paid", "Fulfillment Status": ""}, ""),
    (shop_files.SHOPIFY, {"Financial Status": "partially_refunded"}, ""),
    (shop_files.SHOPIFY, {"Financial Status": "paid", "Fulfillment Status": "pending"}, ""),
    (shop_files.SHOPIFY, {"Financial Status": "paid", "Fulfillment Status": "fulfilled"}, SHIPPED),
    (shop_files.SHOPIFY, {"Financial Status": "paid", "Fulfillment Status": "partial"}, PARTLY),
    (shop_files.SHOPIFY, {"Financial Status": "paid", "Fulfillment Status": "restocked"}, CANCELLED),
    (shop_files.SHOPIFY, {"Financial Status": "paid", "Cancelled at": "2026-11-19 09:12:01 +1100"}, CANCELLED),
    (shop_files.SHOPIFY, {"Financial Status": "refunded"}, REFUNDED),
    (shop_files.SHOPIFY, {"Financial Status": "voided"}, CANCELLED),
    (shop_files.SHOPIFY, {"Financial Status": "pending"}, UNPAID),
    (shop_files.SHOPIFY, {"Financial Status": "authorized"}, UNPAID),
    (shop_files.SHOPIFY, {"Financial Status": "partially_paid"}, UNPAID),
    (
        shop_files.SHOPIFY,
        {"Financial Status": "refunded", "Cancelled at": "2026-11-19", "Fulfillment Status": "fulfilled"},
        CANCELLED,
    ),
    (shop_files.WOOCOMMERCE, {"Order Status": "Processing"}, ""),
    (shop_files.WOOCOMMERCE, {"Order Status": "wc-processing"}, ""),
    (shop_files.WOOCOMMERCE, {"Order Status": "Completed"}, SHIPPED),
    (shop_files.WOOCOMMERCE, {"Order Status": "wc-completed"}, SHIPPED),
    (shop_files.WOOCOMMERCE, {"Order Status": "Pending payment"}, UNPAID),
    (shop_files.WOOCOMMERCE, {"Order Status": "On hold"}, UNPAID),
    (shop_files.WOOCOMMERCE, {"Order Status": "Cancelled"}, CANCELLED),
    (shop_files.WOOCOMMERCE, {"Order Status": "Failed"}, CANCELLED),
    (shop_files.WOOCOMMERCE, {"Order Status": "Refunded"}, REFUNDED),
    (shop_files.WOOCOMMERCE_UNDERSCORED, {"status": "completed"}, SHIPPED),
    (shop_files.ETSY, {"Status": "Paid"}, ""),
    (shop_files.ETSY, {"Date Shipped": "11/19/2026"}, SHIPPED),
    (shop_files.EBAY_AU, {"Paid on date": "19-Nov-26"}, ""),
    (shop_files.EBAY_AU, {"Paid on date": "19-Nov-26", "Posted on date": "--"}, ""),
    (shop_files.EBAY_AU, {"Paid on date": "19-Nov-26", "Posted on date": "20-Nov-26"}, SHIPPED),
    (shop_files.EBAY_UK, {"Paid on date": "19-Nov-26", "Dispatched on date": "20-Nov-26"}, SHIPPED),
    (shop_files.EBAY_US, {"Paid On Date": "Nov-19-26", "Shipped On Date": "Nov-20-26"}, SHIPPED),
    (shop_files.EBAY_AU, {"Paid on date": ""}, UNPAID),
    (shop_files.AMAZON, {"quantity-to-ship": "2"}, ""),
    (shop_files.AMAZON, {"quantity-to-ship": "0"}, SHIPPED),
    (shop_files.AMAZON, {"quantity-to-ship": "0.0"}, SHIPPED),
    (shop_files.AMAZON, {"quantity-to-ship": "2.0"}, ""),
    (shop_files.SQUARE, {"Fulfillment Status": "Pending"}, ""),
    (shop_files.SQUARE, {"Fulfillment Status": "Completed"}, SHIPPED),
    (shop_files.SQUARE, {"Fulfillment Status": "Canceled"}, CANCELLED),
    (shop_files.BIGCOMMERCE, {"Order Status": "Awaiting Fulfillment"}, ""),
    (shop_files.BIGCOMMERCE, {"Order Status": "Awaiting Shipment"}, ""),
    (shop_files.BIGCOMMERCE, {"Order Status": "Shipped"}, SHIPPED),
    (shop_files.BIGCOMMERCE, {"Order Status": "Partially Shipped"}, PARTLY),
    (shop_files.BIGCOMMERCE, {"Order Status": "Awaiting Payment"}, UNPAID),
    (shop_files.BIGCOMMERCE, {"Order Status": "Incomplete"}, UNPAID),
    (shop_files.BIGCOMMERCE, {"Order Status": "Declined"}, CANCELLED),
    (shop_files.STARSHIPIT, {"Name": "Priya Nair"}, ""),
    *(("Status", {"Status": word}, CANCELLED) for word in ("Closed", "Trash", "Suspected Fraud")),
    *(("Status", {"Status": word}, UNPAID) for word in ("Not paid", "Payment review", "holded", "checkout-draft")),
    *(("Shipment Status", {"Shipment Status": word}, SHIPPED) for word in ("Shipped", "Delivered")),
    ("Shipped At", {"Shipped At": "2026-11-01"}, SHIPPED),
    ("Refunded at", {"Refunded at": "2026-11-01"}, REFUNDED),
]


def cells(header: str, row: Row) -> list[str]:
    return [row.get(name, "") for name in header.split(",")]


@pytest.mark.parametrize(("header", "row", "why"), CASES)
def test_an_order_is_left_out_if_its_shop_says_it_should_not_be_sent(header: str, row: Row, why: str) -> None:
    assert shops.why_left_out(header.split(","), [cells(header, row)]) == why


@pytest.mark.parametrize(
    ("header", "first", "second", "why"),
    [
        (shop_files.SHOPIFY, {"Fulfillment Status": "unfulfilled", "Financial Status": "paid"}, {}, ""),
        (shop_files.SHOPIFY, {"Fulfillment Status": "fulfilled"}, {}, SHIPPED),
        (shop_files.AMAZON, {"quantity-to-ship": "1"}, {"quantity-to-ship": "0"}, PARTLY),
        (shop_files.AMAZON, {"quantity-to-ship": "0"}, {"quantity-to-ship": "0"}, SHIPPED),
        (shop_files.EBAY_AU, {"Paid on date": "19-Nov-26"}, {"Item title": "Mug"}, ""),
        (shop_files.WOOCOMMERCE, {"Order Status": "Processing"}, {"Order Status": "Refunded"}, REFUNDED),
    ],
)
def test_the_rows_of_an_order_decide_together_whether_it_is_left_out(
    header: str, first: Row, second: Row, why: str
) -> None:
    assert shops.why_left_out(header.split(","), [cells(header, first), cells(header, second)]) == why


@pytest.mark.parametrize(
    ("total", "refund", "why"),
    [
        ("20.00", "", ""),
        ("20.00", "0.00", ""),
        ("20.00", "19.99", ""),
        ("20.00", "20.00", REFUNDED),
        ("20.00", "-20.00", REFUNDED),
        ("$1,020.00", "1,020.00 USD", REFUNDED),
        ("20.00", "27.20", REFUNDED),  # with its taxes
        ("", "20.00", ""),
        ("n/a", "n/a", ""),
        ("-20.00", "", REFUNDED),
        ("-$20.00", "", REFUNDED),
        ("$-20.00", "", REFUNDED),
        ("20.00-", "", REFUNDED),
        ("(20.00)", "", REFUNDED),
    ],
)
def test_an_order_paid_back_in_full_is_refunded(total: str, refund: str, why: str) -> None:
    header = ["Order total", "Amount refunded"]
    assert shops.why_left_out(header, [[total, refund]]) == why


@pytest.mark.parametrize("total", ["Order Total Amount", "Grand Total (Base)", "Order Total (inc tax)", "total_amount"])
@pytest.mark.parametrize("refund", ["Order Refund Amount", "Total Refunded"])
def test_the_sum_of_an_order_has_its_shops_own_name(total: str, refund: str) -> None:
    header = [total, "Order Total Tax Amount", refund]
    assert shops.why_left_out(header, [["41.00", "3.73", "41.00"]]) == REFUNDED
    assert shops.why_left_out(header, [["41.00", "3.73", "3.73"]]) == ""


@pytest.mark.parametrize(
    ("header", "rows", "why"),
    [
        ("Quantity (- Refund)", ["0"], NO_PARCEL),  # as WooCommerce counts what is left
        ("Quantity (- Refund)", ["2"], ""),
        ("Lineitem quantity", ["0", "1"], ""),
        ("Lineitem quantity", ["0", "0"], NO_PARCEL),
        ("Qty,Quantity refunded", ["1,1"], NO_PARCEL),  # as Wix does
        ("Qty,Quantity refunded", ["2,2", "1,0"], ""),
        ("Qty,Quantity refunded", ["2,1"], ""),
        ("Qty,Quantity refunded", ["1,0"], ""),
        ("Qty,Quantity refunded", [","], ""),
        ("Quantity", ["10"], ""),
    ],
)
def test_an_order_of_which_no_piece_is_left_needs_no_parcel(header: str, rows: list[str], why: str) -> None:
    assert shops.why_left_out(header.split(","), [row.split(",") for row in rows]) == why


@pytest.mark.parametrize(
    ("method", "why"),
    [
        *((method, NO_PARCEL) for method in (
            "Pickup at 12 High St", "Studio pickup", "Market pickup - Saturday", "Porch Pick-Up", "Warehouse pick up",
            "Will call", "I'll collect", "Collection from shop", "Hand delivered", "Hand delivery (free)",
            "Free local delivery", "Local pickup, 4 Post St", "Cueillette en magasin", "Ramassage en boutique", "Selbstabholung",
        )),
        *((method, "") for method in (
            "Standard (pickup point)", "DHL Parcel pickup", "Australia Post collection point", "UPS scheduled pickup",
            "FedEx Ground Collect", "Freight collect", "Express", "Delivered by hand-picked couriers", "Locker pickup",
        )),
    ],
)  # fmt: skip
def test_a_method_says_that_a_buyer_collects(method: str, why: str) -> None:
    assert shops.why_left_out(["Shipping Method"], [[method]]) == why


def test_a_discount_on_its_own_line_is_not_a_refund() -> None:
    assert shops.why_left_out(["Total"], [["20.00"], ["-5.00"]]) == ""


@pytest.mark.parametrize(
    ("name", "cell", "why"),
    [
        ("Shipped?", "Yes", SHIPPED),
        ("Already sent", "x", SHIPPED),
        ("Posted", "20/11/2026", SHIPPED),
        ("Posted", "No", ""),
        ("Posted", "", ""),
        ("is_cancelled", "TRUE", CANCELLED),
        ("Fully refunded?", "1", REFUNDED),
        ("Paid", "no", UNPAID),
        ("Paid", "20.00", ""),
        ("Cancelled on", "2026-11-20", CANCELLED),
        ("Cancelled on", "N/A", ""),
        ("Cancellation reason", "Changed mind", CANCELLED),
    ],
)
def test_a_tick_answers_its_columns_question(name: str, cell: str, why: str) -> None:
    assert shops.why_left_out([name], [[cell]]) == why


def test_completed_does_not_mean_shipped_if_another_column_is_about_shipping() -> None:
    assert shops.why_left_out(["Status"], [["completed"]]) == SHIPPED
    assert shops.why_left_out(["Status", "Shipping status"], [["completed", "unshipped"]]) == ""
    assert shops.why_left_out(["Status", "Shipping status"], [["completed", "completed"]]) == SHIPPED
