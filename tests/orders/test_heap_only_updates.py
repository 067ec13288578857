"""A job's claim, lease and repeats write no index: PostgreSQL keeps the row's new version beside it (HOT)."""

import datetime as dt
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from orders.booking import bookings
from orders.labels import fetching
from orders.models import Label, Order
from orders.models.statuses import Status
from shipping_portal.accounts.models import Sender, User
from shipping_portal.jobs.models import Job
from shipping_portal.jobs.registry import all_kinds
from tests import factories
from tests.savepoints import undone
from tests.template import owner_of

pytestmark = pytest.mark.postgres
ON_POSTGRESQL = pytest.mark.skipif("connection.vendor == 'sqlite'", reason="SQLite has no heap")
ROOM = {"orders_order": 70, "orders_label": 70, "orders_bookingattempt": 50}  # fill factors
MOST_INDEXES = 18  # one of them contains only returns and parcels of orders with several


def ask(statement: str, *values: Any) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchone()


def updates(table: str) -> tuple[int, int]:
    """Return this transaction's updates of a table and how many wrote no index.

    The figures of all connections would include those of an earlier test's connection that ends late.
    """
    columns = "n_tup_upd, n_tup_hot_upd"
    found: tuple[int, int] = ask(f"SELECT {columns} FROM pg_stat_xact_user_tables WHERE relname = %s", table)  # noqa: S608
    return found


def work_on(row: Job) -> None:
    """Change a job in every way that keeps the row due."""
    now = timezone.now()
    assert row.claim()
    assert row.renew(now + dt.timedelta(seconds=60), failures=1)
    assert row.postpone(now)
    assert row.retry(now)
    assert row.fail(ValueError(), failures=1)


@pytest.fixture
def a_page_for_each_row(transactional_db: None) -> Iterator[None]:
    """Leave room for six versions of a row on its page. PostgreSQL can't remove an old version while any connection to
    the server, even one to another database, holds an older snapshot.
    """
    with owner_of(connection.settings_dict["NAME"]) as owner:
        owner.execute("".join(f"ALTER TABLE {table} SET (fillfactor = 10);" for table in ROOM))
    yield
    with owner_of(connection.settings_dict["NAME"]) as owner:
        owner.execute("".join(f"ALTER TABLE {table} SET (fillfactor = {free});" for table, free in ROOM.items()))


@ON_POSTGRESQL
@pytest.mark.usefixtures("a_page_for_each_row")
@pytest.mark.django_db(transaction=True)
def test_no_update_of_a_job_writes_an_index(quill: Sender, alice: User) -> None:
    now = timezone.now()
    for _ in range(20):
        booked = factories.order(quill, alice, status=Status.BOOKED, due_at=now)
        Label.objects.create(order=booked, size="full", due_at=now)
    for model in (Order, Label):
        with transaction.atomic():
            before, before_hot = updates(model._meta.db_table)
            for row in model.objects.all():
                work_on(row)
            after, hot = updates(model._meta.db_table)
        assert (after - before, hot - before_hot) == (100, 100)


@ON_POSTGRESQL
@pytest.mark.django_db
def test_no_index_contains_a_job_column_and_orders_have_few_indexes() -> None:
    for model, most in ((Order, MOST_INDEXES), (Label, 4)):
        found = ask(
            "SELECT count(*), string_agg(indexdef, E'\\n') FROM pg_indexes WHERE tablename = %s", model._meta.db_table
        )
        assert found[0] <= most, found[1]
        assert not any(name in found[1] for name in Job.JOB), found[1]
        there = set(re.findall(r"INDEX (\w+) ", found[1]))
        assert {index.name for index in model._meta.indexes} <= there


@ON_POSTGRESQL
@pytest.mark.django_db
@pytest.mark.parametrize("table", ROOM)
def test_a_row_has_room_for_newer_versions_on_its_page(table: str) -> None:
    """Then an update of a job writes no index, and of an attempt's PostgreSQL logs only the answer, not the request."""
    assert ask("SELECT reloptions FROM pg_class WHERE relname = %s", table) == ([f"fillfactor={ROOM[table]}"],)


