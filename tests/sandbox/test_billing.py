import csv
import io
from collections import Counter
from decimal import Decimal

import pytest

from tests.sandbox.client import Client, an_order


def file(carrier: Client) -> list[dict[str, str]]:
    """Return the rows of the next report."""
    return list(csv.DictReader(io.StringIO(carrier.control("report")["csv"])))


def report(carrier: Client) -> list[dict[str, str]]:
    """Return the rows of the next report without its totals."""
    return [row for row in file(carrier) if row["Type"] != "Total"]


def totals(rows: list[dict[str, str]]) -> dict[str, str]:
    return {row["Currency"]: row["Price"] for row in rows if row["Type"] == "Total"}


def booked(carrier: Client, **changes) -> str:
    return str(carrier.book(an_order(**changes)).json["carrier_reference"])


def cancel(carrier: Client, reference: str) -> None:
    (line,) = [line for line in carrier.effects("booked") if line["reference"] == reference]
    assert carrier.call("DELETE", f"/orders/{line['order_id']}").status == 200


def price_of(carrier: Client, reference: str) -> str:
    (line,) = [line for line in carrier.effects("booked") if line["reference"] == reference]
    return str(line["parcel"]["quote"]["gross"])


# -- Orders and cancellations --------------------------------------------------------------------


def test_orders_are_billed_once_with_cover_inside_the_price(carrier):
    order = carrier.book(an_order(cover__total_cover__amount="300")).json
    (row,) = report(carrier)
    assert (row["Type"], row["Paid"]) == ("Order Invoiced", "Paid")
    assert (row["Reference"], row["Price"]) == (order["carrier_reference"], f"{order['price']['gross']['amount']:.2f}")
    assert row["Warranty Price"] == "3.90"
    assert file(carrier) == []


def test_a_cancellation_within_the_cycle_leaves_no_row(carrier):
    cancel(carrier, booked(carrier))
    assert file(carrier) == []


def test_a_cancellation_within_the_cycle_may_leave_both_its_rows(carrier):
    carrier.control("settings", bills_cancelled=True)
    reference = booked(carrier)
    cancel(carrier, reference)
    order, refund, total = file(carrier)
    assert {order["Reference"], refund["Reference"]} == {reference}
    assert (order["Paid"], refund["Paid"]) == ("Paid", "Refunded")
    assert order["Price"] == refund["Price"]
    assert total["Price"] == "0.00"


def test_a_cancellation_after_the_bill_is_a_refund_with_a_positive_price(carrier):
    reference = booked(carrier)
    (billed,) = report(carrier)
    cancel(carrier, reference)
    (refund,) = report(carrier)
    assert (refund["Paid"], refund["Price"]) == ("Refunded", billed["Price"])
    assert refund["Refund Date"]
    assert refund["Refund Reason"] == ""


@pytest.mark.parametrize("both", [False, True])
def test_a_label_used_after_cancelling_is_billed_as_a_normal_order(carrier, both):
    carrier.control("settings", bills_cancelled=both)
    reference = booked(carrier)
    cancel(carrier, reference)
    assert len(report(carrier)) == (2 if both else 0)
    carrier.control("scan", reference=reference, event_type="Pickup")
    (row,) = report(carrier)
    assert (row["Type"], row["Paid"], row["Price"]) == ("Order Invoiced", "Paid", price_of(carrier, reference))


@pytest.mark.parametrize("both", [False, True])
def test_a_label_used_in_the_cycle_of_its_cancellation_is_charged_once(carrier, both):
    carrier.control("settings", bills_cancelled=both)
    reference = booked(carrier)
    cancel(carrier, reference)
    carrier.control("scan", reference=reference, event_type="Pickup")
    rows = file(carrier)
    assert len(rows) == (4 if both else 2)
    assert totals(rows) == {"AUD": price_of(carrier, reference)}


# -- Adjustments and other refunds ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "words", "paid", "reason"),
    [
        ("under-declared", "Adjustment: Incorrect size declared", "Paid", ""),
        ("under-declared-refund", "Size adjustment charge refunded", "Refunded", ""),
        ("oversize", "Adjustment: Oversize penalty", "Paid", ""),
        ("refund-delay", "Order Invoiced", "Refunded", "Delay"),
        ("refund-loss", "Order Invoiced", "Refunded", "Loss"),
        ("refund", "Order Invoiced", "Refunded", "Other"),
    ],
)
def test_each_charge_has_its_own_words_and_each_refund_its_reason(carrier, kind, words, paid, reason):
    reference = booked(carrier)
    report(carrier)
    carrier.control("charge", reference=reference, kind=kind, amount="4.5")
    row, total = file(carrier)
    assert (row["Type"], row["Paid"], row["Refund Reason"]) == (words, paid, reason)
    assert (row["Price"], bool(row["Refund Date"])) == ("4.50", paid == "Refunded")
    assert total["Price"] == ("-4.50" if paid == "Refunded" else "4.50")


def test_adjustments_are_billed_with_the_measurements(carrier):
    reference = booked(carrier)
    report(carrier)
    carrier.control("charge", reference=reference, kind="under-declared", amount="4.5", measured_weight="3.1",
                    measured_volume="0.0131")  # fmt: skip
    (row,) = report(carrier)
    assert (row["Declared Max Weight"], row["Measured Weight"]) == ("2.400", "3.1")
    assert (row["Declared Max Volume"], row["Measured Volume"]) == ("0.0084", "0.0131")


