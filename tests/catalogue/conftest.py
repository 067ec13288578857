"""Whom the catalogue is tried on: Alice, an owner in the United States, the operator; and a carrier that listens."""

from typing import Any

import pytest

from orders import gateway
from shipping_portal.accounts.models import User
from tests import factories
from tests.catalogue.browsing import Browser, ListeningCarrier


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> ListeningCarrier:
    """A carrier that any call would reach; a test of something refused finds it was asked for nothing."""
    carrier = ListeningCarrier()
    monkeypatch.setattr(gateway, "carrier", lambda order=None: carrier)
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
    """The operator's."""
    return Browser(sam)


@pytest.fixture
def quick_hash(settings: Any) -> None:
    """A password's hash that takes no time, where logging in is not what is tried."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
