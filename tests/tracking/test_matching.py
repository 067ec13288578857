"""Scans of an unknown reference are kept, and matched in the step that makes it known (F15)."""

import datetime as dt
import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from orders.booking import bookings, recording
from orders.models import Order
from orders.models.statuses import Status
from shipping_portal.accounts.models import Sender, User
from shipping_portal.staff.resolution import deciding
from shipping_portal.staff.resolution.case import gather_evidence
from tests import factories
from tests.orders.conftest import submitted
from tests.sandbox_carrier import SandboxCarrier
from tests.staff.cases import unclear
from tracking import polling, watching
from tracking.models import Parcel
from tracking.scanning import projecting, scans

__all__ = ["submitted"]  # pytest finds it here

pytestmark = pytest.mark.django_db


@pytest.fixture
def no_view(contract: Callable[[str], None]) -> None:
    """The carrier shows no orders, so a reference can be adopted without one."""
    contract('view = ""')


REASON = "the carrier told us on the phone"


@pytest.fixture
def prompt_workers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Workers that process each message at once. The list names what they did."""
    done: list[str] = []

    def enqueue(name: str, *rows: int) -> None:
        if name == "open":
            done.append(name)
            polling.open_parcel(*rows)

    monkeypatch.setattr(recording, "enqueue", enqueue)
    monkeypatch.setattr(deciding, "enqueue", enqueue)
    return done


def push(reference: str, kind: str = "Pickup") -> None:
    event = {
        "carrier_reference": reference,
        "event_id": str(uuid.uuid4()),
        "event_type": kind,
        "scan_time": (timezone.now() - dt.timedelta(minutes=1)).isoformat().replace("+00:00", "Z"),
        "description": f"{kind} scan",
    }
    factories.deliver(json.dumps(event).encode())


def test_a_parcel_is_opened_in_the_transaction_that_books_it(
    submitted: Callable[..., Order], carrier: SandboxCarrier, prompt_workers: list[str]
) -> None:
    order = submitted()
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.due_at, prompt_workers) == (None, [])
    assert (order.parcel.reference, order.parcel.created_at) == (order.carrier_reference, order.booked_at)
    assert order.parcel.poll.due_at > order.booked_at


def test_a_scan_that_overtakes_the_booking_reply_is_matched_with_it(
    submitted: Callable[..., Order], carrier: SandboxCarrier, prompt_workers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    order = submitted()
    resolve = recording.record_outcome

    def scanned_first(attempt: object, outcome: object) -> None:
        push(carrier.ledger("booked")[0]["reference"])
        assert Parcel.objects.get().order is None
        resolve(attempt, outcome)

    monkeypatch.setattr(bookings.recording, "record_outcome", scanned_first)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, order.progress) == ("booked", "collected")
    assert order.parcel.events.count() == 1
    assert prompt_workers


@pytest.mark.usefixtures("no_view")
def test_an_adopted_reference_gets_its_waiting_scans(
    quill: Sender, alice: User, sam: User, carrier: SandboxCarrier, prompt_workers: list[str]
) -> None:
    order = unclear(quill, alice)
    carrier.foreign("SADOPT0001")
    push("SADOPT0001")
    push("SADOPT0001", "In Transit")
    assert [candidate.reference for candidate in gather_evidence(order).candidates] == ["SADOPT0001"]
    deciding.adopt_reference(order, "SADOPT0001", by=sam, reason=REASON, now=timezone.now())
    order.refresh_from_db()
    assert (order.status, order.progress) == ("booked", "in_transit")
    assert Parcel.objects.get().order == order


@pytest.mark.usefixtures("no_view")
def test_scans_after_a_late_reply_are_evidence_until_an_operator_decides(
    quill: Sender, alice: User, sam: User, carrier: SandboxCarrier, prompt_workers: list[str]
) -> None:
    order = factories.order(quill, alice, status="conflict")
    carrier.foreign("SLATE00001")
    push("SLATE00001")
    assert Parcel.objects.get().order is None
    deciding.adopt_reference(order, "SLATE00001", by=sam, reason=REASON, now=timezone.now())
    order.refresh_from_db()
    assert (order.status, order.progress) == (Status.BOOKED, "collected")


def test_an_order_that_lost_its_reference_meanwhile_gets_no_parcel(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked", due_at=timezone.now())
    late = Order.objects.get(pk=order.pk)
    undone = {"status": "unconfirmed", "carrier_reference": None, "carrier_order_id": "", "booked_at": None}
    Order.objects.filter(pk=order.pk).update(**undone)
    polling.open_parcel.work(late)
    assert not Parcel.objects.exists()


def test_a_parcel_taken_from_its_order_meanwhile_does_not_update_that_order(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = factories.order(quill, alice, status="booked")
    parcel = factories.parcel(order)
    factories.event(parcel, event_type="Delivered")
    lock = scans._orders_of

    def taken_meanwhile(parcels: Any) -> Any:
        orders = lock(parcels)
        Parcel.objects.update(order=None)
        return orders

    monkeypatch.setattr(scans, "_orders_of", taken_meanwhile)
    projecting.project_parcels(parcel.pk)
    order.refresh_from_db()
    parcel.refresh_from_db()
    assert (order.progress, parcel.progress) == ("", "delivered")


def test_without_workers_the_next_sweep_matches_them(quill: Sender, alice: User) -> None:
    push("SSWEEP0001", "Delivered")
    order = factories.order(quill, alice, status="booked", carrier_reference="SSWEEP0001", due_at=timezone.now())
    polling.open_parcel(order.pk)
    order.refresh_from_db()
    assert (order.progress, order.due_at) == ("delivered", None)


def test_a_watch_shows_scans_from_before_it_started(quill: Sender, alice: User) -> None:
    push("SWATCH0001", "Delivered")
    watched = watching.follow_reference(quill, "SWATCH0001", name="", by=alice, now=timezone.now())
    assert watched.parcel.progress == "delivered"


# -- Absurd times ----------------------------------------------------------------------------------


def test_a_scan_from_long_before_the_booking_is_kept_but_does_not_count(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked")
    parcel = factories.parcel(order)
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    factories.event(parcel, event_type="Delivered", scan_time=epoch)
    projecting.project_parcels(parcel.pk)
    order.refresh_from_db()
    assert order.progress == ""
    assert parcel.events.get().set_aside == "scan time is long before the booking"
    factories.event(parcel, event_type="Pickup", scan_time=order.created_at - dt.timedelta(days=29))
    projecting.project_parcels(parcel.pk)
    order.refresh_from_db()
    assert order.progress == "collected"


def test_old_scans_of_a_reference_booked_elsewhere_count(quill: Sender, alice: User) -> None:
    parcel = factories.watch(quill, alice).parcel
    factories.event(parcel, event_type="Delivered", scan_time=timezone.now() - dt.timedelta(days=90))
    projecting.project_parcels(parcel.pk)
    parcel.refresh_from_db()
    assert parcel.progress == "delivered"
