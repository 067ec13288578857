"""A line that can't be right waits for an operator, such as a second cost, and counts only if approved."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from orders.calling import gateway
from orders.models import Order
from shipping_portal.accounts.models import Notification, Sender, User
from shipping_portal.billing.charges import correcting, matching
from shipping_portal.billing.models import BillingReport, Charge, WeekSum
from shipping_portal.billing.reports import posting
from shipping_portal.billing.reports.balancing import report_balances, report_tallies
from tests import factories
from tests.billing.conftest import line, refund, summed

Take = Callable[..., BillingReport]
Row = dict[str, str]
pytestmark = pytest.mark.django_db
TWICE, REFUND, REPEAT, COUNTS = "twice", "refund", "repeat", ""


def size(price: str, **cells: str) -> Row:
    return line("SQ7K2M", price, Type="Adjustment: Incorrect size declared", **cells)


def cost(price: str = "12.08", **cells: str) -> Row:
    return line("SQ7K2M", price, **cells)


def back(price: str = "12.08", **cells: str) -> Row:
    return refund("SQ7K2M", price, **cells)


def post(report: BillingReport) -> BillingReport:
    posting.post_report(report, by=None, now=timezone.now())
    report.refresh_from_db()
    return report


def becomes(report: BillingReport) -> list[str]:
    """Return the outcome of each line, in file order."""
    lines = report.lines.order_by("line", "part")
    return [REPEAT if is_repeat else held for is_repeat, held in lines.values_list("is_repeat", "held")]


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked", carrier_reference="SQ7K2M")


def cancelled(order: Order, *, used: bool = False) -> None:
    now = timezone.now()
    Order.objects.filter(pk=order.pk).update(
        status="cancelled", cancelled_at=now, used_after_cancel_at=now if used else None
    )


LATER = {"Order_Date": "2026-11-19"}  # so that no two lines are alike
DELAY = {"Refund_Reason": "Delay"}
CASES: dict[str, tuple[bool, list[Row], list[Row], list[str]]] = {
    "a second cost": (False, [cost()], [cost("13.00")], [TWICE]),
    "a second cost of another day": (False, [cost()], [cost(**LATER)], [TWICE]),
    "an adjustment whose day and month are exchanged": (
        False, [cost(), size("3.30", Order_Date="2026-11-02")], [size("3.30", Order_Date="2026-02-11")], [REPEAT]
    ),
    "an adjustment of another day": (
        False, [cost(), size("3.30", Order_Date="2026-11-02")], [size("3.30", Order_Date="2026-11-03")], [COUNTS]
    ),
    "a second cost in another currency": (False, [cost()], [cost(Currency="USD")], [TWICE]),
    "two costs in one report": (False, [], [cost(), cost()], [COUNTS, TWICE]),
    "a second cost with Extra Cover": (False, [cost()], [cost("16.80", Warranty_Price="2.30")], [TWICE, TWICE]),
    "a cost again after it was cancelled": (True, [cost(), back()], [cost(**LATER)], [COUNTS]),
    "in whatever order its report has it": (True, [cost()], [cost(**LATER), back()], [COUNTS, COUNTS]),
    "and once more": (True, [cost(), back(), cost(**LATER)], [cost("13.00")], [TWICE]),
    "twice over": (True, [cost(), back()], [cost(**LATER), cost("13.00")], [COUNTS, TWICE]),
    "cancelled before it was ever billed": (True, [], [cost()], [COUNTS]),
    "refunded as it was cancelled, never billed": (True, [], [back()], [REFUND]),
    "refunded though never billed": (False, [], [back()], [REFUND]),
    "refunded in full": (False, [cost()], [back()], [COUNTS]),
    "a cent more than was charged": (False, [cost()], [back("12.09", **DELAY)], [REFUND]),
    "a cent less": (False, [cost()], [back("12.07", **DELAY)], [COUNTS]),
    "a unit more": (False, [cost()], [back("13.08", **DELAY)], [REFUND]),
    "with the size charge, just as much": (False, [cost()], [size("3.00"), back("15.08", **DELAY)], [COUNTS, COUNTS]),
    "with the size charge, a cent more": (False, [cost()], [size("3.00"), back("15.09", **DELAY)], [COUNTS, REFUND]),
    "refunded twice": (False, [cost(), back(**DELAY)], [back(Refund_Date="2026-11-24", **DELAY)], [REFUND]),
    "refunded twice, in parts": (False, [cost(), back("9.00")], [back("3.08", **DELAY)], [COUNTS]),
    "refunded in another currency": (False, [cost()], [back(Currency="USD")], [REFUND]),
    "lost with its contents": (False, [cost()], [back("300.00", Refund_Reason="Loss")], [COUNTS]),
    "a cost billed twice and taken back": (False, [cost()], [cost(**LATER), back()], [TWICE, REFUND]),
    "an adjustment before its cost": (False, [], [size("3.00")], [COUNTS]),
    "two adjustments": (False, [cost()], [size("3.00"), size("3.00")], [COUNTS, COUNTS]),
    "the same again": (False, [cost(), size("3.00")], [cost("12.080"), size("3.00")], [REPEAT, REPEAT]),
    "the same and one more alike": (False, [size("3.00")], [size("3.00"), size("3.00")], [REPEAT, COUNTS]),
    "two of the three that were": (False, [size("3.00")] * 3, [size("3.00")] * 2, [REPEAT, REPEAT]),
}  # fmt: skip


@pytest.mark.parametrize("is_known", [True, False], ids=["an order", "nobody's"])
@pytest.mark.parametrize(("is_cancelled", "before", "rows", "expected"), CASES.values(), ids=CASES.keys())
def test_the_outcome_of_a_line_depends_on_what_was_posted_before(
    take: Take, order: Order, *, is_known: bool, is_cancelled: bool, before: list[Row], rows: list[Row],
    expected: list[str],
) -> None:  # fmt: skip
    if is_cancelled:
        cancelled(order)
    if not is_known:
        if is_cancelled:
            pytest.skip("nobody knows of a stranger's parcel that it was cancelled")
        Order.objects.filter(pk=order.pk).update(carrier_reference="SANOTHER")
    if before:
        post(take(summed(*before)))
    report = take(summed(*rows))
    assert becomes(report) == expected
    post(report)
    assert becomes(report) == expected
    assert report.lines.posted().count() == expected.count(COUNTS)


def test_a_label_used_after_cancelling_is_billed_once_even_if_its_order_never_was(take: Take, order: Order) -> None:
    cancelled(order, used=True)
    week = timezone.now().date()
    post(take(summed(cost()), name="a.csv", week=week))
    assert becomes(take(summed(cost(**LATER)), name="b.csv", week=week)) == [TWICE]


def test_a_line_on_hold_is_on_no_senders_page_and_in_no_email(take: Take, order: Order, alice: User) -> None:
    post(take(summed(cost())))
    Notification.objects.all().delete()
    second = post(take(summed(cost("13.00"), line("SOTHER01", "1.00"))))
    assert list(Charge.objects.for_user(alice).values_list("amount", flat=True)) == [Decimal("12.08")]
    assert WeekSum.objects.get(kind="").amount == Decimal("12.08")
    assert not Notification.objects.exists()
    assert order.charges.net() == {"AUD": Decimal("25.08")}  # of all lines, for the operator
    [balance] = report_balances(second)
    assert (balance.found, balance.difference) == (Decimal("14.00"), 0)
    [tally] = report_tallies([second]).values()
    assert (tally.matched, tally.unmatched, tally.held, tally.left_out) == (0, 1, 1, 0)


def test_a_line_on_hold_that_is_approved_is_on_its_weeks_statement_once(take: Take, order: Order, alice: User) -> None:
    post(take(summed(cost())))
    second = post(take(summed(cost("16.80", Warranty_Price="2.30")), name="billing-2026-11-30.csv"))
    lines, now = list(second.lines.all()), timezone.now()
    assert len(posting.decide_lines(lines, post=True, now=now)) == 2
    assert posting.decide_lines(lines, post=True, now=now) == []
    assert posting.decide_lines(lines, post=False, now=now) == []
    assert Charge.objects.for_user(alice).filter(week=second.week).net() == {"AUD": Decimal("16.80")}
    assert WeekSum.objects.get(week=second.week, kind="").amount == Decimal("16.80")
    [tally] = report_tallies([second]).values()
    assert (tally.matched, tally.held) == (2, 0)


def test_a_line_on_hold_that_is_left_out_never_counts_and_is_recognised_later(
    take: Take, order: Order, alice: User
) -> None:
    post(take(summed(cost())))
    second = post(take(summed(cost("13.00"))))
    assert len(posting.decide_lines(second.lines.all(), post=False, now=timezone.now())) == 1
    assert not second.lines.on_hold().exists()
    third = take(summed(cost("13.00"), size("1.00")))
    assert becomes(third) == [REPEAT, COUNTS]
    assert Charge.objects.for_user(alice).net() == {"AUD": Decimal("12.08")}
    [tally] = report_tallies([second]).values()
    assert (tally.matched, tally.held, tally.left_out) == (0, 0, 1)


def test_a_line_on_hold_is_recognised_in_another_report(take: Take, order: Order) -> None:
    post(take(summed(cost(), cost("13.00"))))
    again = post(take(summed(cost(), cost("13.0"), size("1.00"))))
    assert becomes(again) == [REPEAT, REPEAT, COUNTS]
    assert Charge.objects.on_hold().count() == 1


def test_a_line_approved_before_its_report_is_posted_counts_with_it(take: Take, order: Order) -> None:
    post(take(summed(cost())))
    second = take(summed(cost("13.00")))
    assert posting.decide_lines(second.lines.all(), post=True, now=timezone.now())
    assert not second.lines.posted().exists()
    post(second)
    assert becomes(second) == [COUNTS]
    assert second.lines.posted().count() == 1


def test_two_waiting_reports_with_a_cost_of_the_same_order_count_only_one(take: Take, order: Order) -> None:
    """Both were right when they were read, but the second one isn't once the first is posted."""
    first, second = take(summed(cost())), take(summed(cost("13.00")))
    assert becomes(first) == becomes(second) == [COUNTS]
    post(first)
    assert becomes(post(second)) == [TWICE]


