"""Fixtures for orders: a live quote from the sandbox and an order made from it."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from orders.booking import bookings
from orders.models import Order
from orders.quoting import asking
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.carrier.conftest import SocketCarrier
from tests.sandbox_carrier import SandboxCarrier


@pytest.fixture
def submitted(carrier: SandboxCarrier, quill: Sender, alice: User) -> Callable[..., Order]:
    """`submitted()` is an order that Alice has just booked. Nothing has been sent yet."""

    def submit(*, code: str = "STANDARD-PICKUP", **changes: Any) -> Order:
        now = timezone.now()
        quote = asking.ask_for_prices(quill, factories.details(quill, **changes), by=alice, now=now)
        return bookings.submit(quote=quote, code=code, by=alice, form_token=uuid.uuid4(), pickup_date=None, now=now)

    return submit


@pytest.fixture
def booked(submitted: Callable[..., Order]) -> Callable[..., Order]:
    """`booked()` is an order that the sandbox has taken."""

    def book(**changes: Any) -> Order:
        order = submitted(**changes)
        bookings.process_booking(order.pk)
        order.refresh_from_db()
        assert order.status == "booked", order.problem
        return order

    return book


@pytest.fixture
def far_side(settings: Any) -> Iterator[SocketCarrier]:
    """A carrier for which the test chooses every byte."""
    carrier = SocketCarrier()
    settings.CARRIER_BASE_URL = carrier.url
    yield carrier
    carrier.close()
