import csv
import io

from tests.sandbox.client import an_order


def report(carrier):
    return list(csv.DictReader(io.StringIO(carrier.control("report")["csv"])))


def test_orders_are_billed_once_with_cover_inside_the_price(carrier):
    order = carrier.book(an_order(cover__total_cover__amount="300")).json
    (row,) = report(carrier)
    assert (row["Type"], row["Paid"]) == ("Order Invoiced", "Paid")
    assert (row["Reference"], row["Price"]) == (
        order["carrier_reference"],
        f"{order['price']['gross']['amount']:.2f}",
    )
    assert row["Warranty Price"] == "3.90"
    assert report(carrier) == []


def test_a_cancellation_inside_the_cycle_leaves_no_row(carrier):
    order = carrier.book().json
    carrier.call("DELETE", f"/orders/{order['order_id']}")
    assert report(carrier) == []


def test_a_cancellation_after_the_bill_is_a_refund_at_the_positive_price(carrier):
    order = carrier.book().json
    (billed,) = report(carrier)
    carrier.call("DELETE", f"/orders/{order['order_id']}")
    (refund,) = report(carrier)
    assert (refund["Paid"], refund["Price"]) == ("Refunded", billed["Price"])
    assert refund["Refund Date"]


def test_adjustments_are_billed_with_what_was_measured(carrier):
    order = carrier.book().json
    report(carrier)
    carrier.control("charge", reference=order["carrier_reference"], kind="under-declared", amount="4.5",
                    measured_weight="3.1")  # fmt: skip
    (row,) = report(carrier)
    assert (row["Type"], row["Price"], row["Measured Weight"]) == (
        "Adjustment: Incorrect size declared",
        "4.50",
        "3.1",
    )


def test_a_label_used_after_cancelling_is_billed_as_a_normal_order(carrier):
    order = carrier.book().json
    carrier.call("DELETE", f"/orders/{order['order_id']}")
    assert report(carrier) == []
    carrier.control("scan", reference=order["carrier_reference"], event_type="Pickup")
    (row,) = report(carrier)
    assert (row["Type"], row["Paid"]) == ("Order Invoiced", "Paid")
