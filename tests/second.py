"""A second account that takes new orders, at a sandbox EasyPost next to the interface's own sandbox carrier."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orders.calling import gateway
from orders.models import CarrierAccount
from shipping_portal.sandbox.easypost.config import Config
from shipping_portal.sandbox.easypost.server import start
from tests import older
from tests.sandbox.client import Client

FIRST, SECOND = "Kangaroo Post", "Second Post"
CODE = "AustraliaPost:ParcelPost"  # the second carrier's cheapest service
WEBHOOK_SECRET = "canary-webhook-secret-of-the-second-account"
EASYPOST = "shipping_portal.carrier.easypost.EasyPost"


def named(settings: Any, **parts: Any) -> CarrierAccount:
    """Make an account the second one in the settings, and return its row. This needs a database."""
    secrets = [f"carrier:{WEBHOOK_SECRET}"]
    settings.CARRIER_TITLE = FIRST
    settings.SECOND_CARRIER = {"TWO": older.described(WEBHOOK_SECRETS=secrets, **{"TITLE": SECOND, **parts})}
    return account()


def account() -> CarrierAccount:
    found = gateway.second_account()
    assert found
    return found


def key(code: str = CODE) -> str:
    """Return the key of an offer of the second account."""
    return f"{code}@{account().pk}"


@pytest.fixture
def second(tmp_path: Path, settings: Any, db: None) -> Iterator[Client]:
    """A sandbox EasyPost, which has the second account."""
    running = start(Config(state=tmp_path / "second"))
    named(settings, CLIENT=EASYPOST, BASE_URL=running.url, ACCOUNT="easypost-test", KEY=Config.key)
    yield Client(running.url)
    running.stop()