def test_a_new_kind_of_charge_has_the_given_words(carrier):
    reference = booked(carrier)
    report(carrier)
    carrier.control("charge", reference=reference, kind="novelty", amount="6", words="Adjustment: Remote area")
    (row,) = report(carrier)
    assert (row["Type"], row["Reference"], row["Price"]) == ("Adjustment: Remote area", reference, "6.00")


def test_a_stray_line_is_for_an_unknown_parcel(carrier):
    carrier.control("stray", reference="SSTRAY001", amount="31.40")
    (row,) = report(carrier)
    assert (row["Type"], row["Reference"], row["Price"]) == ("Order Invoiced", "SSTRAY001", "31.40")
    assert row["Customer Reference"] == ""


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("charge", {"kind": "tip", "amount": "1"}),
        ("charge", {"kind": "novelty", "amount": "1"}),
        ("charge", {"kind": "refund", "amount": "1", "words": "Adjustment: Remote area"}),
        ("charge", {"kind": "refund", "amount": "-1"}),
        ("charge", {"kind": "refund", "amount": "NaN"}),
        ("stray", {"amount": "1"}),
        ("stray", {"amount": "much", "reference": "SSTRAY001"}),
    ],
)
def test_an_impossible_charge_is_refused(carrier, name, wrong):
    body = {"reference": booked(carrier), **wrong}
    assert carrier.call("POST", f"/_sandbox/{name}", body).status == 400
    assert len(report(carrier)) == 1


# -- Sums ----------------------------------------------------------------------------------------


def test_the_last_rows_are_the_totals_by_currency(carrier):
    reference = booked(carrier)
    carrier.control("charge", reference=reference, kind="refund-delay", amount="2.08")
    carrier.control("stray", reference="SSTRAY001", amount="7.10", currency="USD")
    rows = file(carrier)
    assert [row["Type"] for row in rows[-2:]] == ["Total", "Total"]
    paid = Decimal(price_of(carrier, reference))
    assert totals(rows) == {"AUD": str(paid - Decimal("2.08")), "USD": "7.10"}


def test_the_ledger_has_the_same_sums_as_the_file(carrier):
    references = [booked(carrier) for _ in range(3)]
    carrier.control("charge", reference=references[0], kind="under-declared", amount="4.35")
    first = file(carrier)
    cancel(carrier, references[1])
    carrier.control("charge", reference=references[2], kind="refund-loss", amount="12.08")
    second = file(carrier)
    for rows, effect in zip((first, second), carrier.effects("invoiced"), strict=True):
        assert totals(rows) == effect["totals"]
        assert Counter(
            (row["Reference"], ("-" if row["Paid"] == "Refunded" else "") + row["Price"])
            for row in rows
            if row["Type"] != "Total"
        ) == Counter((line["reference"], line["amount"]) for line in effect["lines"])
    keys = {line["reference"]: line["order_key"] for line in carrier.effects("booked")}
    assert all(
        line["order_key"] == keys[line["reference"]]
        for effect in carrier.effects("invoiced")
        for line in effect["lines"]
    )


# -- The depot's scale ---------------------------------------------------------------------------


def test_a_share_of_parcels_is_measured_larger_once_collected(open_carrier):
    carrier = open_carrier(size_charge_share=0.25)
    references = [booked(carrier) for _ in range(10)]
    assert [row["Type"] for row in report(carrier)] == ["Order Invoiced"] * 10  # the depot has seen none yet
    for reference in references:
        carrier.control("scan", reference=reference, event_type="Pickup")
    rows = report(carrier)
    assert [row["Reference"] for row in rows] == [references[n] for n in (0, 3, 7, 9)]  # seed 1
    assert {row["Type"] for row in rows} == {"Adjustment: Incorrect size declared"}
    assert len(carrier.effects("charge")) == 4
    assert file(carrier) == []


def test_a_measured_parcel_is_larger_than_declared_in_some_way_and_smaller_in_none(open_carrier):
    carrier = open_carrier(size_charge_share=1.0)
    for _ in range(40):
        carrier.control("scan", reference=booked(carrier), event_type="Pickup")
    rows = [row for row in report(carrier) if row["Type"] == "Adjustment: Incorrect size declared"]
    grown = set()
    for row in rows:
        weight = Decimal(row["Measured Weight"]) / Decimal(row["Declared Max Weight"])
        volume = Decimal(row["Measured Volume"]) / Decimal(row["Declared Max Volume"])
        assert 1 <= weight < 2, row
        assert 1 <= volume < 2, row
        assert max(weight, volume) >= Decimal("1.05"), row
        grown.add((weight > 1, volume > Decimal("1.01")))
    assert len(rows) == 40
    assert grown == {(True, False), (False, True), (True, True)}
    assert len({row["Measured Volume"] for row in rows}) > 4


def test_nothing_is_measured_by_default(carrier):
    carrier.control("scan", reference=booked(carrier), event_type="Pickup")
    report(carrier)
    assert carrier.effects("charge") == []
