"""Work that fails five times in a row becomes a dead letter, whether it raises or takes its whole process with it."""

import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from orders.models import Order
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.carrier.client import Carrier
from shipping_portal.importing import checking
from shipping_portal.jobs import dead_letters
from shipping_portal.jobs.models import PARK_AFTER, UNDER_WAY, DeadLetter
from shipping_portal.jobs.registry import BATCH
from shipping_portal.jobs.sweep import Sweep, due_rows
from shipping_portal.refused import Refused
from tests import factories
from tests.jobs.conftest import Waiting, doing, make_due, named
from tests.orders.conftest import submitted
from tests.sandbox_carrier import SandboxCarrier
from tests.staff.conftest import REASON, staff

__all__ = ["staff", "submitted"]  # pytest finds them here
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_broker")]
BOOK = named("book")


@pytest.fixture
def on_disk(transactional_db: None, tmp_path: Path) -> Iterator[None]:
    """Use a database that another process can open: SQLite's is in this one's memory."""
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    in_memory, name = connection.connection, connection.settings_dict["NAME"]
    connection.connection, connection.settings_dict["NAME"] = None, str(tmp_path / "db.sqlite3")
    connection.ensure_connection()
    in_memory.backup(connection.connection)
    yield
    connection.close()
    connection.connection, connection.settings_dict["NAME"] = in_memory, name


def swept(work: Callable[[Order], None]) -> dict[str, int]:
    """Run one round of a newly started sweeper, with every lease and rest over."""
    for order in Order.objects.filter(due_at__isnull=False):
        make_due(order)
    return Sweep().once([doing(work)])


def swept_by_a_child(work: Callable[[Order], None]) -> int:
    """Do the same in a separate process. Return the signal that ended it, or 0."""
    connection.close()  # each has its own
    child = os.fork()
    if not child:
        faulthandler.disable()
        try:
            swept(work)
        finally:
            os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1])


def failing(order: Order) -> None:
    raise ZeroDivisionError


def parked(order: Order) -> DeadLetter:
    """Return this order after it has failed too often."""
    order.change(failures=PARK_AFTER, last_error="KeyError")
    BOOK(order.pk)
    return DeadLetter.objects.get(row=order.pk)


@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGSEGV])
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.usefixtures("on_disk")
def test_a_row_that_kills_its_process_five_times_is_parked_and_the_next_is_done(
    waiting: Waiting, deadly: signal.Signals
) -> None:
    poison, healthy = waiting(), waiting()

    def work(order: Order) -> None:
        if order == poison:
            os.kill(os.getpid(), deadly)
        order.finish()

    assert [swept_by_a_child(work) for _ in range(6)] == [deadly] * PARK_AFTER + [0]
    letter = DeadLetter.objects.get()
    assert (letter.row, letter.failures, letter.last_error) == (poison.pk, PARK_AFTER, UNDER_WAY)
    assert due_rows(BOOK, timezone.now()) == {}
    assert Order.objects.get(pk=healthy.pk).due_at is None


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.usefixtures("on_disk")
def test_killing_a_worker_at_a_healthy_row_does_not_count(waiting: Waiting) -> None:
    order = waiting()
    assert swept_by_a_child(lambda order: os.kill(os.getpid(), signal.SIGKILL)) == signal.SIGKILL
    assert Order.objects.get(pk=order.pk).failures == 1
    assert swept(lambda order: order.finish()) == {"book done": 1}
    assert Order.objects.get(pk=order.pk).failures == 0


def test_a_row_that_raises_five_times_in_a_row_is_parked_and_the_log_says_so(
    waiting: Waiting, caplog: pytest.LogCaptureFixture
) -> None:
    order = waiting()
    assert [swept(failing) for _ in range(PARK_AFTER)] == [{"book failed": 1}] * PARK_AFTER
    assert not DeadLetter.objects.exists()
    swept(failing)
    assert DeadLetter.objects.get().row == order.pk
    assert "dead_letter" in caplog.text
    assert swept(failing) == {}


def test_a_successful_try_resets_the_count(waiting: Waiting) -> None:
    order = waiting()
    for work in [*[failing] * 4, lambda order: order.retry(timezone.now()), failing]:
        swept(work)
    assert Order.objects.get(pk=order.pk).failures == 1


@pytest.mark.parametrize("is_leased", [True, False])
def test_the_workers_failures_count_like_the_sweepers(waiting: Waiting, is_leased: bool) -> None:
    order = waiting()
    for _ in range(PARK_AFTER + 1):
        with suppress(ZeroDivisionError):
            doing(failing, is_leased=is_leased)(order.pk)
        make_due(order)
    assert DeadLetter.objects.get().row == order.pk


