"""Parcels that may qualify for a refund: each rule, what takes a parcel off the list, and what the page says."""

import csv
import datetime as dt
import io
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.list.system_views import SenderScope
from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.reports import refunds
from shipping_portal.reports.refunds import Claims
from shipping_portal.staff import queues
from tests import factories
from tests.pages.typed import text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wednesday")]

Visit = Callable[[User], Client]
NOW = dt.datetime(2026, 9, 16, 2, 0, tzinfo=dt.UTC)  # Wednesday noon in Melbourne, no holiday near
TODAY = dt.date(2026, 9, 16)


@pytest.fixture
def wednesday() -> Any:
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


@pytest.fixture
def order(quill: Sender, alice: User) -> Callable[..., Order]:
    def made(*, scanned: int | None = None, **fields: Any) -> Order:
        """Booked three weeks ago, with its last scan this many days ago."""
        at = NOW - dt.timedelta(days=scanned) if scanned is not None else None
        values = {
            "status": "booked", "booked_at": NOW - dt.timedelta(days=21), "progress_at": at, "eta_from": None,
            "eta_to": None, "carrier_pickup_date": TODAY - dt.timedelta(days=20),
        }  # fmt: skip
        found = factories.order(quill, alice, **{**values, **fields})
        factories.parcel(found, last_scan_at=at)
        return found

    return made


def listed(person: User, sender: Sender) -> dict[str, str]:
    """Return rule and reason by reference, once the days are counted."""
    factories.count_days(sender)
    claims = Claims(SenderScope.of(person, sender, timezone.now()))
    found = [claims.of(one) for one in claims.all()]
    return {str(claim.order): f"{claim.name}. {claim.why}" for claim in found}


def filed(client: Client) -> list[dict[str, str]]:
    answer = client.get("/reports/refunds.csv").getvalue().decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(answer)))


def test_two_missed_pickup_days_qualify_and_the_operator_knows_already(
    page: Client, order: Callable[..., Order], alice: User, quill: Sender
) -> None:
    once = order(carrier_pickup_date=dt.date(2026, 9, 15))  # the second day is today
    twice = order(carrier_pickup_date=dt.date(2026, 9, 14))
    assert listed(alice, quill) == {str(twice): "Missed. No driver came since Mon 14 Sep, on two pickup days."}
    assert str(once) not in text(page.get("/reports/refunds/"))
    assert "We've passed it to support. The label stays on; don't cancel." in text(page.get("/reports/refunds/"))
    assert list(Order.objects.filter(queues.missed_twice(NOW))) == [twice]


def test_the_page_claims_nothing_untrue_about_the_operator(
    page: Client, order: Callable[..., Order], alice: User, quill: Sender
) -> None:
    forgotten = order(carrier_pickup_date=TODAY - dt.timedelta(days=50), booked_at=NOW - dt.timedelta(days=51))
    assert not Order.objects.filter(queues.missed_twice(NOW)).exists()
    words = text(page.get("/reports/refunds/"))
    assert str(forgotten) in words
    assert "passed it to support" not in words


def test_missed_scans_on_two_days_qualify_also_after_the_pickup(
    order: Callable[..., Order], alice: User, quill: Sender
) -> None:
    for hours in (0, 2), (0, 24):
        parcel = order(scanned=1, progress="in_transit").parcel
        for hour in hours:
            at = NOW - dt.timedelta(days=9, hours=hour)
            factories.event(parcel, event_type="Missed  pickup", scan_time=at)
    assert listed(alice, quill) == {str(parcel.order): "Missed. No driver came on 2 days, by the scans."}


def test_lost_means_the_carrier_says_so_or_ten_business_days_without_a_scan(
    order: Callable[..., Order], alice: User, quill: Sender
) -> None:
    said = order(scanned=2, progress="lost")
    order(scanned=14, progress="in_transit")  # Wednesday to Wednesday: ten business days are over only tomorrow
    silent = order(scanned=15, progress="out_for_delivery")
    order(scanned=15, progress="held")  # waiting for its receiver
    order(scanned=15, progress="delivered")
    assert listed(alice, quill) == {
        str(said): "Lost. The carrier reported it lost on Mon 14 Sep.",
        str(silent): "Lost. No scan since Tue 1 Sep, for 10 business days or more.",
    }


def test_late_means_delivered_after_the_last_day_or_three_business_days_overdue(
    order: Callable[..., Order], alice: User, quill: Sender
) -> None:
    order(scanned=2, progress="delivered", eta_to=dt.date(2026, 9, 14))
    late = order(scanned=2, progress="delivered", eta_to=dt.date(2026, 9, 13))
    order(scanned=1, progress="in_transit", eta_to=dt.date(2026, 9, 11))  # Friday; the third day is today
    waiting = order(scanned=1, progress="in_transit", eta_to=dt.date(2026, 9, 10))
    order(scanned=190, progress="delivered", eta_to=dt.date(2026, 1, 1))  # longer ago than the list covers
    assert listed(alice, quill) == {
        str(late): "Late. Delivered on Mon 14 Sep; due by Sun 13 Sep.",
        str(waiting): "Late. Due by Thu 10 Sep and not delivered yet.",
    }


