"""How many statements a parcel takes, from pressing Book to its labels, not counting transactions and slots."""

import dataclasses
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.booking import bookings
from orders.calling import gateway, turns
from orders.labels import fetching
from orders.models import Label, Order, Quote
from orders.quoting import asking
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.queries import sql_of
from tests.sandbox_carrier import SandboxCarrier

pytestmark = [
    *(pytest.mark.django_db, pytest.mark.postgres),
    pytest.mark.skipif("connection.vendor == 'sqlite'", reason="SQLite changes one table in a statement"),
]
OF_TRANSACTIONS = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")


@contextmanager
def at_most(count: int) -> Iterator[None]:
    # A call that starts too late for its slot takes another one, so a busy machine has more of these.
    with CaptureQueriesContext(connection) as seen, patch.object(turns, "_reserve", wraps=turns._reserve) as slots:
        yield
    ran = [sql for sql in sql_of(seen) if not sql.startswith(OF_TRANSACTIONS)]
    assert len(ran) - slots.call_count <= count, "\n".join(statement[:150] for statement in ran)


@pytest.fixture
def quote(carrier: SandboxCarrier, quill: Sender, alice: User) -> Callable[..., Quote]:
    """`quote()` is a price as the Book page would find it, with nothing cached from another booking."""

    def make(**changes: str) -> Quote:
        details = factories.details(quill, receiver=dataclasses.replace(factories.receiver(), **changes))
        made = asking.ask_for_prices(quill, details, by=alice, now=timezone.now())
        return Quote.objects.select_related("sender").get(pk=made.pk)

    return make


def press(quote: Quote, by: User) -> Order:
    return bookings.submit(
        quote=quote, code="STANDARD-PICKUP", by=by, form_token=uuid.uuid4(), pickup_date=None, now=timezone.now()
    )


def test_pressing_book_takes_few_statements(quote: Callable[..., Quote], alice: User) -> None:
    press(quote(), alice)  # the first booking of a day creates its row
    known = quote()
    with at_most(7):
        press(known, alice)
    to_somebody_new = quote(name="Ira Webb")
    with at_most(10):
        press(to_somebody_new, alice)
    with_another_phone = quote(phone="0491570156")
    with at_most(11):
        press(with_another_phone, alice)


def test_a_booking_takes_few_statements_from_its_message_to_its_parcel(submitted: Callable[[], Order]) -> None:
    bookings.process_booking(submitted().pk)
    order = submitted()
    with at_most(11):
        bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, order.parcel.reference) == ("booked", order.carrier_reference)


def test_the_printed_label_takes_few_statements(booked: Callable[[], Order]) -> None:
    order = booked()
    first = order.labels.get(is_spare=False)
    with at_most(6):
        fetching.fetch_due_label(first.pk)
    first.refresh_from_db()
    assert first.state == Label.State.STORED


def test_both_labels_take_few_statements(booked: Callable[[], Order]) -> None:
    order = booked()
    order.labels.update(is_spare=False)  # both are wanted
    first = order.labels.order_by("due_at")[0]
    with at_most(9):
        fetching.fetch_due_label(first.pk)
    assert set(order.labels.values_list("state", flat=True)) == {Label.State.STORED}


def test_a_slot_is_taken_by_a_planned_statement() -> None:
    turns.take_turn(gateway.current_account(), "book", patience=9.0, shares=False)
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements WHERE statement LIKE 'UPDATE orders_carrierline%'")
        assert cursor.fetchall()
