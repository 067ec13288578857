"""Work that fails five times in a row is parked, whether it raises or takes its whole process with it."""

import datetime as dt
import faulthandler
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import Order, StuckWork
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.desk import parking, sweep
from shipping_portal.desk.sweep import JOURNEYS, Journey, Sweep, due
from tests import factories
from tests.desk.conftest import REASON

BOOK = next(journey for journey in JOURNEYS if journey.name == "book")
Waiting = Callable[[], int]


@pytest.fixture(autouse=True)
def _no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "nudge", lambda task, pk: False)


@pytest.fixture
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next try may be at once."""
    monkeypatch.setattr(parking, "REST", dt.timedelta(0))


@pytest.fixture
def waiting(quill: Sender, alice: User) -> Waiting:
    """`waiting()` is one more order that is due, behind those before it."""
    return lambda: factories.order(quill, alice, status="booking", due_at=timezone.now()).pk


@pytest.fixture
def on_disk(transactional_db: None, tmp_path: Path) -> Iterator[None]:
    """The tests' database where another process finds it: SQLite's is in this one's memory."""
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


def doing(work: Callable[[int], None]) -> Journey:
    """The booking journey with other work."""
    return Journey(BOOK.name, BOOK.task, BOOK.due, work)


def swept(work: Callable[[int], None]) -> dict[str, int]:
    """What a sweeper that was only just started does in one round."""
    return Sweep().once([doing(work)])


def swept_by_a_child(work: Callable[[int], None]) -> int:
    """The same in a process of its own; the signal that ended it, or 0."""
    connection.close()  # each has its own
    child = os.fork()
    if not child:
        faulthandler.disable()
        try:
            swept(work)
        finally:
            os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1])


def failing(pk: int) -> None:
    raise ZeroDivisionError("Noor Tamsin's parcel")


def note() -> StuckWork:
    return StuckWork.objects.get()


@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGSEGV])
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.usefixtures("no_rest", "on_disk")
def test_a_row_that_takes_its_process_with_it_five_times_is_parked_and_the_one_behind_it_is_done(
    waiting: Waiting, deadly: signal.Signals
) -> None:
    poison, healthy = waiting(), waiting()

    def work(pk: int) -> None:
        if pk == poison:
            os.kill(os.getpid(), deadly)
        Order.objects.filter(pk=pk).update(due_at=None)

    assert [swept_by_a_child(work) for _ in range(6)] == [deadly] * 5 + [0]
    assert (note().row, note().failures, note().last_error) == (poison, 5, parking.NO_END)
    assert note().parked_at
    assert due(BOOK, timezone.now()) == []
    assert Order.objects.get(pk=healthy).due_at is None


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.usefixtures("no_rest", "on_disk")
def test_a_sweeper_that_is_killed_at_a_healthy_row_costs_it_nothing(waiting: Waiting) -> None:
    waiting()
    assert swept_by_a_child(lambda pk: os.kill(os.getpid(), signal.SIGKILL)) == signal.SIGKILL
    assert note().failures == 1
    assert swept(lambda pk: None) == {"book done": 1}
    assert not StuckWork.objects.exists()


@pytest.mark.usefixtures("no_rest")
def test_a_row_that_raises_five_times_in_a_row_is_parked(waiting: Waiting) -> None:
    poison = waiting()
    for _ in range(5):
        assert due(BOOK, timezone.now()) == [poison]
        assert swept(failing) == {"book failed": 1}
    assert swept(failing) == {}
    assert (note().failures, bool(note().parked_at)) == (5, True)


@pytest.mark.usefixtures("no_rest")
def test_the_note_says_what_went_wrong_and_where_but_names_nobody(waiting: Waiting) -> None:
    waiting()
    swept(failing)
    assert note().last_error.startswith("ZeroDivisionError at test_parking.py ")
    assert "Noor" not in note().last_error


@pytest.mark.usefixtures("no_rest")
def test_a_try_that_goes_well_starts_the_count_anew(waiting: Waiting) -> None:
    waiting()
    for work in [failing, failing, failing, failing, lambda pk: None, failing]:
        swept(work)
    assert note().failures == 1


