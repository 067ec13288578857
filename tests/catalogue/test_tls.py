"""TLS fails before the first byte of a booking: nothing was sent, so the booking is tried again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from orders.booking import bookings
from orders.models import Order
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Sender, User
from shipping_portal.sandbox.trouble import Rule
from tests import factories
from tests.certificates import Certificate, own_certificate
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return own_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def behind_tls(tmp_path: Path, settings: Any, certificate: Certificate) -> Iterator[SandboxCarrier]:
    """A sandbox carrier over HTTPS, which the portal calls but doesn't trust yet."""
    keys = {"certificate": certificate.bundle, "key_file": certificate.key, "key": settings.CARRIER_KEY}
    with SandboxCarrier(tmp_path / "carrier", **keys) as it:
        settings.CARRIER_BASE_URL = it.url
        settings.CARRIER_DEADLINE = 0.6
        yield it


@pytest.fixture
def trusted(behind_tls: SandboxCarrier, settings: Any, certificate: Certificate) -> SandboxCarrier:
    settings.CARRIER_CA_BUNDLE = str(certificate.bundle)
    return behind_tls


@pytest.fixture
def order(quill: Sender, alice: User, behind_tls: SandboxCarrier) -> Order:
    """An order that is due to be sent."""
    made = factories.order(quill, alice)
    move_to(made, "booking", reason="-", at=timezone.now(), due_at=timezone.now())
    return made


def work(order: Order) -> Order:
    Order.objects.filter(pk=order.pk).update(due_at=timezone.now())
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    return order


def booked_at(carrier: SandboxCarrier) -> int:
    """Return the number of bookings in the carrier's ledger."""
    return sum(line["effect"] == "booked" for line in carrier.running.app.depot.ledger.lines())


def not_sent(order: Order, carrier: SandboxCarrier, error: str) -> None:
    assert (order.status, order.due_at > timezone.now()) == ("booking", True)
    attempt = order.attempts.latest("pk")
    assert (attempt.state, attempt.error) == ("not_sent", error)
    assert booked_at(carrier) == 0
    assert not carrier.running.app.depot.requests


def test_no_booking_is_sent_to_an_untrusted_certificate(order: Order, behind_tls: SandboxCarrier) -> None:
    not_sent(work(order), behind_tls, "the carrier's certificate was not accepted")


def test_after_an_endless_handshake_the_booking_is_tried_again(
    order: Order, trusted: SandboxCarrier, settings: Any
) -> None:
    trusted.running.app.troubles.add(Rule("connection", "slow-tls", count=1))
    not_sent(work(order), trusted, "the time to send had passed")
    settings.CARRIER_DEADLINE = 10
    assert work(order).status == "booked"
    assert booked_at(trusted) == 1
