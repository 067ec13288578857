"""Booking, losing, asking again, cancelling, deciding: whatever the order of it all, nothing is booked twice."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from orders import turns
from orders.carrier_settings import CarrierSettings
from shipping_portal import celery
from shipping_portal.accounts.models import Sender, User
from tests import stories
from tests.journeys.ledger import LedgerCarrier
from tests.journeys.machine import Journeys
from tests.journeys.scene import Cast

Tell = Callable[[int, int], None]


@pytest.fixture
def tell(quill: Sender, alice: User, sam: User, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Tell:
    """`tell(40, 30)` lives through forty stories of up to thirty steps."""
    settings.CARRIER_CLIENT = "tests.journeys.ledger.LedgerCarrier"
    Sender.objects.update(bookings_a_day=1000, money_a_day=None)
    monkeypatch.setattr(celery, "_broken_until", float("inf"))  # messages are lost; the story does the work by itself
    monkeypatch.setattr(timezone, "now", lambda: LedgerCarrier.ledger.clock.now())
    monkeypatch.setattr(CarrierSettings, "contract", property(lambda told: LedgerCarrier.ledger.contract))
    monkeypatch.setattr(turns.Turns, "ahead", lambda self, operation: LedgerCarrier.ledger.wait())
    Journeys.cast = Cast(quill, alice, sam)
    return partial(stories.tell, Journeys)


def test_a_dozen_stories_keep_every_promise(tell: Tell) -> None:
    tell(12, 30)


@pytest.mark.full
def test_forty_stories_keep_every_promise(tell: Tell) -> None:
    tell(40, 30)


@pytest.mark.nightly
def test_two_hundred_long_stories_keep_every_promise(tell: Tell) -> None:
    if connection.vendor == "postgresql":
        # It keeps the rows of every story that was rolled back until the end of the one transaction they are told in.
        pytest.skip("forty stories are told on PostgreSQL: each would read what all before it left behind")
    tell(200, 50)
