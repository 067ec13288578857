"""One search finds what a caller says: a parcel, a sender or a person; it shows no more than lists do."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.staff import first_page
from tests import factories
from tests.table import table


@pytest.fixture
def order(quill: Sender, alice: User, bob: User) -> Order:
    """A parcel of Quill's, and one of somebody else's beside it."""
    factories.order(bob.membership.sender, bob, search="somebody else", receiver_name="Somebody Else")
    return factories.order(quill, alice, status="booked")


def found(desk: Client, said: str) -> Any:
    return desk.get("/admin/find/", {"q": said})


@table("said", [("0491 570 156",), ("0491570156",), ("+61491570156",), ("+61 491 570 156",), ("(0491) 570-156",)])
def test_a_phone_number_is_found_however_it_is_spelled(desk: Client, order: Order, said: str) -> None:
    assert found(desk, said).context["orders"] == [order]


@table("said", [("Noor Tamsin",), ("noor.tamsin@example.net",), ("7000",), ("Quill",), ("alice@quill.example",)])
def test_a_parcel_is_found_by_what_a_caller_says(desk: Client, order: Order, said: str) -> None:
    assert found(desk, said).context["orders"] == [order]


def test_a_whole_reference_leads_to_its_parcel(desk: Client, order: Order) -> None:
    page = reverse("admin:orders_order_change", args=[order.pk])
    for said in (order.carrier_reference, str(order.carrier_reference).lower(), str(order.uuid)):
        assert found(desk, said)["Location"] == page


def test_a_sender_is_found_by_its_name_number_people_and_pickup_place(desk: Client, quill: Sender, alice: User) -> None:
    place = factories.pickup_address(quill, email="shop@quill.example", phone="0491 570 006")
    for text in (quill.name, quill.number, "alice@quill.example", "+61491570006", place.suburb, place.name):
        assert quill in found(desk, text).context["senders"], text


def test_people_are_shown_masked_and_only_to_who_may_see_them(
    desk: Client, operator: Callable[[str], Client], order: Order
) -> None:
    page = found(desk, "alice@quill.example").content.decode()
    assert "a•••@quill.example" in page
    assert page.count("alice@quill.example") == 1  # in the box
    assert "people" not in found(operator("Billing"), "alice@quill.example").context


def test_a_lists_sender_is_chosen_by_the_number_it_quotes(desk: Client, order: Order, quill: Sender) -> None:
    page = desk.get("/admin/orders/order/", {"sender": quill.number})
    assert list(page.context["cl"].result_list) == [order]
    assert desk.get("/admin/orders/order/", {"sender": "nobody"}).context["cl"].result_count == 0


def test_the_day_is_counted_by_the_hour_it_was_sent_in(quill: Sender, alice: User) -> None:
    now = timezone.now().replace(minute=30)
    for hours in (0, 0, 5, 23, 24):
        made = factories.order(quill, alice, status="booked")
        Order.objects.filter(pk=made.pk).update(submitted_at=now - dt.timedelta(hours=hours))
    factories.order(quill, alice).changes.create(old="booking", new="rejected", at=now, reason="-")
    day = first_page.strip(now)
    assert [hour.booked for hour in day.hours] == [1, *[0] * 17, 1, 0, 0, 0, 0, 2]
    assert (day.booked, day.refused, day.hours[-1].refused) == (4, 1, 1)