def test_a_line_approved_in_two_reports_is_posted_once(take: Take, order: Order) -> None:
    post(take(summed(cost())))
    rows = [cost("13.00"), line("SOTHER01", "1.00"), line("SOTHER02", "1.00")]
    first, second = take(summed(*rows[:2])), take(summed(*rows))
    for report in (first, second):
        posting.decide_lines(report.lines.all(), post=True, now=timezone.now())
    assert becomes(post(first)) == [COUNTS, COUNTS]
    assert becomes(post(second)) == [REPEAT, REPEAT, COUNTS]


def test_after_a_cost_is_reversed_another_one_counts(take: Take, order: Order, sam: User) -> None:
    wrong = post(take(summed(cost("21.08")))).lines.get()
    correcting.reverse_charge(wrong, by=sam, now=timezone.now(), reason="The carrier withdrew it.")
    assert becomes(take(summed(cost()))) == [COUNTS]
    assert becomes(take(summed(cost("21.080")))) == [REPEAT]  # but it doesn't come back itself


def test_a_line_assigned_by_hand_is_recognised_by_its_reference(take: Take, order: Order) -> None:
    charge = post(take(summed(line("SSTRANGE", "9.00")))).lines.get()
    matching.assign_charge(charge, sender=order.sender, order=order)
    assert becomes(take(summed(line("sstrange", "9.0")))) == [REPEAT]