@pytest.mark.django_db
def test_the_flag_follows_every_write_of_due_at(quill: Sender, alice: User) -> None:
    """On PostgreSQL by a trigger, which also sees what an older release writes."""
    order, now = factories.order(quill, alice), timezone.now()
    waiting = Order.objects.filter(pk=order.pk, has_job=True)
    assert not waiting.exists()
    Order.objects.filter(pk=order.pk).update(due_at=now)
    assert waiting.exists()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE orders_order SET due_at = NULL WHERE id = %s", [order.pk])
    assert not waiting.exists()
    order.due_at = now
    order.save()
    assert waiting.exists()
    Label.objects.bulk_create([Label(order=order, size="full", due_at=now), Label(order=order, size="cropped")])
    assert set(Label.objects.filter(has_job=True).values_list("size", flat=True)) == {"full"}


@ON_POSTGRESQL
@pytest.mark.usefixtures("as_the_owner")  # who may ANALYZE
@pytest.mark.django_db
def test_due_rows_are_found_by_their_index(quill: Sender, alice: User) -> None:
    """The statistics are this test's own: PostgreSQL may have taken some while an earlier test's tables were empty."""
    for _ in range(60):  # enough rows that an index scan reads fewer pages
        idle = factories.order(quill, alice, status=Status.BOOKED)
        Label.objects.bulk_create([Label(order=idle, size=size) for size in ("full", "cropped")])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE orders_order, orders_label")
        cursor.execute("SET LOCAL enable_seqscan = off")
    for kind in all_kinds():
        if kind.queue.model in {Order, Label}:
            plan = kind.due(timezone.now()).select_related(None).order_by().values("pk").explain()
            index = "orders_under_way" if kind.queue.model is Order else "labels_with_a_job"
            assert index in plan, f"{kind.name}: {plan}"


@ON_POSTGRESQL
@pytest.mark.usefixtures("a_page_for_each_row")
@pytest.mark.django_db(transaction=True)
def test_how_much_a_booking_writes(submitted: Callable[[], Order], say: Callable[[str], None]) -> None:
    """From the press to the printed label: bytes of WAL without the label, and updates. Two of an order's three
    updates, its claim and its lease, write no index. It is all one transaction: once a second, PostgreSQL adds the
    figures of those that ended to everybody's.
    """
    orders = []
    with undone():
        before, labels = updates("orders_order"), updates("orders_label")
        start = ask("SELECT pg_current_wal_lsn()")[0]
        for _ in range(20):
            order = submitted()
            bookings.process_booking(order.pk)
            orders.append(order)
        written = ask("SELECT pg_current_wal_lsn() - %s", start)[0] / len(orders)
        for order in orders:
            fetching.fetch_due_label(order.labels.get(is_spare=False).pk)
        after, labels_after = updates("orders_order"), updates("orders_label")
        assert Label.objects.filter(state=Label.State.STORED).count() >= len(orders)
    say(
        f"orders {after[0] - before[0]} updates, {after[1] - before[1]} HOT; labels"
        f" {labels_after[0] - labels[0]}, {labels_after[1] - labels[1]} HOT;"
        f" {written:.0f} bytes of WAL from the press to the parcel"
    )
    assert after[0] - before[0] == 3 * len(orders)
    assert after[1] - before[1] == 2 * len(orders)


@ON_POSTGRESQL
@pytest.mark.django_db(transaction=True)
def test_the_migration_works_both_ways_while_rows_have_jobs(as_the_owner: None, quill: Sender, alice: User) -> None:
    now = timezone.now()
    due, idle = factories.order(quill, alice, due_at=now), factories.order(quill, alice)
    waiting = Label.objects.create(order=due, size="full", due_at=now)
    try:
        MigrationExecutor(connection).migrate([("orders", "0019_index_of_questions")])
        assert ask("SELECT count(*) FROM pg_indexes WHERE tablename = 'orders_order'")[0] == 30
        assert ask("SELECT count(*) FROM orders_order WHERE due_at = %s", now)[0] == 1
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
    assert set(Order.objects.filter(has_job=True)) == {due}
    assert set(Order.objects.filter(has_job=False)) == {idle}
    assert set(Label.objects.filter(has_job=True)) == {waiting}
