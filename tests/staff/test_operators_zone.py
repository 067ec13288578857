"""V20: the admin uses the operators' time zone, names it with each time, and filters days by it."""

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from orders.models import Order
from shipping_portal.accounts.adminkit.filters import on_day
from shipping_portal.accounts.models import Sender, User
from shipping_portal.formats import admin_time
from shipping_portal.staff import erasing, queues
from shipping_portal.staff.admin.orders import midnight
from tests import factories
from tests.pages.typed import text

MELBOURNE = ZoneInfo("Australia/Melbourne")


@pytest.fixture
def melbourne(settings: Settings) -> None:
    settings.TIME_ZONE = "Australia/Melbourne"


def ends(day: str) -> list[dt.datetime]:
    """Return the first and last moments of the filter's day."""
    rule: Any = on_day("submitted_at")(dt.date.fromisoformat(day))
    return [value for _, value in rule.children]


@pytest.mark.parametrize(
    ("day", "long"),
    [("2026-11-24", 24), ("2026-10-04", 23), ("2026-04-05", 25)],
    ids=["any day", "clocks go forward", "clocks go back"],
)
@pytest.mark.usefixtures("melbourne")
def test_a_day_of_the_filter_is_the_operators_day(day: str, long: int) -> None:
    first, last = ends(day)
    assert first == dt.datetime.fromisoformat(day).replace(tzinfo=MELBOURNE)
    assert round((last - first).total_seconds() / 3600, 3) == long


def test_a_day_when_the_clocks_go_back_includes_the_repeated_hour(settings: Settings) -> None:
    settings.TIME_ZONE = "America/Santiago"
    first, last = ends("2026-04-04")
    assert round((last - first).total_seconds() / 3600, 3) == 25


def test_which_pickups_failed_does_not_depend_on_the_operators_zone(
    quill: Sender, alice: User, settings: Settings
) -> None:
    failed_at = dt.datetime(2026, 11, 24, 12, 30, tzinfo=dt.UTC)  # half past eleven at night in Fitzroy
    fields = {"status": "booked", "progress": "pickup_futile", "progress_at": failed_at}
    for day in (24, 25):
        factories.order(quill, alice, carrier_pickup_date=dt.date(2026, 11, day), **fields)
    for zone in ("UTC", "Pacific/Auckland", "America/Los_Angeles"):
        settings.TIME_ZONE = zone
        found = Order.objects.filter(queues.futile_pickups(failed_at))
        assert [str(order.carrier_pickup_date) for order in found] == ["2026-11-24"]


@pytest.mark.usefixtures("melbourne")
def test_today_starts_at_the_operators_midnight() -> None:
    now = dt.datetime(2026, 11, 24, 13, 30, tzinfo=dt.UTC)  # half past midnight on the 25th
    assert midnight(now) == dt.datetime(2026, 11, 25, tzinfo=MELBOURNE)


@pytest.mark.usefixtures("melbourne")
def test_sentences_and_emails_name_the_operators_zone_too() -> None:
    at = dt.datetime(2026, 11, 24, 13, 30, tzinfo=dt.UTC)
    assert admin_time(at) == "25 Nov 2026, 00:30 AEDT"
    assert admin_time(at, seconds=True) == "25 Nov 2026, 00:30:00 AEDT"


@pytest.mark.usefixtures("melbourne")
@pytest.mark.parametrize(("day", "found"), [("2026-11-24", 0), ("2026-11-25", 1), ("0001-01-01", 0)])
def test_the_list_filters_by_the_day_that_its_column_shows(
    staff: Client, quill: Sender, alice: User, day: str, found: int
) -> None:
    order = factories.order(quill, alice, status="booked")
    at = dt.datetime(2026, 11, 24, 13, 30, tzinfo=dt.UTC)
    Order.objects.filter(pk=order.pk).update(submitted_at=at, created_at=at)
    reply = staff.get(f"/admin/orders/order/?day={day}")
    assert len(reply.context["cl"].result_list) == found
    assert ("Enter a date" in reply.content.decode()) == (day == "0001-01-01")


@pytest.mark.usefixtures("melbourne")
def test_a_parcel_shows_the_operators_time_and_the_senders_beside_it(staff: Client, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked")
    order.changes.create(new="booked", by=alice, at=dt.datetime(2026, 11, 24, 13, 30, tzinfo=dt.UTC))
    page = f"/admin/orders/order/{order.pk}/change/"
    Sender.objects.filter(pk=quill.pk).update(zone="Australia/Perth")
    shown = staff.get(page).content.decode()
    assert "25 Nov 2026, 00:30:00 AEDT" in shown
    assert "(24 Nov, 21:30 AWST)" in shown
    Sender.objects.filter(pk=quill.pk).update(zone="Australia/Melbourne")
    shown = staff.get(page).content.decode()
    assert "25 Nov 2026, 00:30:00 AEDT" in shown
    assert "In brackets" not in shown


@pytest.mark.usefixtures("melbourne")
def test_days_of_charges_and_of_found_orders_are_the_operators(staff: Client, quill: Sender, alice: User) -> None:
    at = dt.datetime(2026, 11, 24, 13, 30, tzinfo=dt.UTC)
    order = factories.order(quill, alice, status="booked", created_at=at)
    factories.charge(order, report=factories.billing_report(ended_at=at))
    assert "25 Nov 2026, 00:30 AEDT" in text(staff.get("/admin/billing/charge/"))
    [found] = erasing.find_person(email=order.receiver_email)
    assert found.words.endswith("25 Nov 2026, 00:30 AEDT")
