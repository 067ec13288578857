"""The sweep finds every kind of due row, sends it to the workers, and processes it if no worker does."""

import datetime as dt
import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import InterfaceError, OperationalError
from django.db.models.sql.compiler import SQLCompiler
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.celery import app
from shipping_portal.exporting.models import Export
from shipping_portal.jobs import sweep
from shipping_portal.jobs.apps import MODULES
from shipping_portal.jobs.models import Job
from shipping_portal.jobs.registry import BATCH, Chore, JobKind, all_chores, all_kinds
from shipping_portal.jobs.sweep import Sweep, due_rows
from tests import factories
from tests.jobs.conftest import Message, Waiting, doing, named
from tests.orders.conftest import submitted
from tests.sandbox_carrier import SandboxCarrier
from tracking.models import Parcel
from tracking.receiving import webhook_health

__all__ = ["submitted"]  # pytest finds it here
pytestmark = pytest.mark.django_db
BOOK = named("book")


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.name)
def test_exactly_the_due_rows_of_each_kind_are_found(due: dict[str, int], kind: JobKind) -> None:
    assert list(due_rows(kind, timezone.now())) == [due[kind.name]]


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.name)
def test_a_row_of_each_kind_is_taken_by_one_of_two_workers(due: dict[str, int], kind: JobKind) -> None:
    taken: list[int] = []

    def work(row: Job) -> None:
        taken.append(row.pk)
        kind(row.pk)  # the other one, at the same time

    replace(kind, work=work)(due[kind.name])
    assert taken == [due[kind.name]]


def test_due_rows_are_sent_to_the_workers_most_urgent_first(due: dict[str, int], messages: list[Message]) -> None:
    Sweep().once()
    assert [message[:2] for message in messages] == [(kind.task, due[kind.name]) for kind in all_kinds()]
    assert [kind.name for kind in all_kinds()] == list(due)


def test_every_kind_has_its_task() -> None:
    assert {kind.task for kind in all_kinds()} <= set(app.tasks)


def test_without_a_broker_a_booking_is_made_labelled_and_tracked_here(
    submitted: Callable[..., Order], carrier: SandboxCarrier, no_broker: None
) -> None:
    order = submitted()
    one = Sweep()
    one.once()
    order.refresh_from_db()
    assert order.status == "booked"
    one.once()
    assert Parcel.objects.get().order == order
    assert order.labels.get(size="full").state == "stored"  # the size that is printed
    assert len(carrier.ledger("booked")) == 1


def test_a_second_round_writes_no_sql(db: None, messages: list[Message], monkeypatch: pytest.MonkeyPatch) -> None:
    Sweep().once()
    monkeypatch.setattr(SQLCompiler, "as_sql", lambda *_, **__: pytest.fail("written again"))
    assert Sweep().once() == {}


def let_messages_end(*crew: Sweep) -> None:
    for one in crew:
        one.handed = {key: replace(sent, until=timezone.now()) for key, sent in one.handed.items()}


def test_no_row_has_two_messages_at_a_time(waiting: Waiting, messages: list[Message]) -> None:
    order, one = waiting(), Sweep()
    for _ in range(3):
        one.once([BOOK])
    assert messages == [(BOOK.task, order.pk)]


@pytest.mark.parametrize("name", ["book", "export"])
@pytest.mark.parametrize("sweepers", [1, 2])
def test_a_row_the_workers_ignore_is_done_by_the_sweep_after_a_while(
    due: dict[str, int], messages: list[Message], name: str, sweepers: int
) -> None:
    done: list[Job] = []
    kind = replace(named(name), work=done.append)
    crew = [Sweep() for _ in range(sweepers)]
    for _ in range(kind.patience):
        for one in crew:
            assert one.once([kind]) == {f"{name} handed over": 1}
        let_messages_end(*crew)
    assert crew[0].once([kind]) == {f"{name} done": 1}
    assert (len(messages), [row.pk for row in done]) == (kind.patience * sweepers, [due[name]])