def test_lines_posted_with_older_keys_are_recognised_by_their_content(take: Take, order: Order) -> None:
    """An older key was made from other text, so only the columns of a line are compared."""
    rows = [cost("12.60"), size("3.00"), size("3.00"), back("12.60")]
    report = post(take(summed(*rows)))
    for charge in report.lines.all():
        Charge.objects.filter(pk=charge.pk).update(key=f"{charge.pk:064d}")
    assert becomes(post(take(summed(*rows, size("4.00"))))) == [REPEAT] * 4 + [COUNTS]


def test_each_carrier_account_has_its_own_lines(take: Take, order: Order, settings: Any, quill: Sender) -> None:
    """Identical lines and similar ones both count: another account's bill is a separate debt."""
    rows = [cost(), size("3.00"), back("1.00", **DELAY)]
    post(take(summed(*rows)))
    settings.CARRIER_ACCOUNT = "another-account"
    Order.objects.filter(pk=order.pk).update(account=gateway.current_account())
    other = take(summed(*rows))
    assert becomes(post(other)) == [COUNTS] * 3
    # Nor is its cost charged for what the first one gives back.
    assert becomes(take(summed(back("11.07", **DELAY, Refund_Date="2026-11-25")))) == [COUNTS]
    assert becomes(take(summed(back("11.09", **DELAY, Refund_Date="2026-11-26")))) == [COUNTS]
    assert becomes(take(summed(back("14.09", **DELAY, Refund_Date="2026-11-27")))) == [REFUND]


def test_the_carriers_line_number_tells_identical_lines_apart(take: Take, order: Order) -> None:
    from shipping_portal.billing.reports.fields import DEFAULT_COLUMNS, profile_of  # noqa: PLC0415

    profile = profile_of(gateway.current_account())
    unnumbered = post(take(summed(size("3.00"))))
    profile.columns = {**DEFAULT_COLUMNS, "line_id": "Customer Reference"}
    profile.save()
    assert becomes(post(take(summed(size("3.00", Customer_Reference="1"))))) == [REPEAT]  # the first had none
    both = post(take(summed(size("4.00", Customer_Reference="2"), size("4.00", Customer_Reference="3"))))
    assert becomes(both) == [COUNTS, COUNTS]
    again = take(summed(size("4.00", Customer_Reference="3"), size("4.00", Customer_Reference="4")))
    assert becomes(again) == [REPEAT, COUNTS]
    assert unnumbered.lines.posted().count() == 1


def test_a_refund_of_another_kind_does_not_make_a_second_cost_right(take: Take, order: Order) -> None:
    """The order was never cancelled, so the refund is for a delay."""
    post(take(summed(cost(), back("12.08", **DELAY))))
    later = timezone.now().date() + timedelta(days=7)
    assert becomes(take(summed(cost("13.00")), week=later)) == [TWICE]
