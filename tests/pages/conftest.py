"""The browsers of three senders: Alice in Fitzroy, one in the United States and one in Canada."""

from collections.abc import Callable

import pytest
from django.test import Client

from shipping_portal.accounts.models import User
from tests import factories

Visit = Callable[[User], Client]


@pytest.fixture
def listed(alice: User, localities: None, visit: Visit) -> Client:
    """Alice's browser, with the carrier's lists loaded."""
    return visit(alice)


@pytest.fixture
def ohio(localities: None, visit: Visit) -> Client:
    business = factories.sender(name="Ohio Parts", country="US")
    owner = factories.user("uma@parts.example")
    factories.member(business, owner)
    factories.pickup_address(business, email=owner.email)
    return visit(owner)


@pytest.fixture
def ottawa(localities: None, visit: Visit) -> Client:
    business = factories.sender(name="Claire Ceramics", country="CA")
    owner = factories.user("claire@ceramics.example")
    factories.member(business, owner)
    factories.pickup_address(business, email=owner.email)
    return visit(owner)
