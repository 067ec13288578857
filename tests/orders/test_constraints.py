"""The database enforces the promises: raw SQL attacks each constraint, on SQLite and on PostgreSQL."""

import uuid
from typing import Any

import pytest
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone

from orders.models import MOVES, BookingAttempt, CancelAttempt, Label, Order
from orders.models.statuses import HELD, Status
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Sender, User
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]


def refused(sql: str, *values: Any) -> bool:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql, values)
    except IntegrityError:
        return True
    return False


def put(thing: models.Model, column: str, value: Any) -> bool:
    """Try one UPDATE in raw SQL. Return whether the database refused it."""
    table = connection.ops.quote_name(thing._meta.db_table)
    sql = f"UPDATE {table} SET {connection.ops.quote_name(column)} = %s WHERE id = %s"  # noqa: S608  (our own names)
    return refused(sql, value, thing.pk)


def attempt(order: Order, state: str) -> BookingAttempt:
    now = timezone.now()
    return BookingAttempt.objects.create(
        order=order, generation=1, body=b"{}", body_sha256="-", state=state, lease_until=now, sent_at=now
    )


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked")


@pytest.mark.parametrize("live", ["in_flight", "unknown", "accepted"])
def test_an_order_has_one_live_attempt(order: Order, live: str) -> None:
    attempt(order, "in_flight")
    resolved = attempt(order, "not_sent")
    assert put(resolved, "state", live)


def test_a_resolved_attempt_makes_room_for_another(order: Order) -> None:
    for state in ("not_sent", "rejected", "not_created"):
        attempt(order, state)
    attempt(order, "in_flight")


def test_an_attempt_key_is_used_once(order: Order) -> None:
    first, second = attempt(order, "not_sent"), attempt(order, "rejected")
    key = first.key.hex if connection.vendor == "sqlite" else str(first.key)
    assert put(second, "key", key)


@pytest.mark.parametrize("word", ["perhaps", "prepared", ""])
def test_an_attempt_state_is_a_known_word(order: Order, word: str) -> None:
    assert put(attempt(order, "not_sent"), "state", word)


def test_a_carrier_reference_belongs_to_one_order(order: Order, quill: Sender, alice: User) -> None:
    other = factories.order(quill, alice, status="booked")
    assert put(other, "carrier_reference", order.carrier_reference)


def test_an_order_is_booked_exactly_while_it_has_a_reference(order: Order, quill: Sender, alice: User) -> None:
    assert put(order, "carrier_reference", None)
    for status in set(Status.values) - HELD:
        assert put(order, "status", status)
    assert put(factories.order(quill, alice, status="unconfirmed"), "carrier_reference", "SABCDEF")


def test_a_cancelled_order_has_a_time(quill: Sender, alice: User) -> None:
    assert put(factories.order(quill, alice, status="cancelled"), "cancelled_at", None)


def test_an_order_has_one_live_cancellation(order: Order) -> None:
    CancelAttempt.objects.create(order=order, why="-", asked_at=timezone.now())
    done = CancelAttempt.objects.create(order=order, why="-", asked_at=timezone.now(), state="refused")
    for live in CancelAttempt.LIVE:
        assert put(done, "state", live)


def test_a_form_makes_one_order(order: Order, quill: Sender, alice: User) -> None:
    other = factories.order(quill, alice)
    token = order.form_token.hex if connection.vendor == "sqlite" else str(order.form_token)
    assert put(other, "form_token", token)


@pytest.mark.parametrize("column", ["weight_kg", "length_cm", "width_cm", "height_cm"])
def test_weight_and_dimensions_are_positive(order: Order, column: str) -> None:
    assert put(order, column, 0)
    assert put(order, column, -1)


def test_a_price_is_not_negative(order: Order) -> None:
    assert put(order, "price", -1)


def test_a_status_is_a_known_word(order: Order) -> None:
    assert put(order, "status", "lost")


def test_a_stored_label_has_its_checksum(order: Order) -> None:
    label = Label.objects.create(order=order, size="full")
    assert put(label, "state", "stored")


def test_a_suspension_has_a_category(quill: Sender) -> None:
    assert put(quill, "suspended_at", timezone.now())


def test_one_membership_per_person(alice: User, bob: User, quill: Sender) -> None:
    assert put(bob.membership, "user_id", alice.pk)


def test_an_event_id_is_stored_once(order: Order) -> None:
    parcel = factories.parcel(order)
    first, second = factories.event(parcel), factories.event(parcel)
    value = first.event_id.hex if connection.vendor == "sqlite" else str(first.event_id)
    assert put(second, "event_id", value)


def test_every_transition_starts_and_ends_in_a_known_status() -> None:
    assert set(MOVES) == set(Status)
    assert all(new in Status for targets in MOVES.values() for new in targets)


def test_a_transition_outside_the_table_is_refused(order: Order) -> None:
    with pytest.raises(Order.WrongStatus):
        move_to(order, "draft", reason="-", at=timezone.now())


def test_a_transition_from_an_outdated_copy_is_refused(order: Order) -> None:
    stale = Order.objects.get(pk=order.pk)
    move_to(order, "cancelling", reason="-", at=timezone.now())
    with pytest.raises(Order.WrongStatus), transaction.atomic():
        move_to(stale, "cancelling", reason="-", at=timezone.now())
    assert order.changes.count() == 1


def test_two_senders_may_have_the_same_form_token(order: Order, bob: User) -> None:
    other = factories.order(bob.membership.sender, bob, form_token=uuid.UUID(str(order.form_token)))
    assert other.pk
