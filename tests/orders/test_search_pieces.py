"""Triggers copy each order's search text, in pieces, to a table that status changes don't write."""

import threading
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

from orders import erasing
from orders.booking import bookings
from orders.models import Order, OrderSearch
from shipping_portal.accounts.models import Sender, User
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
ON_POSTGRESQL = pytest.mark.skipif("connection.vendor == 'sqlite'", reason="SQLite has one writer and no trigrams")
COPYING = import_module("orders.migrations.0027_copy_search_pieces")
REPAIRING = import_module("orders.migrations.0041_missing_search_pieces")


def copied() -> dict[int, str]:
    """Return each order's text from the table."""
    found: dict[int, str] = {}
    for order, text in OrderSearch.objects.order_by("order", "start").values_list("order", "text"):
        found[order] = found.get(order, "") + text
    return found


def expected() -> dict[int, str]:
    return dict(Order.objects.exclude(search="").values_list("pk", "search"))


def test_every_write_updates_the_pieces(quill: Sender, alice: User) -> None:
    order, other = factories.order(quill, alice, status="booked"), factories.order(quill, alice)
    own, rows = order.search, Order.objects.filter(pk=order.pk)
    for text in (f"{own} more", own, "", "né", "né two", "nobody"):
        rows.update(search=text)
        assert copied() == expected(), text
    with connection.cursor() as cursor:
        cursor.execute("UPDATE orders_order SET search = 'as an older release writes it'")
    assert copied() == expected() == dict.fromkeys((order.pk, other.pk), "as an older release writes it")
    assert set(OrderSearch.objects.values_list("sender", flat=True)) == {quill.pk}
    erasing.erase_receivers([order.pk])
    assert copied() == expected()
    Order.objects.filter(pk=other.pk)._raw_delete("default")
    assert copied().keys() == {order.pk}


@ON_POSTGRESQL
def test_a_booking_adds_a_piece_and_a_status_change_writes_none(submitted: Any) -> None:
    order = submitted()
    [before] = places(order)
    bookings.process_booking(order.pk)
    assert places(order)[0] == before
    assert [text for _, text in places(order)][1:] == [f" {Order.objects.get().carrier_reference.lower()}"]
    booked = places(order)
    Order.objects.filter(pk=order.pk).update(progress="delivered")
    assert places(order) == booked


def places(order: Order) -> list[tuple[str, str]]:
    """Return where each piece is stored, which any write changes, and its text."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT ctid::text, text FROM orders_ordersearch WHERE order_id = %s ORDER BY start", [order.pk])
        return cursor.fetchall()


def test_old_orders_are_copied_once(quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(COPYING, "BATCH", 2)
    for _ in range(5):
        factories.order(quill, alice, status="booked")
    OrderSearch.objects.all().delete()
    Order.objects.filter(pk=Order.objects.latest("pk").pk).update(search="changed meanwhile")
    copy()
    assert copied() == expected()
    copy()
    assert copied() == expected()


def copy() -> None:
    COPYING.copy_what_is_there(apps, SimpleNamespace(connection=connection))
    REPAIRING.copy_beginnings(apps, SimpleNamespace(connection=connection))


def test_a_text_that_grew_before_it_was_copied_is_found_by_all_its_words(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Migration 0027 left such an order out: its search found only the carrier's reference."""
    monkeypatch.setattr(REPAIRING, "BATCH", 2)
    orders = [factories.order(quill, alice) for _ in range(5)]
    OrderSearch.objects.all().delete()
    for order in orders[1:]:
        for word in ("s286yfer", "twice"):
            order.search += f" {word}"
            Order.objects.filter(pk=order.pk).update(search=order.search)
    copy()
    assert copied() == expected()


@ON_POSTGRESQL
@pytest.mark.django_db(transaction=True)
def test_old_orders_are_copied_while_others_write(quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(COPYING, "BATCH", 3)
    keys = [factories.order(quill, alice).pk for _ in range(40)]
    OrderSearch.objects.all().delete()
    is_copied = threading.Event()

    def write() -> None:
        rounds = 0
        while not is_copied.is_set():
            rounds += 1
            for place, key in enumerate(keys):
                text = "nobody" if place % 2 else f"{Order.objects.get(pk=key).search} {rounds}"
                with transaction.atomic():
                    Order.objects.filter(pk=key).update(search=text)
        connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        copy()
    finally:
        is_copied.set()
        writer.join()
    assert copied() == expected()


@ON_POSTGRESQL
@pytest.mark.django_db(transaction=True)
def test_the_migration_swaps_the_table_and_the_orders_own_index_both_ways(
    as_the_owner: None, quill: Sender, alice: User
) -> None:
    order = factories.order(quill, alice, status="booked")
    try:
        MigrationExecutor(connection).migrate([("orders", "0025_index_of_label_files")])
        with connection.cursor() as cursor:
            cursor.execute("SELECT indexname FROM pg_indexes WHERE indexname LIKE '%%_by_part_of_a_word'")
            assert ("orders_by_part_of_a_word",) in cursor.fetchall()
            cursor.execute("UPDATE orders_order SET search = search || ' old'")
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
    assert copied() == expected() == {order.pk: f"{order.search} old"}
