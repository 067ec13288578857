"""The labels waiting to be printed, their order, and the single record of who printed what."""

import datetime as dt

import pytest
from django.utils import timezone

from orders.labels import printing
from orders.models import Label, Order
from shipping_portal.accounts.models import Audit, Sender, User
from tests import factories

pytestmark = pytest.mark.django_db

TODAY = dt.date(2026, 12, 1)


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return ready(quill, alice)


def ready(of: Sender, by: User, **fields: object) -> Order:
    made = factories.order(of, by, status="booked", **fields)
    factories.stored_label(made)
    return made


def queue() -> list[Order]:
    return list(printing.to_print(Order.objects.all(), today=TODAY))


def test_a_booked_parcel_with_a_stored_label_is_to_print(order: Order) -> None:
    assert queue() == [order]


@pytest.mark.parametrize("progress", ["pickup_missed", "pickup_futile"])
def test_after_a_futile_pickup_it_is_still_to_print(quill: Sender, alice: User, progress: str) -> None:
    order = ready(quill, alice, progress=progress)
    assert queue() == [order]


@pytest.mark.parametrize("progress", ["collected", "dropped_off", "delivered", "expired"])
def test_a_parcel_that_left_or_can_no_longer_leave_is_not_to_print(quill: Sender, alice: User, progress: str) -> None:
    ready(quill, alice, progress=progress)
    assert queue() == []


@pytest.mark.parametrize("status", ["cancelling", "cancelled", "booking"])
def test_a_parcel_that_is_not_booked_is_not_to_print(quill: Sender, alice: User, status: str) -> None:
    factories.stored_label(factories.order(quill, alice, status=status))
    assert queue() == []


def test_a_label_not_ready_yet_or_purged_is_not_to_print(order: Order) -> None:
    Label.objects.update(purged_at=timezone.now())
    assert queue() == []
    Label.objects.update(purged_at=None, state="pending")
    assert queue() == []


def test_two_label_sizes_count_as_one_parcel(order: Order) -> None:
    factories.stored_label(order, size="cropped")
    assert queue() == [order]


def test_todays_pickups_come_first_then_by_day_and_drop_offs_last(quill: Sender, alice: User) -> None:
    dropped = ready(quill, alice, first_mile="drop-off")
    later = ready(quill, alice, carrier_pickup_date=TODAY + dt.timedelta(days=2))
    missed = ready(quill, alice, carrier_pickup_date=TODAY - dt.timedelta(days=1))
    moved = ready(quill, alice, pickup_date=TODAY, carrier_pickup_date=TODAY + dt.timedelta(days=1))
    today = ready(quill, alice, pickup_date=TODAY)
    assert queue() == [today, missed, moved, later, dropped]


def test_printed_is_recorded_once_with_who_and_when(order: Order, alice: User, ana: User) -> None:
    first, later = timezone.now(), timezone.now() + dt.timedelta(minutes=5)
    assert printing.mark_printed(order, by=ana, at=first)
    assert not printing.mark_printed(order, by=alice, at=later)
    order.refresh_from_db()
    assert (order.printed_at, order.printed_by) == (first, ana)
    assert queue() == []
    audit = Audit.objects.get()
    assert (audit.action, audit.actor, audit.at) == ("label printed", ana, first)
    assert audit.subject == f"order {order.pk}"


def test_two_people_pressing_at_once_make_one_print(order: Order, alice: User, ana: User) -> None:
    stale = Order.objects.get()
    assert printing.mark_printed(order, by=ana, at=timezone.now())
    assert not printing.mark_printed(stale, by=alice, at=timezone.now())
    assert Order.objects.get().printed_by == ana


def test_a_reprint_is_the_newest_print_and_both_are_in_the_audit_log(order: Order, alice: User, ana: User) -> None:
    assert not printing.mark_reprinted(order, by=ana, at=timezone.now())
    printing.mark_printed(order, by=ana, at=timezone.now())
    assert printing.mark_reprinted(order, by=alice, at=timezone.now())
    assert Order.objects.get().printed_by == alice
    assert [row.action for row in Audit.objects.order_by("pk")] == ["label printed", "label reprinted"]


def test_a_label_not_printed_after_all_is_to_print_again(order: Order, ana: User) -> None:
    printing.mark_printed(order, by=ana, at=timezone.now())
    assert printing.unmark_printed(order, by=ana, at=timezone.now())
    assert queue() == [order]
    assert Order.objects.get().printed_by is None
    assert Audit.objects.latest("pk").action == "label not printed"


@pytest.mark.parametrize("mark", [printing.mark_printed, printing.mark_reprinted, printing.unmark_printed])
def test_a_parcel_that_is_not_booked_has_nothing_to_print(quill: Sender, alice: User, mark: object) -> None:
    cancelled = factories.order(quill, alice, status="cancelled")
    with pytest.raises(Order.WrongStatus):
        mark(cancelled, by=alice, at=timezone.now())  # type: ignore[operator]
    assert not Audit.objects.exists()


def test_the_senders_own_size_is_printed_or_else_the_one_available(order: Order, quill: Sender) -> None:
    quill.label_size = order.sender.label_size = "cropped"
    assert printing.label_of(order).size == "full"  # type: ignore[union-attr]
    factories.stored_label(order, size="cropped")
    assert printing.label_of(order).size == "cropped"  # type: ignore[union-attr]
