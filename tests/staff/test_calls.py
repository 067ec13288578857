"""The log of calls to the carrier: searchable by operation, outcome and duration; no query and no secret."""

from collections.abc import Callable

import pytest
from django.conf import settings as configured
from django.test import Client
from django.utils import timezone

from orders.admin import OPERATIONS
from orders.calling import gateway
from orders.models import CarrierCall, Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.contract import Contract
from tests import factories

LIST = "/admin/orders/carriercall/"


@pytest.fixture
def calls(quill: Sender, alice: User) -> Order:
    """Five calls that each differ in one thing. Returns the order that one of them belongs to."""
    order = factories.order(quill, alice, status="booked")
    for operation, status, milliseconds, about in [
        ("book", 201, 400, order),
        ("quote", 200, 2001, None),
        ("view", 404, 2000, None),
        ("track", 503, 30, None),
        ("cancel", None, 20_000, None),
    ]:
        CarrierCall.objects.create(
            at=timezone.now(),
            operation=operation,
            method="GET",
            path="/x",
            status=status,
            milliseconds=milliseconds,
            outcome="ok",
            order=about,
        )
    return order


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", {"book", "quote", "view", "track", "cancel"}),
        ("operation=book", {"book"}),
        ("operation=label", set()),
        ("answer=2", {"book", "quote"}),
        ("answer=4", {"view"}),
        ("answer=5", {"track"}),
        ("answer=none", {"cancel"}),
        ("time=slow", {"quote", "cancel"}),
        ("time=slow&answer=2", {"quote"}),
        ("operation=nonsense", {"book", "quote", "view", "track", "cancel"}),
    ],
)
def test_calls_are_found_by_operation_outcome_and_duration(
    staff: Client, calls: Order, query: str, found: set[str]
) -> None:
    rows = staff.get(f"{LIST}?{query}").context["cl"].result_list
    assert {row.operation for row in rows} == found


def test_calls_can_be_filtered_by_every_operation_in_the_contract() -> None:
    contract = Contract.load(None)
    of_classes = {"label", "prepare", "find"}  # no contract point names them: only a carrier class uses them
    named = {name for name in OPERATIONS if name not in of_classes and contract.operation(name)}
    assert named == {"quote", "quote_contents", "book", "view", "cancel", "track", "subscribe", "ping"}


def test_a_call_links_to_its_order(staff: Client, calls: Order) -> None:
    assert f'href="/admin/orders/order/{calls.pk}/change/"' in staff.get(LIST).content.decode()


def test_an_orders_page_links_to_its_calls(staff: Client, calls: Order) -> None:
    rows = staff.get(f"{LIST}?order__id__exact={calls.pk}").context["cl"].result_list
    assert [row.operation for row in rows] == ["book"]


def test_the_log_of_a_real_booking_has_no_query_name_or_secret(booked: Callable[..., Order]) -> None:
    order = booked()
    gateway.carrier_of(order).track(order.carrier_reference or "")
    # Only the text columns: a microsecond may look like the postcode.
    logged = [[value for value in row.values() if isinstance(value, str)] for row in CarrierCall.objects.values()]
    assert {row.operation for row in CarrierCall.objects.all()} == {"quote", "book", "track"}
    private = [order.receiver_name, order.receiver_email, order.receiver_line1, order.receiver_postcode, "?"]
    for secret in [*private, configured.CARRIER_KEY, configured.CARRIER_PARTNER_ID]:
        assert not [row for row in logged if secret in " ".join(row)], secret
