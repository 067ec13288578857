"""The people in these tests: Alice, an owner in the United States, and the operator; and a carrier that records calls."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.booking import bookings
from orders.calling import gateway
from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.catalogue.acting import Book, Read, work
from tests.catalogue.browsing import Browser, ListeningCarrier
from tests.catalogue.meddling import Meddler
from tests.pages.typed import text


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> ListeningCarrier:
    """A carrier that records every call. A refused form must not reach it."""
    carrier = ListeningCarrier()
    monkeypatch.setattr(gateway, "carrier_client", lambda *of, **how: carrier)
    return carrier


@pytest.fixture
def alices(alice: User, localities: None, listener: ListeningCarrier) -> Browser:
    """Alice's browser, with the carrier's lists of places loaded."""
    return Browser(alice)


@pytest.fixture
def from_ohio(localities: None, listener: ListeningCarrier) -> Browser:
    business = factories.sender(name="Ohio Parts", country="US")
    owner = factories.user("uma@parts.example")
    factories.member(business, owner)
    factories.pickup_address(business, email=owner.email)
    return Browser(owner)


@pytest.fixture
def sams(sam: User, listener: Any) -> Browser:
    """The operator's browser."""
    return Browser(sam)


@pytest.fixture
def quick_hash(settings: Any) -> None:
    """A fast password hash, where the login isn't under test."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def book(line: Meddler, quill: Sender, alice: User) -> Book:
    """`book()` is an order that Alice booked, sent to the carrier and resolved by its reply."""

    def one() -> Order:
        now = timezone.now()
        order = bookings.submit(
            quote=factories.quote(quill, alice),
            code="STANDARD-PICKUP",
            by=alice,
            form_token=uuid.uuid4(),
            pickup_date=None,
            now=now,
        )
        return work(order)

    return one


@pytest.fixture
def reads(alice: User, visit: Callable[[User], Client]) -> Read:
    """Return what Alice reads on the parcel's page."""
    return lambda order: text(visit(alice).get(reverse("parcel", args=[order.uuid])))