def test_the_day_of_delivery_is_in_the_senders_time_zone(
    order: Callable[..., Order], alice: User, quill: Sender
) -> None:
    """One in the morning in Melbourne is the day before in UTC."""
    at = dt.datetime(2026, 9, 14, 15, 0, tzinfo=dt.UTC)
    order(progress="delivered", progress_at=at, eta_to=dt.date(2026, 9, 15))
    late = order(progress="delivered", progress_at=at, eta_to=dt.date(2026, 9, 14))
    assert listed(alice, quill) == {str(late): "Late. Delivered on Tue 15 Sep; due by Mon 14 Sep."}


def test_a_damaged_parcel_qualifies_and_a_cancelled_one_does_not(
    order: Callable[..., Order], alice: User, quill: Sender
) -> None:
    damaged = order(scanned=1, progress="damaged")
    order(scanned=1, progress="lost", status="cancelled", cancelled_at=NOW)
    assert listed(alice, quill) == {str(damaged): "Damaged. The carrier reported damage on Tue 15 Sep."}


@pytest.mark.parametrize("kind", ["delay-refund", "loss-refund", "other-refund"])
def test_a_refunded_parcel_is_off_the_list(order: Callable[..., Order], alice: User, quill: Sender, kind: str) -> None:
    lost = order(scanned=1, progress="lost")
    factories.charge(lost)
    factories.charge(lost, "cancel-refund", "-12.08")
    factories.charge(lost, kind, "-12.08", report=factories.billing_report(state="checked"), posted_at=None)
    assert str(lost) in listed(alice, quill)
    back = factories.charge(lost, kind, "-12.08")
    assert listed(alice, quill) == {}
    factories.charge(lost, kind, "12.08", reverses=back)
    assert str(lost) in listed(alice, quill)


def test_the_file_has_what_the_page_shows(page: Client, order: Callable[..., Order]) -> None:
    lost = order(scanned=1, progress="lost", eta_to=dt.date(2026, 9, 18))
    [row] = filed(page)
    assert row == {
        "Reference": str(lost),
        "Your order number": "PORTAL-100234",
        "To": "Noor Tamsin",
        "Place": "HOBART TAS 7000",
        "May qualify as": "Lost",
        "Why": "The carrier reported it lost on Tue 15 Sep.",
        "Pickup planned": "2026-08-27",
        "Due by": "2026-09-18",
        "Last scan": "2026-09-15",
        "What next": f"Contact us and quote {lost}.",
    }
    words = text(page.get("/reports/refunds/"))
    for said in (
        *(row[head] for head in ("Reference", "To", "Place", "Why", "What next")),
        "Lost.",
        "Due by Fri 18 Sep",
    ):
        assert said in words


def test_a_bookkeeper_sees_initials_and_no_address(order: Callable[..., Order], bea: User, visit: Visit) -> None:
    order(scanned=1, progress="lost")
    books = visit(bea)
    words = text(books.get("/reports/refunds/")) + str(filed(books))
    assert "N. Tamsin" in words
    for hidden in ("Noor", "HOBART", "Sample Street"):
        assert hidden not in words


def test_nobody_sees_another_accounts_list(
    order: Callable[..., Order], bob: User, ana: User, vic: User, visit: Visit
) -> None:
    order(scanned=1, progress="lost")
    assert "Nothing to ask for" in text(visit(bob).get("/reports/refunds/"))
    assert filed(visit(bob)) == []
    assert {visit(person).get("/reports/refunds/").status_code for person in (ana, vic)} == {404}


def test_a_page_has_fifty_rows_and_always_costs_the_same(
    page: Client, order: Callable[..., Order], quill: Sender
) -> None:
    found = []
    page.get("/reports/refunds/")
    for count in (3, 60):
        for number in range(count):
            progress = ("lost", "in_transit", "delivered")[number % 3]
            order(scanned=15 + number % 3, progress=progress, eta_to=dt.date(2026, 8, 28))
        factories.count_days(quill)
        with CaptureQueriesContext(connection) as queries:
            answer = page.get("/reports/refunds/")
        found.append(len(queries))
    assert found[0] == found[1] <= 13, [query["sql"][:90] for query in queries]
    assert len(answer.context["rows"]) == 50
    older = page.get(f"/reports/refunds/?before={answer.context['page'].on}")
    assert len(older.context["rows"]) == 13
    assert "Newer" in text(older)
    newer = page.get(f"/reports/refunds/?after={older.context['page'].back}")
    assert [row["claim"].order for row in newer.context["rows"]] == [
        row["claim"].order for row in answer.context["rows"]
    ]


def test_many_cancelled_parcels_hide_none_that_qualifies(
    page: Client, order: Callable[..., Order], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refunds, "NEAR", 2)
    qualifies = order(scanned=1, progress="lost")
    for _ in range(2):
        parcel = order(scanned=1, status="cancelled", cancelled_at=NOW).parcel
        for hours in (0, 24):
            at = NOW - dt.timedelta(days=9, hours=hours)
            factories.event(parcel, event_type="Missed  pickup", scan_time=at)
    assert [row["claim"].order for row in page.get("/reports/refunds/").context["rows"]] == [qualifies]


def test_the_rules_are_printed(page: Client) -> None:
    words = text(page.get("/reports/refunds/"))
    for said in (
        "No driver came on two pickup days, by the scans or by the calendar.",
        "The carrier says so, or no scan came for 10 business days after it moved.",
        "Delivered after the last day the carrier gave, or not delivered 3 business days after that day.",
        "It covers 26 weeks and leaves out refunded ones.",
    ):
        assert said in words