@pytest.mark.usefixtures("no_rest")
def test_failures_of_different_rows_are_not_added_up(waiting: Waiting) -> None:
    rows = {waiting() for _ in range(3)}
    for _ in range(2):
        swept(failing)
    assert {note.row: note.failures for note in StuckWork.objects.all()} == dict.fromkeys(rows, 2)


def test_the_same_number_in_another_journey_is_another_row(waiting: Waiting) -> None:
    pk, now = waiting(), timezone.now()
    StuckWork.objects.create(journey="fold", row=pk, failures=5, first_at=now, last_at=now, parked_at=now)
    assert due(BOOK, now) == [pk]


def test_a_row_that_failed_rests_for_a_minute_in_every_sweeper(waiting: Waiting) -> None:
    pk = waiting()
    swept(failing)
    assert due(BOOK, timezone.now()) == []
    assert due(BOOK, timezone.now() + parking.REST) == [pk]


def test_a_row_that_one_sweeper_is_trying_is_left_alone_by_the_others(waiting: Waiting) -> None:
    waiting()
    found: list[int] = []
    swept(lambda pk: found.extend(due(BOOK, timezone.now())))
    assert found == []


def test_the_fifth_try_is_not_parked_while_it_runs(waiting: Waiting) -> None:
    pk, now = waiting(), timezone.now()
    StuckWork.objects.create(journey="book", row=pk, failures=4, first_at=now, last_at=now - parking.REST * 2)

    def slow(pk: int) -> None:
        parking.settle(timezone.now())
        assert note().parked_at is None

    assert swept(slow) == {"book done": 1}


def test_failures_far_apart_are_not_in_a_row(waiting: Waiting) -> None:
    pk, now = waiting(), timezone.now()
    long_ago = now - parking.FORGET_AFTER - dt.timedelta(seconds=1)
    StuckWork.objects.create(journey="book", row=pk, failures=4, first_at=long_ago, last_at=long_ago)
    swept(failing)
    assert note().failures == 1


def test_a_parked_row_stays_parked_however_long_ago_it_failed(waiting: Waiting) -> None:
    pk, long_ago = waiting(), timezone.now() - 2 * parking.FORGET_AFTER
    StuckWork.objects.create(
        journey="book", row=pk, failures=5, first_at=long_ago, last_at=long_ago, parked_at=long_ago
    )
    assert swept(failing) == {}
    assert note().parked_at == long_ago


def test_work_that_the_workers_take_leaves_no_note(waiting: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "nudge", lambda task, pk: True)
    waiting()
    with CaptureQueriesContext(connection) as seen:
        assert swept(failing) == {"book nudged": 1}
    assert [query["sql"] for query in seen if "INSERT" in query["sql"]] == []


def test_many_parked_rows_do_not_hide_the_one_behind_them(waiting: Waiting) -> None:
    now = timezone.now()
    for _ in range(sweep.BATCH + 1):
        StuckWork.objects.create(
            journey="book", row=waiting(), failures=5, first_at=now, last_at=now, parked_at=now
        )
    behind = waiting()
    assert due(BOOK, timezone.now()) == [behind]


def test_an_operator_finds_the_parked_row_and_lets_it_try_again(
    desk: Client, sam: User, waiting: Waiting
) -> None:
    pk, now = waiting(), timezone.now()
    parked = StuckWork.objects.create(
        journey="book", row=pk, failures=5, first_at=now, last_at=now, parked_at=now, last_error="KeyError"
    )
    listed = desk.get("/admin/orders/stuckwork/?parked=yes").content.decode()
    assert f'href="/admin/orders/order/{pk}/change/"' in listed
    assert "KeyError" in listed
    desk.post(f"/admin/orders/stuckwork/{parked.pk}/acts/try-again/", {"reason": REASON})
    assert due(BOOK, timezone.now()) == [pk]
    assert (Audit.objects.get().actor, Audit.objects.get().action) == (sam, "parked work tried again")


def test_what_is_not_parked_any_more_is_not_tried_again_twice(sam: User) -> None:
    now = timezone.now()
    parked = StuckWork.objects.create(
        journey="book", row=7, failures=5, first_at=now, last_at=now, parked_at=now
    )
    parking.try_again(parked, by=sam, reason=REASON, now=now)
    with pytest.raises(parking.Gone):
        parking.try_again(parked, by=sam, reason=REASON, now=now)
    assert Audit.objects.count() == 1