def test_many_parked_rows_do_not_hide_the_one_behind_them(waiting: Waiting) -> None:
    for _ in range(BATCH + 1):
        waiting().give_up()
    behind = waiting()
    assert list(due_rows(BOOK, timezone.now())) == [behind.pk]


def test_an_operator_finds_the_dead_letter_and_retries_it(staff: Client, sam: User, waiting: Waiting) -> None:
    order = waiting()
    letter = parked(order)
    listed = staff.get("/admin/jobs/deadletter/").content.decode()
    assert f'href="/admin/orders/order/{order.pk}/change/"' in listed
    assert "KeyError" in listed
    staff.post(f"/admin/jobs/deadletter/{letter.pk}/acts/try-again/", {"reason": REASON})
    assert list(due_rows(BOOK, timezone.now())) == [order.pk]
    assert Order.objects.get(pk=order.pk).failures == 0
    assert (Audit.objects.get().actor, Audit.objects.get().action) == (sam, "dead letter tried again")


def test_a_row_no_longer_parked_is_not_retried_twice(waiting: Waiting) -> None:
    letter = parked(waiting())
    dead_letters.try_again(letter, now=timezone.now())
    with pytest.raises(Refused):
        dead_letters.try_again(letter, now=timezone.now())


def test_a_resolved_rows_dead_letter_is_deleted(waiting: Waiting) -> None:
    resolved, still_parked = waiting(), waiting()
    parked(resolved)
    parked(still_parked)
    move_to(Order.objects.get(pk=resolved.pk), "draft", reason="withdrawn", at=timezone.now(), due_at=None)
    DeadLetter.objects.create(job="of an older release", row=1, failures=5, parked_at=timezone.now())
    dead_letters.drop_resolved(timezone.now())
    assert DeadLetter.objects.get().row == still_parked.pk


def test_a_parked_row_that_cannot_run_for_a_while_keeps_its_dead_letter(quill: Sender, alice: User) -> None:
    """Such as a paused file, or an order being cancelled again."""
    row = factories.import_row(quill, alice, state="owed", due_at=timezone.now(), failures=PARK_AFTER)
    named("book-row")(row.pk)
    row.file.paused_at = timezone.now()
    row.file.save()
    dead_letters.drop_resolved(timezone.now())
    assert DeadLetter.objects.get().row == row.pk


def test_a_parked_row_that_its_sender_corrects_is_worked_on_again(quill: Sender, alice: User) -> None:
    row = factories.import_row(quill, alice, state="new", due_at=timezone.now(), failures=PARK_AFTER)
    named("check-row")(row.pk)
    row.refresh_from_db()
    assert row.parked_at
    assert checking.schedule_check(row, {"weight_kg": "2"}, timezone.now())
    assert list(due_rows(named("check-row"), timezone.now())) == [row.pk]


def test_a_slow_try_that_succeeds_after_all_is_not_a_dead_letter(waiting: Waiting) -> None:
    order = waiting()
    order.change(failures=PARK_AFTER - 1)

    def slow(order: Order) -> None:
        make_due(order)
        Order.objects.filter(pk=order.pk).update(due_at=order.due_at)  # as it was: nobody has claimed it
        Order.objects.get(pk=order.pk).give_up()
        assert order.finish()

    doing(slow)(order.pk)
    assert Order.objects.get(pk=order.pk).parked_at is None


def test_a_booking_whose_worker_died_during_its_call_is_unclear_not_a_dead_letter(
    submitted: Callable[..., Order], carrier: SandboxCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often workers died earlier, its sender must read that it mustn't be booked again."""
    order = submitted()
    order.change(failures=PARK_AFTER - 1)
    with monkeypatch.context() as patched:
        patched.setattr(Carrier, "book", lambda *_, **__: sys.exit())
        with pytest.raises(SystemExit):
            BOOK(order.pk)
    make_due(order)
    BOOK(order.pk)
    assert Order.objects.get(pk=order.pk).status == "unconfirmed"
    assert not DeadLetter.objects.exists()


def test_retrying_one_row_leaves_the_others_parked(waiting: Waiting) -> None:
    first, second = waiting(), waiting()
    letter, other = parked(first), parked(second)
    dead_letters.try_again(letter, now=timezone.now())
    assert list(DeadLetter.objects.all()) == [other]
    assert list(due_rows(BOOK, timezone.now())) == [first.pk]
    assert Order.objects.get(pk=second.pk).parked_at
