"""A restore while web, worker and sweeper run: each exits before it spends anything."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.booking import bookings, resolving
from orders.cancelling import cancels
from orders.models import BookingAttempt, CancelAttempt, DatabaseMark, Order
from orders.quoting import asking
from orders.restoring import marks
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import submitting
from shipping_portal.jobs import sweep
from shipping_portal.jobs.sweep import Sweep
from shipping_portal.ops import starting
from tests import factories
from tests.sandbox_carrier import SandboxCarrier
from tests.template import owner_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("as_the_owner")]


class Ended(BaseException):
    """Raised instead of ending this process."""


@pytest.fixture(autouse=True)
def begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any) -> None:
    """Start work in this process on a database whose last backup is stamped."""

    def end(code: int) -> None:
        raise Ended(code)

    settings.RESTORE_MARK_FILE = str(tmp_path / "mark")
    monkeypatch.setattr(starting, "_exit", end)
    monkeypatch.setattr(starting, "_begun", True)
    marks.renew_mark(now=timezone.now())


def restore_an_old_snapshot() -> None:
    """Restore a snapshot that matches every sign of the server but not the file."""
    call_command("backup_taken")
    DatabaseMark.objects.update(stamp="2026-11-01T03:00:00Z before")


def recreate_the_tables() -> None:
    DatabaseMark.objects.update(table_oid=1)


def lose_the_mark() -> None:
    DatabaseMark.objects.all().delete()


def by_the_owner(statements: str) -> None:
    """Run statements in a connection that doesn't know what was planned in ours."""
    with owner_of(connection.settings_dict["NAME"]) as owner:
        owner.execute(statements)


RESTORES = {"snapshot": restore_an_old_snapshot, "no mark": lose_the_mark}


@pytest.fixture(params=RESTORES)
def restore(request: pytest.FixtureRequest) -> Callable[[], None]:
    return RESTORES[request.param]


def again(thing: Any) -> Any:
    thing.refresh_from_db()
    return thing


def test_a_booking_is_neither_recorded_nor_sent(
    restore: Callable[[], None],
    submitted: Callable[[], Order],
    carrier: SandboxCarrier,
    capsys: pytest.CaptureFixture[str],
) -> None:
    order = submitted()
    restore()
    with pytest.raises(Ended, match=str(starting.REFUSED)):
        bookings.process_booking(order.pk)
    assert (BookingAttempt.objects.count(), carrier.ledger("booked")) == (0, [])
    said = capsys.readouterr().err
    assert "This database was restored from a backup: " in said
    assert "python manage.py after_restore --backup-at TIME" in said


def test_an_unclear_booking_is_not_sent_again(
    restore: Callable[[], None],
    submitted: Callable[[], Order],
    carrier: SandboxCarrier,
    contract: Callable[[str], None],
) -> None:
    contract("replays = true")
    order = submitted()
    carrier.trouble("book", "commit-close")
    bookings.process_booking(order.pk)
    Order.objects.update(due_at=timezone.now())
    sent = len(carrier.requests())
    restore()
    with pytest.raises(Ended):
        resolving.resolve_due_order(order.pk)
    assert (order.attempts.get().replays, len(carrier.requests())) == (0, sent)


def test_a_cancellation_is_not_sent(
    restore: Callable[[], None], booked: Callable[[], Order], alice: User, carrier: SandboxCarrier
) -> None:
    order = booked()
    cancels.ask_to_cancel(order, by=alice, why="-", now=timezone.now())
    restore()
    with pytest.raises(Ended):
        cancels.process_cancel(order.pk)
    assert (CancelAttempt.objects.get().state, carrier.ledger("cancelled")) == ("wanted", [])


def test_a_web_process_takes_no_order(
    restore: Callable[[], None], quill: Sender, alice: User, carrier: SandboxCarrier
) -> None:
    now = timezone.now()
    quote = asking.ask_for_prices(quill, factories.details(quill), by=alice, now=now)
    press = {"by": alice, "form_token": uuid.uuid4(), "pickup_date": None, "now": now}
    restore()
    with pytest.raises(Ended):
        bookings.submit(quote=quote, code="STANDARD-PICKUP", **press)
    assert not Order.objects.exists()


def test_a_web_process_starts_no_import(restore: Callable[[], None], quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice, state="ready")
    restore()
    with pytest.raises(Ended):
        submitting.begin(file, submitting.Press("cheapest", alice, timezone.now()))


def test_a_web_process_ends_at_a_readiness_check(restore: Callable[[], None]) -> None:
    assert Client().get("/readyz").status_code == 200
    restore()
    with pytest.raises(Ended):
        Client().get("/readyz")


def test_a_sweeper_ends_before_its_next_round(
    restore: Callable[[], None],
    submitted: Callable[[], Order],
    carrier: SandboxCarrier,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweep, "close_old_connections", lambda: None)
    order = submitted()
    restore()
    with pytest.raises(Ended):
        Sweep(before=starting.end_if_restored).once_or_log()
    assert again(order).due_at <= timezone.now()


@pytest.mark.postgres
def test_recreated_tables_are_recognised_too(submitted: Callable[[], Order], carrier: SandboxCarrier) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no oid")
    order = submitted()
    recreate_the_tables()
    with pytest.raises(Ended):
        bookings.process_booking(order.pk)
    assert carrier.ledger("booked") == []


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_new_table_is_recognised_by_a_check_that_was_planned_before() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no oid")
    starting.end_if_restored()
    by_the_owner("CREATE SCHEMA older; ALTER TABLE orders_databasemark SET SCHEMA older")
    by_the_owner("CREATE TABLE orders_databasemark AS SELECT * FROM older.orders_databasemark")
    try:
        with pytest.raises(Ended):
            starting.end_if_restored()
    finally:
        by_the_owner("DROP TABLE orders_databasemark; ALTER TABLE older.orders_databasemark SET SCHEMA public")
        by_the_owner("DROP SCHEMA older")
    starting.end_if_restored()


def test_stamping_a_backup_while_running_is_not_a_restore(
    submitted: Callable[[], Order], carrier: SandboxCarrier
) -> None:
    order = submitted()
    call_command("backup_taken")
    bookings.process_booking(order.pk)
    assert again(order).status == "booked"


def test_once_the_restore_is_fenced_a_process_still_running_works_again(
    restore: Callable[[], None], submitted: Callable[[], Order], carrier: SandboxCarrier
) -> None:
    order = submitted()
    restore()
    marks.renew_mark(now=timezone.now())
    bookings.process_booking(order.pk)
    assert again(order).status == "booked"


def test_manage_py_is_not_ended(restore: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "_begun", False)
    restore()
    starting.end_if_restored()


@pytest.mark.postgres
def test_the_check_takes_one_statement(submitted: Callable[[], Order]) -> None:
    starting.end_if_restored()
    with CaptureQueriesContext(connection) as seen:
        starting.end_if_restored()
    assert len(seen) == 1


@pytest.mark.postgres
@pytest.mark.skipif("connection.vendor == 'sqlite'", reason="SQLite plans nothing ahead")
def test_the_check_is_a_planned_statement() -> None:
    starting.end_if_restored()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%now_table_oid%'")
        assert cursor.fetchone() == (1,)