def test_rows_the_sweep_has_no_time_for_go_back_to_the_workers(
    waiting: Waiting, messages: list[Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    order, one = waiting(), Sweep()
    one.once([BOOK])
    let_messages_end(one)
    monkeypatch.setattr(sweep, "OWN_WORK_SECONDS", 0.0)
    assert one.once([BOOK]) == {"book handed over": 1}
    assert messages == [(BOOK.task, order.pk)] * 2


def test_a_row_that_is_due_again_after_a_worker_took_it_is_sent_again_at_once(
    waiting: Waiting, messages: list[Message]
) -> None:
    order, one = waiting(), Sweep()
    for _ in range(3):
        one.once([BOOK])
        order.refresh_from_db()
        order.retry(timezone.now())
    assert len(messages) == 3


def test_rows_just_handed_over_do_not_hide_those_behind_them(waiting: Waiting, messages: list[Message]) -> None:
    one = Sweep()
    for _ in range(BATCH + 1):
        waiting()
    one.once([BOOK])
    one.once([BOOK])
    assert len({pk for _, pk in messages}) == BATCH + 1


def test_without_a_broker_an_export_is_packed_here(quill: Sender, alice: User, no_broker: None) -> None:
    factories.export(quill, alice, finished_at=None, due_at=timezone.now())
    assert Sweep().once([named("export")]) == {"export done": 1}
    assert Export.objects.get().finished_at


def test_a_sender_with_much_to_book_does_not_hold_up_one_with_little(quill: Sender, alice: User, bob: User) -> None:
    early = timezone.now() - dt.timedelta(hours=1)
    for minute in range(60):
        factories.order(quill, alice, status="booking", due_at=early + dt.timedelta(seconds=minute))
    of_bob = factories.order(bob.membership.sender, bob, status="booking", due_at=timezone.now())
    found = list(due_rows(BOOK, timezone.now()))
    assert found.index(of_bob.pk) == 1
    assert len(found) == BATCH


@pytest.mark.parametrize(
    "error", [ZeroDivisionError(), OperationalError("canceling statement due to lock timeout"), InterfaceError()]
)
def test_one_broken_row_waits_and_those_behind_it_are_done(
    waiting: Waiting, no_broker: None, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    """A lock, a deadlock or a time limit is also a problem of one row only: the database itself still replies."""
    broken, whole, tried = waiting(), waiting(), []

    def work(order: Order) -> None:
        tried.append(order.pk)
        if order == broken:
            raise error
        order.retry(timezone.now())

    one = Sweep()
    assert one.once([doing(work)]) == {"book failed": 1, "book done": 1}
    one.once([doing(work)])
    assert tried == [broken.pk, whole.pk, whole.pk]
    assert "sweep_failed" in caplog.text


def test_a_round_ends_when_the_database_no_longer_answers(
    waiting: Waiting, no_broker: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    waiting(), waiting()
    tried: list[Order] = []

    def work(order: Order) -> None:
        tried.append(order)
        raise OperationalError("server closed the connection")

    for module in ("sweep", "registry"):
        monkeypatch.setattr(f"shipping_portal.jobs.{module}.database_answers", lambda: False)
    monkeypatch.setattr(sweep, "close_old_connections", lambda: None)
    one = Sweep()
    monkeypatch.setattr(one, "once", partial(one.once, [doing(work)]))
    assert one.once_or_log() == {}
    assert len(tried) == 1
    assert "database_unreachable" in caplog.text


@pytest.mark.parametrize("error", [ZeroDivisionError, OperationalError("statement timeout")])
def test_a_kind_whose_rows_cannot_be_looked_up_does_not_stop_the_others(
    due: dict[str, int],
    messages: list[Message],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    look = sweep.due_rows

    def unreadable(kind: JobKind, now: dt.datetime, **options: Any) -> Any:
        if kind.name == "book":
            raise error
        return look(kind, now, **options)

    monkeypatch.setattr(sweep, "due_rows", unreadable)
    Sweep().once()
    assert [message[0] for message in messages] == [kind.task for kind in all_kinds()[1:]]
    assert "sweep_failed" in caplog.text


def test_time_based_work_is_checked_as_often_as_needed() -> None:
    assert {chore.name: chore.every.total_seconds() for chore in all_chores()} == {
        "pauses": 0, "webhooks": 0, "gaps": 0, "imports": 0, "charges": 0,
        "certificates": 3600, "alerts": 60, "reminders": 60, "webhook proof": 60, "dead letters": 60, "report columns": 60,
        "reports folder": 60, "days to count": 300, "retention": 3600, "recount": 86_400, "recount of weeks": 86_400,
    }  # fmt: skip


def test_a_failing_chore_ends_neither_the_round_nor_the_chores_behind_it(
    due: dict[str, int], messages: list[Message], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    def broken(now: dt.datetime) -> None:
        done.append("broken")
        raise ZeroDivisionError

    hourly = Chore("hourly", dt.timedelta(hours=1), broken)
    each_round = Chore("each round", dt.timedelta(0), lambda now: done.append("each round"))
    monkeypatch.setattr(sweep, "close_old_connections", lambda: None)
    monkeypatch.setattr(sweep, "all_chores", lambda: [hourly, each_round])
    one = Sweep()
    assert one.once_or_log() == {f"{kind.name} handed over": 1 for kind in all_kinds()}
    assert "sweep_failed" in caplog.text
    one.once_or_log()
    assert done == ["broken", "each round", "each round"]


def test_a_start_waits_for_a_database_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Sweep()
    rounds: list[int] = []

    def away(*args: Any) -> None:
        rounds.append(1)
        if len(rounds) == 2:
            one.stop.set()
        raise OperationalError("gone")

    monkeypatch.setattr(one, "once", away)
    monkeypatch.setattr(one.stop, "wait", lambda seconds: None)
    one.run()
    assert len(rounds) == 2


def test_a_stopped_sweep_starts_no_further_row(due: dict[str, int], messages: list[Message]) -> None:
    one = Sweep()
    one.stop.set()
    one.once()
    assert messages == []


def test_the_command_sweeps_once_and_says_what_it_found(
    due: dict[str, int], messages: list[Message], capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("sweep", "--once")
    assert "book handed over: 1" in capsys.readouterr().out


def test_the_command_stops_on_a_signal(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SWEEP_SECONDS = 30
    monkeypatch.setattr(
        webhook_health, "record_beat", lambda *args, **kwargs: None
    )  # no second thread in a test's database
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)

    def round_and_then_a_signal(self: Sweep) -> Counter[str]:
        """Send the signal after a round, not by the clock: before the sweep has started, it would end the tests."""
        threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGTERM]).start()
        return Counter()

    monkeypatch.setattr(Sweep, "once_or_log", round_and_then_a_signal)
    try:
        call_command("sweep")
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])


ROOT = Path(__file__).resolve().parents[2]


def test_every_module_that_registers_work_is_found_by_name() -> None:
    """A job in an unlisted module would run only where a page happens to import it."""
    registers = re.compile(r"^@(job|chore|term|eraser|objection)\(", re.MULTILINE)
    modules = [path for room in ("shipping_portal", "orders", "tracking") for path in (ROOT / room).rglob("*.py")]
    named = tuple(f"/{name.replace('.', '/')}.py" for name in MODULES)
    found = [str(path) for path in modules if registers.search(path.read_text())]
    assert [path for path in found if not path.endswith(named)] == []
