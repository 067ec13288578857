"""The admin's lists are filtered by sender and by day, typed or by a link."""

import datetime as dt

import pytest
from django.conf import settings
from django.db import connection
from django.db.models import Q
from django.test import Client

from orders.models import Order
from shipping_portal.accounts.adminkit.filters import on_day
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.staff.admin.orders import WAITS_FOR_DRIVER
from tests import factories

pytestmark = pytest.mark.django_db
DAY = dt.date(2026, 11, 20)


def listed(staff: Client, address: str) -> list[object]:
    return list(staff.get(f"/admin/{address}").context["cl"].result_list)


@pytest.mark.parametrize(
    ("hour", "query", "is_found"),
    [
        ("2026-11-19T23:59:59.999999+00:00", "day=2026-11-20", False),
        ("2026-11-20T00:00:00+00:00", "day=2026-11-20", True),
        ("2026-11-20T23:59:59.999999+00:00", "day=2026-11-20", True),
        ("2026-11-21T00:00:00+00:00", "day=2026-11-20", False),
        ("2026-11-20T12:00:00+00:00", "day=yesterday", False),
        ("2026-11-20T12:00:00+00:00", "day=9999-12-31", False),
        ("2026-11-20T12:00:00+00:00", "day=", True),
    ],
)
def test_parcels_are_found_by_the_day_they_were_booked_in_utc(
    staff: Client, quill: Sender, alice: User, hour: str, query: str, is_found: bool
) -> None:
    order = factories.order(quill, alice, status="booked", submitted_at=dt.datetime.fromisoformat(hour))
    assert listed(staff, f"orders/order/?{query}") == ([order] if is_found else [])


@pytest.mark.parametrize(
    ("fields", "is_found"),
    [
        ({}, True),
        ({"carrier_pickup_date": DAY + dt.timedelta(days=1)}, False),
        ({"progress": "collected"}, False),
        ({"status": "cancelled"}, False),
        ({"first_mile": "drop-off"}, False),
    ],
)
def test_parcels_are_found_by_their_pickup_day(
    staff: Client, quill: Sender, alice: User, fields: dict[str, object], is_found: bool
) -> None:
    order = factories.order(quill, alice, **{"status": "booked", "carrier_pickup_date": DAY} | fields)
    assert listed(staff, f"orders/order/?pickup={DAY}") == ([order] if is_found else [])


def test_a_senders_lists_show_only_that_sender(staff: Client, quill: Sender, alice: User) -> None:
    other = factories.sender()
    factories.pickup_address(other, email="other@example.org", is_default=True)
    made = {}
    for sender in (quill, other):
        order = factories.order(sender, alice, status="booked")
        made[sender] = factories.charge(order, line=sender.pk)
        Audit.write("looked", order, by=alice, at=order.created_at, sender=sender)
    page = staff.get(f"/admin/accounts/sender/{quill.pk}/change/")
    for words, url in page.context["lists"]:
        rows = list(staff.get(url).context["cl"].result_list)
        assert {row.sender for row in rows} <= {quill}, words
    assert listed(staff, f"billing/charge/?sender={quill.number}") == [made[quill]]
    assert listed(staff, "billing/charge/?sender=A-999999") == []


@pytest.mark.postgres
@pytest.mark.skipif(
    "sqlite" in settings.DATABASES["default"]["ENGINE"], reason="its plans know no partial index by value"
)
@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (on_day("submitted_at")(DAY), "order_submitted_at"),
        (WAITS_FOR_DRIVER & Q(carrier_pickup_date=DAY), "not_collected"),
    ],
)
def test_a_day_is_looked_up_by_an_index(rule: Q, name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # the table is empty
    assert f"orders_{name}" in Order.objects.filter(rule).order_by().explain()


@pytest.mark.parametrize(
    ("query", "refusal"), [("sender=nobody", "an A-number"), ("day=monday", "a date"), ("pickup=31 May", "a date")]
)
def test_an_invalid_value_finds_nothing_and_shows_an_error_at_its_field(
    staff: Client, query: str, refusal: str
) -> None:
    page = staff.get(f"/admin/orders/order/?{query}")
    assert page.context["cl"].result_count == 0
    assert f"Enter {refusal}, like " in page.content.decode()
    assert "That is no" not in staff.get("/admin/orders/order/").content.decode()
