"""The carrier's charges are compared with what was expected, and each difference is a task."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.charges import correcting, matching, reconciling
from shipping_portal.billing.models import week_of
from shipping_portal.billing.reports import posting
from tests import factories
from tests.billing.conftest import line, summed

pytestmark = pytest.mark.django_db
NOW = timezone.now()
THIS = week_of(NOW.date())
WEEKS = [THIS - dt.timedelta(weeks=back) for back in (2, 1, 0)]


@pytest.fixture
def made(quill: Sender, alice: User) -> Any:
    """`made()` is an order booked two weeks ago."""

    def make(status: str = "booked", **fields: Any) -> Order:
        ago = dt.datetime.combine(WEEKS[0] + dt.timedelta(days=1), dt.time(), dt.UTC)
        order = factories.order(quill, alice, status=status, **{"booked_at": ago, **fields})
        Order.objects.filter(pk=order.pk).update(submitted_at=ago)
        if status == "cancelled":
            Order.objects.filter(pk=order.pk).update(cancelled_at=ago)
        else:
            Order.objects.filter(pk=order.pk).update(reserved_on=ago.date(), reserved="12.08", unbilled="12.08")
            Sender.objects.update(unbilled=F("unbilled") + Decimal("12.08"))
        order.refresh_from_db()
        return order

    return make


def reported(*weeks: dt.date) -> list[Any]:
    return [factories.billing_report(week=week) for week in weeks]


def test_a_cancelled_order_not_refunded_after_two_reports_is_a_task(made: Any) -> None:
    order = made("cancelled")
    (first,) = reported(WEEKS[0])
    factories.charge(order, report=first)
    assert not reconciling.not_refunded(NOW).exists()
    reported(WEEKS[1])
    assert reconciling.not_refunded(NOW).get() == order
    factories.charge(order, kind="cancel-refund-later", amount="-12.08")
    assert not reconciling.not_refunded(NOW).exists()


def test_a_refund_of_another_parcel_does_not_count(made: Any) -> None:
    order, refunded = made("cancelled"), made("cancelled")
    (first, _) = reported(WEEKS[0], WEEKS[1])
    for each in (order, refunded):
        factories.charge(each, report=first)
    factories.charge(refunded, report=first, kind="cancel-refund", amount="-12.08")
    assert reconciling.not_refunded(NOW).get() == order


def test_an_order_of_the_newest_week_waits_for_the_next_report(made: Any) -> None:
    reports = reported(*WEEKS[:2])
    newest = dt.datetime.combine(WEEKS[1] + dt.timedelta(days=1), dt.time(), dt.UTC)
    cancelled, booked = made("cancelled"), made()
    Order.objects.update(submitted_at=newest, booked_at=newest)
    Order.objects.filter(pk=cancelled.pk).update(cancelled_at=newest)
    factories.charge(cancelled, report=reports[1])
    assert not reconciling.not_refunded(NOW).exists()
    assert not reconciling.never_charged(NOW).exists()
    reported(WEEKS[2])
    assert (reconciling.not_refunded(NOW).get(), reconciling.never_charged(NOW).get()) == (cancelled, booked)


def test_two_reports_for_one_week_count_as_one(made: Any) -> None:
    order = made("cancelled")
    first, _ = reported(WEEKS[0], WEEKS[0])
    factories.charge(order, report=first)
    assert not reconciling.not_refunded(NOW).exists()


def test_a_cancelled_order_never_charged_is_not_a_task(made: Any) -> None:
    made("cancelled")
    reported(*WEEKS)
    assert not reconciling.not_refunded(NOW).exists()


def test_a_charge_for_a_label_used_after_cancelling_is_a_task_until_reversed(made: Any, sam: Any) -> None:
    order = made("cancelled")
    charge = factories.charge(order, kind="un-cancellation")
    assert reconciling.charged_after_cancelling(NOW).get() == order
    correcting.reverse_charge(charge, by=sam, now=NOW, reason="Not used.")
    assert not reconciling.charged_after_cancelling(NOW).exists()


def test_a_cost_that_differs_from_the_booking_is_listed_until_an_operator_acts(made: Any, take: Any, sam: Any) -> None:
    right, covered, wrong = made(), made(), made()
    rows = [
        line(right.carrier_reference),
        line(covered.carrier_reference, Warranty_Price="2.00"),
        line(covered.carrier_reference, "20.00", Type="Adjustment: Oversize penalty"),
        line(wrong.carrier_reference, "13.00"),
    ]
    posting.post_report(take(summed(*rows)), by=None, now=NOW)
    assert reconciling.charged_otherwise(NOW).get() == wrong
    correcting.credit_sender(wrong.sender, Decimal("0.92"), "AUD", by=sam, now=NOW, reason="As booked.", order=wrong)
    assert not reconciling.charged_otherwise(NOW).exists()


def test_a_cost_matched_late_is_compared_together_with_its_cover(made: Any, take: Any) -> None:
    right, wrong = made(), made()
    rows = [line("SLATER1", Warranty_Price="2.00"), line("SLATER2", "13.00")]
    posting.post_report(take(summed(*rows)), by=None, now=NOW)
    for order, reference in ((right, "SLATER1"), (wrong, "SLATER2")):
        Order.objects.filter(pk=order.pk).update(carrier_reference=reference)
    assert matching.match_late() == 3
    assert reconciling.charged_otherwise(NOW).get() == wrong


def test_a_booked_order_not_charged_within_two_weeks_is_listed(made: Any) -> None:
    order, charged = made(), made()
    (first,) = reported(WEEKS[0])
    factories.charge(charged, report=first)
    assert not reconciling.never_charged(NOW).exists()
    reported(WEEKS[1])
    assert reconciling.never_charged(NOW).get() == order


def test_an_order_whose_report_was_reversed_is_listed_until_another_one_charges_it(
    made: Any, take: Any, sam: User
) -> None:
    order = made()
    report = take(summed(line(order.carrier_reference)))
    posting.post_report(report, by=None, now=NOW)
    reported(*WEEKS)
    assert not reconciling.never_charged(NOW).exists()
    correcting.reverse_report(report, by=sam, now=NOW, reason="The carrier withdrew it.")
    assert reconciling.never_charged(NOW).get() == order
    posting.post_report(take(summed(line(order.carrier_reference))), by=None, now=NOW)
    assert not reconciling.never_charged(NOW).exists()


def test_orders_from_before_the_first_report_are_not_expected(made: Any) -> None:
    made()
    reported(WEEKS[1], WEEKS[2])
    assert not reconciling.never_charged(NOW).exists()


def test_the_agreed_amount_in_another_currency_is_a_difference(made: Any, take: Any) -> None:
    right, wrong = made(), made()
    rows = [line(right.carrier_reference), line(wrong.carrier_reference, Currency="USD")]
    posting.post_report(take(summed(*rows)), by=None, now=NOW)
    assert reconciling.charged_otherwise(NOW).get() == wrong


@pytest.mark.parametrize("given_back", ["-12.08", "-99.00"])
def test_a_refund_in_another_currency_does_not_resolve_a_charge(made: Any, given_back: str) -> None:
    order = made("cancelled")
    factories.charge(order, kind="un-cancellation")
    factories.charge(order, kind="other-refund", amount=given_back, currency="USD")
    assert reconciling.charged_after_cancelling(NOW).get() == order
    factories.charge(order, kind="other-refund", amount="-12.08")
    assert not reconciling.charged_after_cancelling(NOW).exists()


def test_a_cancelled_order_must_be_refunded_in_the_currency_of_its_charge(made: Any) -> None:
    order = made("cancelled")
    (first, _) = reported(WEEKS[0], WEEKS[1])
    factories.charge(order, report=first)
    factories.charge(order, report=first, kind="cancel-refund", amount="-9.40", currency="USD")
    assert reconciling.not_refunded(NOW).get() == order
    factories.charge(order, report=first, kind="cancel-refund", amount="-11.00")
    assert not reconciling.not_refunded(NOW).exists()
