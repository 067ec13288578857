"""Sam at the desk, and the orders that end up there."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from tests.desk import cases
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

    def make(*, of: Sender = quill, **choices: Any) -> Order:
        return cases.unclear(of, alice, **choices)

    return make
