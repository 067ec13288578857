"""A cancelled order's label may still be used. It is tracked for 60 days, and its first scan notifies everybody."""

import datetime as dt
from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from orders.cancelling import cancels
from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.jobs.sweep import due_rows
from tests import factories
from tests.orders.conftest import booked, submitted
from tests.sandbox_carrier import SandboxCarrier
from tests.staff.conftest import staff
from tracking import pace, polling
from tracking.models import EventWord, Parcel, Poll
from tracking.scanning import projecting

__all__ = ["booked", "staff", "submitted"]  # pytest finds them here

pytestmark = pytest.mark.django_db
Book = Callable[..., Order]
DAY = dt.timedelta(days=1)


def cancelled(order: Order, by: User) -> Order:
    cancels.ask_to_cancel(order, by=by, why="not sending it", now=timezone.now())
    cancels.process_cancel(order.pk)
    order.refresh_from_db()
    return order


def swept(order: Order) -> Parcel:
    """Do what the sweep does for an order due for tracking."""
    for pk in due_rows(polling.open_parcel, timezone.now()):
        polling.open_parcel(pk)
    assert due_rows(polling.open_parcel, timezone.now()) == {}
    return Parcel.objects.get(order=order)


def test_a_cancelled_order_is_tracked_even_if_its_parcel_was_never_opened(
    booked: Book, alice: User, carrier: SandboxCarrier
) -> None:
    order = cancelled(booked(), alice)
    assert order.status == "cancelled"
    parcel = swept(order)
    assert parcel.poll.due_at is not None
    assert pace.poll_interval(parcel, now=timezone.now() + 59 * DAY) == pace.DAILY
    assert pace.poll_interval(parcel, now=timezone.now() + 61 * DAY) is None


def test_a_refused_cancellation_leaves_a_parcel_that_is_tracked(
    booked: Book, alice: User, carrier: SandboxCarrier
) -> None:
    order = booked()
    carrier.trouble("cancel", "422")
    assert cancelled(order, alice).status == "booked"
    assert swept(order).poll.due_at is not None


def test_a_parcel_that_polling_gave_up_on_is_tracked_again(booked: Book, alice: User, carrier: SandboxCarrier) -> None:
    order = booked()
    polling.open_parcel(order.pk)
    Poll.objects.update(due_at=None)
    assert swept(cancelled(order, alice)).poll.due_at is not None


def test_a_scan_after_cancelling_notifies_sender_and_operator_and_stays_cancelled(
    booked: Book, alice: User, carrier: SandboxCarrier, staff: Client, visit: Callable[[User], Client]
) -> None:
    order = cancelled(booked(), alice)
    parcel = swept(order)
    later = (timezone.now() + dt.timedelta(seconds=2)).isoformat().replace("+00:00", "Z")
    carrier.scan(order.carrier_reference, "Pickup", push=False, scan_time=later)
    Poll.objects.update(due_at=timezone.now())
    polling.poll_due_parcel(parcel.pk)
    order.refresh_from_db()
    assert order.status == "cancelled"
    assert order.used_after_cancel_at is not None
    assert "as a rule the whole price" in visit(alice).get(f"/parcels/{order.uuid}/").content.decode()
    queue = next(
        line.queue for line in staff.get("/admin/").context["lines"] if line.queue.name == "order-used-after-cancel"
    )
    assert queue.count == 1
    assert "press Email the sender" in queue.next_step


@pytest.mark.parametrize("kind", ["Info", "Pickup Attempted", "Missed Pickup", "Order cancelled"])
def test_a_scan_without_movement_does_not_count_as_using_the_label(quill: Sender, alice: User, kind: str) -> None:
    order = factories.order(quill, alice, status="cancelled", cancelled_at=timezone.now() - DAY)
    parcel = factories.parcel(order)
    factories.event(parcel, event_type=kind)
    projecting.project_parcels(parcel.pk)
    order.refresh_from_db()
    assert order.used_after_cancel_at is None


def test_a_late_scan_from_before_cancelling_does_not_count_as_using_the_label(quill: Sender, alice: User) -> None:
    before = timezone.now() - DAY  # otherwise the scan would be from before the booking too
    order = factories.order(quill, alice, status="cancelled", created_at=before, booked_at=before)
    parcel = factories.parcel(order)
    factories.event(parcel, scan_time=order.cancelled_at - dt.timedelta(hours=1))
    projecting.project_parcels(parcel.pk)
    order.refresh_from_db()
    assert order.used_after_cancel_at is None
    factories.event(parcel, event_type="In Transit", scan_time=order.cancelled_at + dt.timedelta(hours=1))
    projecting.project_parcels(parcel.pk)
    order.refresh_from_db()
    assert order.used_after_cancel_at is not None


def test_a_label_counts_as_used_from_its_first_scan(quill: Sender, alice: User) -> None:
    before = timezone.now() - 3 * DAY
    order = factories.order(quill, alice, status="cancelled", cancelled_at=before, booked_at=before - DAY)
    parcel = factories.parcel(order)
    for days in (1, 2):
        factories.event(parcel, event_type="In Transit", scan_time=before + days * DAY)
        projecting.project_parcels(parcel.pk)
    order.refresh_from_db()
    assert order.used_after_cancel_at == before + DAY


def test_a_used_label_is_tracked_as_closely_as_any_parcel(quill: Sender, alice: User) -> None:
    now = timezone.now()
    order = factories.order(quill, alice, status="cancelled", used_after_cancel_at=now)
    parcel = factories.parcel(order, progress="in_transit", last_scan_at=now)
    assert pace.poll_interval(parcel, now=now) == pace.HOURLY


def test_a_scan_with_an_unknown_word_counts_once_an_operator_maps_it(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="cancelled", cancelled_at=timezone.now() - DAY)
    parcel = factories.parcel(order)
    factories.event(parcel, event_type="Snatched")
    projecting.project_parcels(parcel.pk)
    EventWord.objects.create(word="snatched", progress="collected", first_seen_at=timezone.now())
    projecting.project_parcels(parcel.pk)
    order.refresh_from_db()
    assert order.used_after_cancel_at is not None
