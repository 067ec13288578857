"""Sam at the desk, and the orders that end up there."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import BookingAttempt, Order
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.orders.conftest import submitted

__all__ = ["submitted"]  # pytest finds it here

REASON = "the carrier told us on the phone"


@pytest.fixture
def desk(visit: Callable[[User], Client], sam: User) -> Client:
    """Sam's browser."""
    return visit(sam)


@pytest.fixture
def unclear(quill: Sender, alice: User) -> Callable[..., Order]:
    """`unclear()` is an order whose one attempt went out and brought no usable answer back."""

    def make(*, of: Sender = quill, status: str = "unconfirmed", **attempt: Any) -> Order:
        order = factories.order(of, alice, status=status)
        values = {
            "generation": 1,
            "body": b'{"receiver": {"contact": {"name": "Noor Tamsin"}}}',
            "body_sha256": "0" * 64,
            "state": "unknown",
            "lease_until": timezone.now(),
            "sent_at": timezone.now(),
            "done_at": timezone.now(),
            "error": "the connection closed before the answer",
        }
        BookingAttempt.objects.create(order=order, **{**values, **attempt})
        return order

    return make
