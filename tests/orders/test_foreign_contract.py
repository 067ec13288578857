"""The main job with a carrier that differs in some fifty points: only the contract file changes, no code."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from orders import booking, cancelling, labels, quoting, resolving
from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.recording import improper
from tests.sandbox_carrier import SandboxCarrier
from tracking import links, polling
from tracking.models import Poll

pytestmark = pytest.mark.django_db

FOREIGN = Path(__file__).with_name("foreign.toml")


@pytest.fixture
def foreign(tmp_path: Path, settings: Any) -> Iterator[SandboxCarrier]:
    settings.CARRIER_CONTRACT = str(FOREIGN)
    with SandboxCarrier(tmp_path / "foreign", contract=FOREIGN.read_text(), key=settings.CARRIER_KEY) as it:
        settings.CARRIER_BASE_URL = it.url
        yield it
        assert improper(it.requests()) == []


def book(quill: Sender, alice: User, code: str) -> Order:
    now = timezone.now()
    quote = quoting.ask(quill, factories.entry(quill), by=alice, now=now)
    order = booking.submit(
        quote=quote, code=code, by=alice, form_token=uuid.uuid4(), pickup_date=None, now=now
    )
    booking.work(order.pk)
    order.refresh_from_db()
    return order


def test_the_main_job_works_with_a_foreign_contract(
    foreign: SandboxCarrier, quill: Sender, alice: User
) -> None:
    order = book(quill, alice, "STANDARD-PICKUP")
    assert order.status == "booked", order.problem
    assert order.carrier_reference == foreign.ledger("booked")[0]["reference"]
    assert order.charged_price == order.price

    for label in order.labels.all():
        labels.work(label.pk)
    assert all(label.intact_bytes().startswith(b"%PDF-") for label in order.labels.all())

    polling.open_parcel(order.pk)
    Poll.objects.update(due_at=timezone.now())
    foreign.scan(order.carrier_reference, "Collected by driver", push=False)
    foreign.scan(order.carrier_reference, "At the door", push=False)
    polling.work(order.parcel.pk)
    order.refresh_from_db()
    assert order.progress == "delivered"
    assert links.tracking_page_link(order, by=alice, now=timezone.now()).startswith(foreign.url)


def test_cancelling_and_refusals_work_with_a_foreign_contract(
    foreign: SandboxCarrier, quill: Sender, alice: User
) -> None:
    order = book(quill, alice, "STANDARD-DROPOFF")
    cancelling.ask(order, by=alice, why="not sending it", now=timezone.now())
    cancelling.work(order.pk)
    order.refresh_from_db()
    assert order.status == "cancelled"

    foreign.trouble("book", "422")
    refused = book(quill, alice, "STANDARD-PICKUP")
    assert (refused.status, bool(refused.problem["text"])) == ("rejected", True)


def test_a_lost_reply_is_resolved_with_the_foreign_key_header(
    foreign: SandboxCarrier, quill: Sender, alice: User
) -> None:
    foreign.trouble("book", "commit-close")
    order = book(quill, alice, "STANDARD-PICKUP")
    assert order.status == "unconfirmed"
    Order.objects.update(due_at=timezone.now())
    resolving.work(order.pk)
    order.refresh_from_db()
    assert order.status == "booked"
    assert len(foreign.ledger("booked")) == 1
