"""A week's totals are stored and always equal the sum of its lines, no matter who changed them."""

from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from django.db.models import Q
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import DailySpend, Order
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.billing.charges import correcting, matching, week_sums
from shipping_portal.billing.disputes import disputing
from shipping_portal.billing.models import BillingReport, Charge, WeekSum
from shipping_portal.billing.reports import posting
from tests import factories
from tests.billing.conftest import line, refund, summed

Take = Callable[..., BillingReport]
pytestmark = pytest.mark.django_db
ALL = Q()
IN_SQL = import_module("shipping_portal.billing.migrations.0006_fill_week_sums").COUNTED


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked", carrier_reference="SQ7K2M")


@pytest.fixture
def post(take: Take) -> Callable[..., BillingReport]:
    def read_and_posted(*rows: dict[str, str]) -> BillingReport:
        report = take(summed(*rows))
        posting.post_report(report, by=None, now=timezone.now())
        return report

    return read_and_posted


def sums() -> dict[str, tuple[int, int, Decimal]]:
    """Return the number of lines and orders, and the amount, by kind."""
    rows = WeekSum.objects.values_list("kind", "lines", "orders", "amount")
    return {kind: (lines, orders, amount) for kind, lines, orders, amount in rows}


@pytest.mark.postgres
def test_a_week_is_totalled_by_kind_and_each_parcel_counts_once(
    post: Callable[..., BillingReport], order: Order, quill: Sender, alice: User
) -> None:
    factories.order(quill, alice, status="booked", carrier_reference="SQ7K3N")
    post(line("SQ7K2M", "12.08", Warranty_Price="2.00"), line("SQ7K3N", "10.00"), line("SNOBODY01", "99.00"))
    assert sums() == {"order": (2, 2, Decimal("20.08")), "cover": (1, 1, Decimal("2.00")), "": (3, 2, Decimal("22.08"))}


def found_its_order(order: Order, sam: User) -> None:
    Order.objects.filter(pk=order.pk).update(carrier_reference="SLATER01")
    assert matching.match_late() == 1


def lost_it_again(order: Order, sam: User) -> None:
    matching.release_lines(order)


def credited(order: Order, sam: User) -> None:
    correcting.credit_sender(
        order.sender, Decimal("3.00"), "AUD", by=sam, now=timezone.now(), reason="Sorry.", order=order
    )


def taken_back(order: Order, sam: User) -> None:
    correcting.reverse_charge(Charge.objects.get(order=order), by=sam, now=timezone.now(), reason="Wrong.")


def answered_with_money(order: Order, sam: User) -> None:
    disputing.open_all([Charge.objects.get(order=order)], by=sam, text="Too much", photo=None, now=timezone.now())
    dispute = Charge.objects.get(order=order).disputes.get()
    disputing.answer_dispute(dispute, accepted=True, text="True.", by=sam, now=timezone.now(), credit=Decimal("1.00"))


@pytest.mark.parametrize("act", [found_its_order, lost_it_again, credited, taken_back, answered_with_money])
def test_every_change_to_a_posted_line_is_in_the_totals(
    post: Callable[..., BillingReport], order: Order, sam: User, act: Callable[[Order, User], None]
) -> None:
    post(line("SQ7K2M"), line("SLATER01", "7.00"))
    before = set(WeekSum.objects.values_list("week", "kind", "amount"))
    act(order, sam)
    assert set(WeekSum.objects.values_list("week", "kind", "amount")) != before
    assert week_sums.wrong_weeks(ALL) == set()


def test_a_second_report_of_the_week_is_added(post: Callable[..., BillingReport], order: Order) -> None:
    post(line("SQ7K2M"))
    post(refund("SQ7K2M", "5.00"))
    assert sums()[""] == (2, 1, Decimal("7.08"))
    assert week_sums.wrong_weeks(ALL) == set()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda: WeekSum.objects.filter(kind="").update(amount=1),
        lambda: WeekSum.objects.filter(kind="order").update(orders=9),
        lambda: WeekSum.objects.all().delete(),
        lambda: Charge.objects.all().update(posted_at=None),
    ],
)
def test_the_daily_recount_corrects_a_wrong_week_and_records_it(
    post: Callable[..., BillingReport], order: Order, spoil: Callable[[], Any]
) -> None:
    post(line("SQ7K2M"))
    now = timezone.now()
    week_sums.recount_weeks(now)
    assert not DailySpend.objects.filter(mended__gt=0).exists(), "a right one is no alarm"
    spoil()
    week_sums.recount_weeks(now)
    assert week_sums.wrong_weeks(ALL) == set()
    assert DailySpend.objects.get().mended == 1
    row = Audit.objects.get(action="week recounted")
    assert "was" in row.reason
    assert row.sender == order.sender


@pytest.mark.parametrize("path", ["/billing/", "/reports/spend.csv"])
def test_pages_that_list_weeks_do_not_read_their_lines(
    post: Callable[..., BillingReport], order: Order, alice: User, visit: Callable[[User], Client], path: str
) -> None:
    post(line("SQ7K2M"))
    browser = visit(alice)
    with CaptureQueriesContext(connection) as queries:
        answer = browser.get(path)
        assert b"".join(answer)
        assert answer.status_code == 200
    summing = [one["sql"] for one in queries if "billing_charge" in one["sql"] and "orders_order" not in one["sql"]]
    assert summing == []


@pytest.mark.postgres
def test_the_migration_totals_lines_posted_earlier(post: Callable[..., BillingReport], order: Order) -> None:
    post(line("SQ7K2M", Warranty_Price="2.00"), line("SNOBODY01"))
    WeekSum.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute(IN_SQL.format(kind="kind", by_kind=", kind"))
        cursor.execute(IN_SQL.format(kind="''", by_kind=""))
    assert WeekSum.objects.exists()
    assert week_sums.wrong_weeks(ALL) == set()
