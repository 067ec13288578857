"""The admin shows a second carrier order on the order's page until it is resolved."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.models import Order
from tests.staff.conftest import REASON


@pytest.fixture
def twice(unclear: Callable[..., Order]) -> Order:
    order = unclear(seen_reference="SSECOND001", duplicate_booking_at=timezone.now())
    Order.objects.filter(pk=order.pk).update(status="booked", carrier_reference="SOURS00001", booked_at=timezone.now())
    return order


def page(staff: Client, order: Order) -> str:
    return staff.get(reverse("admin:orders_order_change", args=[order.pk])).content.decode()


def test_the_orders_page_says_what_happened_and_what_to_do(staff: Client, twice: Order) -> None:
    text = page(staff, twice)
    assert "this order has SOURS00001, but the carrier&#x27;s answer to attempt 1 named SSECOND001" in text
    assert "The carrier may charge for both. Ask it to void the unused one" in text


def test_once_resolved_with_a_reason_it_no_longer_shows(staff: Client, twice: Order) -> None:
    act = reverse("admin:orders_order_act", args=[twice.pk, "second-order-resolved"])
    assert act in page(staff, twice)
    staff.post(act, {"reason": REASON})
    text = page(staff, twice)
    assert "Second carrier order:" not in text
    assert act not in text
    assert Order.objects.get(pk=twice.pk).carrier_reference == "SOURS00001"
    assert staff.post(act, {"reason": REASON}).status_code == 409
