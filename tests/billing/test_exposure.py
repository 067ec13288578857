"""An order is unbilled until its bill is posted, and what a bill adds on the day of the order counts on that day."""

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.booking import bookings, recounting
from orders.models import DailySpend, Order
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.charges import correcting, matching
from shipping_portal.billing.models import BillingReport, Charge
from shipping_portal.billing.reports import posting
from tests import factories
from tests.billing.conftest import line, refund, summed

Take = Callable[..., BillingReport]
pytestmark = pytest.mark.django_db
PRICE = Decimal("12.08")


@pytest.fixture
def booked(alice: User) -> Callable[..., Order]:
    """`booked("SQ7K2M")` is a booked order that counts towards its sender's limits."""

    def book(reference: str, *, now: dt.datetime | None = None) -> Order:
        at = now or timezone.now()
        order = bookings.submit(
            quote=factories.quote(Sender.objects.get(memberships__user=alice), alice), code="STANDARD-PICKUP",
            by=alice, form_token=uuid.uuid4(), pickup_date=None, now=at,
        )  # fmt: skip
        move_to(order, "booked", reason="-", at=at, carrier_reference=reference, booked_at=at)
        return order

    return book


def post(report: BillingReport) -> None:
    posting.post_report(report, by=None, now=timezone.now())


def standing(sender: Sender) -> tuple[Decimal, Decimal]:
    """Return the amounts spent today and unbilled, both checked against the orders."""
    assert recounting.miscounted_rows(timezone.now()) == []
    sender.refresh_from_db()
    return sender.spent_today, sender.unbilled


def test_an_order_is_unbilled_until_its_line_is_posted(take: Take, booked: Callable[..., Order], quill: Sender) -> None:
    booked("SQ7K2M"), booked("SQ7K2N")
    report = take(summed(line("SQ7K2M")))
    assert standing(quill) == (2 * PRICE, 2 * PRICE)
    post(report)
    assert standing(quill) == (2 * PRICE, PRICE)


def test_a_bill_makes_room_in_the_unbilled_limit(take: Take, booked: Callable[..., Order], quill: Sender) -> None:
    Sender.objects.update(unbilled_limit=PRICE)
    booked("SQ7K2M")
    with pytest.raises(bookings.LimitReached, match="unbilled_limit"):
        booked("SQ7K2N")
    post(take(summed(line("SQ7K2M"))))
    booked("SQ7K2N")


def test_an_order_is_unbilled_again_once_the_report_that_billed_it_is_reversed(
    take: Take, booked: Callable[..., Order], quill: Sender, bob: User, sam: User
) -> None:
    """Otherwise a week of an account's parcels is on no bill and in no limit."""
    for reference in ("SQ7K2M", "SQ7K2N", "SQ7K2P", "SQ7K2Q"):
        booked(reference)
    other = bob.membership.sender
    factories.order(other, bob, status="booked", carrier_reference="SB4N8X")
    post(take(summed(line("SQ7K2N"))))
    lines = (line("SQ7K2M", "15.00", Warranty_Price="2.00"), refund("SQ7K2N"), line("SQ7K2P"), line("SB4N8X"))
    report = take(summed(*lines))
    post(report)
    cancelled = Order.objects.get(carrier_reference="SQ7K2P")
    move_to(cancelled, "cancelling", reason="-", at=timezone.now())
    move_to(cancelled, "cancelled", reason="-", at=timezone.now(), cancelled_at=timezone.now())
    assert standing(quill) == (2 * PRICE + 15, PRICE)  # the last one is unbilled
    correcting.reverse_report(report, by=sam, now=timezone.now(), reason="The carrier withdrew it.")
    assert standing(quill) == (3 * PRICE, 2 * PRICE)  # and the first one again
    assert standing(other) == (0, 0)  # from before there were limits
    post(take(summed(*lines)))
    assert standing(quill) == (2 * PRICE + 15, PRICE)


def test_an_order_matched_to_its_line_later_is_billed_too(
    take: Take, booked: Callable[..., Order], quill: Sender
) -> None:
    post(take(summed(line("SQ7K2M"))))
    booked("SQ7K2M")
    assert matching.match_late() == 1
    assert standing(quill) == (PRICE, Decimal(0))


@pytest.mark.parametrize(
    ("row", "unbilled"),
    [(refund("SQ7K2M"), Decimal(0)), (line("SQ7K2M", "3.00", Type="Adjustment: Oversize penalty"), PRICE)],
    ids=["a refund", "only an adjustment"],
)
def test_a_refund_ends_the_unbilled_amount_but_an_adjustment_does_not(
    take: Take, booked: Callable[..., Order], quill: Sender, row: dict[str, str], unbilled: Decimal
) -> None:
    booked("SQ7K2M")
    post(report := take(summed(row)))
    posting.decide_lines(
        report.lines.exclude(held=""), post=True, now=timezone.now()
    )  # a refund of what nobody charged
    assert standing(quill)[1] == unbilled


def test_an_order_billed_and_then_cancelled_is_subtracted_once(
    take: Take, booked: Callable[..., Order], quill: Sender
) -> None:
    """The worker that cancels it read the order before the bill was posted."""
    order, now = booked("SQ7K2M"), timezone.now()
    booked("SQ7K2N")
    post(take(summed(line("SQ7K2M"))))
    assert order.unbilled == PRICE
    move_to(order, "cancelling", reason="-", at=now)
    move_to(order, "cancelled", reason="-", at=now, cancelled_at=now)
    assert standing(quill) == (PRICE, PRICE)


@pytest.mark.parametrize(("days", "more"), [(0, Decimal("3.00")), (1, Decimal(0))], ids=["today", "yesterday"])
def test_an_extra_charge_counts_on_the_orders_day_only_while_that_day_lasts(
    take: Take, booked: Callable[..., Order], quill: Sender, days: int, more: Decimal
) -> None:
    booked("SQ7K2M", now=timezone.now() - dt.timedelta(days=days))
    booked("SQ7K2N")
    before = standing(quill)[0]
    post(take(summed(line("SQ7K2M"), line("SQ7K2M", "3.00", Type="Adjustment: Oversize penalty"))))
    assert standing(quill) == (before + more, PRICE)
    assert sum(DailySpend.objects.values_list("spent", flat=True)) == 2 * PRICE + more


def test_an_unposted_line_adds_nothing_to_todays_spend(booked: Callable[..., Order], quill: Sender) -> None:
    order = booked("SQ7K2M")
    before = standing(quill)[0]
    factories.charge(order, amount="20.00", report=factories.billing_report(state="checked", ended_at=None))
    bill = factories.charge(order, amount="12.08")
    posting.end_exposure(Charge.objects.filter(pk=bill.pk))
    assert standing(quill)[0] == before


def test_a_charge_in_another_currency_adds_nothing_to_todays_spend(
    take: Take, booked: Callable[..., Order], quill: Sender
) -> None:
    order = booked("SQ7K2M")
    before = standing(quill)[0]
    bill = factories.charge(order, amount="20.00", currency="USD")
    posting.end_exposure(Charge.objects.filter(pk=bill.pk))
    assert standing(quill)[0] == before


def test_posting_takes_as_many_queries_for_four_lines_as_for_one(
    take: Take, booked: Callable[..., Order], quill: Sender
) -> None:
    found = []
    for count in (1, 4):
        references = [f"SMANY{count}{number}" for number in range(count)]
        for reference in references:
            booked(reference)
        report = take(summed(*(line(reference) for reference in references)))
        with CaptureQueriesContext(connection) as queries:
            post(report)
        found.append(len(queries))
    assert found[0] == found[1]
