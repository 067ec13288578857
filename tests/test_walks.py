"""The modules a due job goes through, in the order of their first call. A walk grows only on purpose."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from django.urls import get_resolver
from django.utils import timezone

from orders.booking import bookings
from orders.cancelling import cancels
from orders.labels import fetching
from orders.models import Order
from shipping_portal.accounts.models import User
from tests import factories
from tests.sandbox_carrier import SandboxCarrier
from tracking import polling
from tracking.models import Poll

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.django_db


@contextmanager
def rooms() -> Iterator[list[str]]:
    """Record the modules of orders and tracking that this thread enters, without models, each once."""
    seen: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename.removeprefix(f"{ROOT}/")
        if event == "call" and name.startswith(("orders/", "tracking/")) and "models" not in name:
            seen.setdefault(name.removeprefix("orders/").removesuffix(".py"))

    found: list[str] = []
    assert get_resolver().url_patterns  # loaded before: the first link would load all pages
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        found += seen


@pytest.fixture
def due(carrier: SandboxCarrier, alice: User) -> Order:
    return factories.order(alice.membership.sender, alice, status="booking", due_at=timezone.now())


@pytest.fixture
def booked(due: Order) -> Order:
    bookings.process_booking(due.pk)
    polling.open_parcel(due.pk)
    due.refresh_from_db()
    return due


def test_a_booking_goes_through_the_expected_modules(due: Order) -> None:
    with rooms() as found:
        bookings.process_booking(due.pk)
    assert found == [
        "booking/bookings",
        "booking/verdict",
        "drafting/parcel_details",
        "calling/gateway",
        "calling/carrier_settings",
        "calling/contract",
        "calling/turns",
        "booking/preparing",
        "booking/recording",
        "folding",
        "tracking/polling",
        "tracking/pace",
        "status/transitions",
        "booking/limits",
        "notices/notifications",
        "notices/parcel_events",
        "cancelling/cancel_rules",
        "status/progress",
        "drafting/receivers",
        "labels/fetching",
    ]


def test_a_cancellation_goes_through_the_expected_modules(booked: Order, alice: User) -> None:
    cancels.ask_to_cancel(booked, by=alice, why="not sending it", now=timezone.now())
    with rooms() as found:
        cancels.process_cancel(booked.pk)
    assert found == [
        "cancelling/cancels",
        "calling/contract",
        "calling/carrier_settings",
        "cancelling/cancel_verdict",
        "calling/gateway",
        "calling/turns",
        "status/progress",
        "cancelling/cancel_rules",
        "booking/recording",
        "cancelling/cancel_outcomes",
        "status/transitions",
        "booking/limits",
        "notices/notifications",
        "notices/parcel_events",
    ]


def test_a_poll_goes_through_the_expected_modules(booked: Order, carrier: SandboxCarrier) -> None:
    carrier.scan(booked.carrier_reference, "Pickup", push=False)
    Poll.objects.update(due_at=timezone.now())
    with rooms() as found:
        polling.poll_due_parcel(booked.parcel.pk)
    assert found == [
        "tracking/polling",
        "tracking/pace",
        "calling/gateway",
        "calling/contract",
        "calling/carrier_settings",
        "calling/turns",
        "tracking/receiving/looks",
        "status/references",
        "tracking/scanning/scans",
        "tracking/scanning/vocabulary",
        "tracking/scanning/statements",
        "tracking/scanning/projecting",
        "status/progress",
        "status/transitions",
        "notices/notifications",
        "notices/parcel_events",
    ]


def test_fetching_a_label_goes_through_the_expected_modules(booked: Order) -> None:
    with rooms() as found:
        fetching.fetch_due_label(booked.labels.get(size="full").pk)
    assert found == [
        "labels/fetching",
        "calling/gateway",
        "calling/contract",
        "calling/carrier_settings",
        "calling/turns",
        "labels/files",
        "notices/parcel_events",
    ]
