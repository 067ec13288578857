"""The sweep finds every kind of owed row, hands it on, and does it itself when nobody takes it."""

import datetime as dt
import os
import signal
import threading
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.core.management import call_command
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from orders.models import Draft, Export, Label, Order, PriceWait, Replacement
from shipping_portal.accounts.models import Notice, Sender, User
from shipping_portal.celery import app
from shipping_portal.desk import retention, sweep
from shipping_portal.desk.sweep import JOURNEYS, NUDGES, PATIENCE, Journey, Sweep, due
from tests import factories
from tests.sandbox_carrier import SandboxCarrier
from tracking import downtime
from tracking.models import Parcel, WebhookDelivery

ORDERS = next(journey for journey in JOURNEYS if journey.name == "book")
EXPORTS = next(journey for journey in JOURNEYS if journey.name == "export")
PAST = dt.timedelta(seconds=30)


@pytest.fixture
def nudges(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """A broker that takes everything and whose workers never come."""
    taken: list[tuple[str, int]] = []
    monkeypatch.setattr(sweep, "nudge", lambda task, pk: taken.append((task, pk)) is None)
    return taken


@pytest.fixture
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "nudge", lambda task, pk: False)


def replaced(order: Order, *, asked_at: dt.datetime) -> int:
    """An order that something is to be booked instead of."""
    values = {
        "quote": order.quote,
        "product_code": "-",
        "form_token": uuid.uuid4(),
        "asked_by": order.made_by,
    }
    return Replacement.objects.create(order=order, asked_at=asked_at, **values).pk


def news(to: User, of: Sender, once: str, *, due_at: dt.datetime) -> int:
    facts = {"kind": "booking", "bundle": "booking", "once": once, "line": "-", "path": "/"}
    return Notice.objects.create(user=to, sender=of, happened_at=due_at, due_at=due_at, **facts).pk


def price_wait(of: Sender, by: User, *, due_at: dt.datetime) -> int:
    draft = Draft.objects.create(sender=of, made_by=by, updated_at=due_at)
    return PriceWait.objects.create(draft=draft, user=by, asked_at=due_at, due_at=due_at).pk


@pytest.fixture
def owed(quill: Sender, alice: User) -> dict[str, int]:
    """One due row of every journey, by name; and none of the rows beside them is due."""
    now = timezone.now()
    then, later = now - PAST, now + PAST
    held = factories.order(quill, alice, status="booked", due_at=None)
    replaced(factories.order(quill, alice, status="cancelling", due_at=later), asked_at=then)
    for status in ("booking", "unconfirmed", "cancelling", "booked"):
        factories.order(quill, alice, status=status, due_at=later)
    Label.objects.create(order=held, size="cropped", due_at=later)
    factories.parcel(reference="SLATER0001", fold_due_at=later, poll_due_at=later)
    news(alice, quill, "later", due_at=later)
    for state in ("new", "owed"):
        factories.import_row(quill, alice, state=state, due_at=later)
    paused = factories.import_file(quill, alice, paused_at=then)
    factories.import_row(quill, alice, file=paused, state="owed", due_at=then)
    factories.export(quill, alice, finished_at=None, due_at=later)
    fresh = {"received_at": now, "body": b"{", "sha256": "0" * 64}
    WebhookDelivery.objects.create(**fresh)
    factories.billing_report(state="reading", due_at=later)
    factories.billing_report(state="posted", due_at=then)
    price_wait(quill, alice, due_at=later)
    return {
        "book": factories.order(quill, alice, status="booking", due_at=then).pk,
        "resolve": factories.order(quill, alice, status="unconfirmed", due_at=then).pk,
        "cancel": factories.order(quill, alice, status="cancel_unconfirmed", due_at=then).pk,
        "replace": replaced(factories.order(quill, alice, status="cancelled", due_at=None), asked_at=then),
        "open": factories.order(quill, alice, status="booked", due_at=then).pk,
        "label": Label.objects.create(order=held, size="full", due_at=then).pk,
        "read": WebhookDelivery.objects.create(**{**fresh, "received_at": then}).pk,
        "fold": factories.parcel(reference="SFOLD00001", fold_due_at=then).pk,
        "book a row": factories.import_row(quill, alice, state="owed", due_at=then).pk,
        "check a row": factories.import_row(quill, alice, state="new", due_at=then).pk,
        "prices": price_wait(quill, alice, due_at=then),
        "news": news(alice, quill, "due", due_at=then),
        "report": factories.billing_report(state="reading", due_at=then).pk,
        "poll": factories.parcel(reference="SPOLL00001", poll_due_at=then).pk,
        "export": factories.export(quill, alice, finished_at=None, due_at=then).pk,
    }


@pytest.mark.parametrize("journey", JOURNEYS, ids=lambda journey: journey.name)
def test_exactly_the_due_rows_of_each_journey_are_found(owed: dict[str, int], journey: Journey) -> None:
    assert due(journey, timezone.now()) == [owed[journey.name]]


def test_due_rows_are_handed_to_the_workers_by_name(
    owed: dict[str, int], nudges: list[tuple[str, int]]
) -> None:
    Sweep().once()
    assert nudges == [(journey.task, owed[journey.name]) for journey in JOURNEYS]


def test_every_task_that_is_nudged_exists() -> None:
    app.loader.import_default_modules()
    assert {journey.task for journey in JOURNEYS} <= set(app.tasks)


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
    assert {label.state for label in order.labels.all()} == {"stored"}
    assert len(carrier.ledger("booked")) == 1


def test_a_row_that_stays_due_after_three_nudges_is_done_here(
    submitted: Callable[..., Order],
    carrier: SandboxCarrier,
    nudges: list[tuple[str, int]],
    settings: Any,
) -> None:
    settings.SWEEP_SECONDS = 0
    order = submitted()
    nudges.clear()
    one = Sweep()
    for _ in range(NUDGES):
        one.once([ORDERS])
    order.refresh_from_db()
    assert order.status == "booking"
    one.once([ORDERS])
    order.refresh_from_db()
    assert order.status == "booked"
    assert nudges == [(ORDERS.task, order.pk)] * NUDGES


def test_what_takes_minutes_is_left_to_the_workers_for_longer_but_not_for_ever(
    quill: Sender, alice: User, nudges: list[tuple[str, int]], settings: Any
) -> None:
    settings.SWEEP_SECONDS = 0
    export = factories.export(quill, alice, finished_at=None, due_at=timezone.now())
    one = Sweep()
    for _ in range(PATIENCE):
        one.once([EXPORTS])
    assert nudges == [(EXPORTS.task, export.pk)] * PATIENCE
    assert Export.objects.filter(finished_at=None).exists()
    one.once([EXPORTS])
    assert not Export.objects.filter(finished_at=None).exists()


def test_without_a_broker_an_export_is_packed_here(quill: Sender, alice: User, no_broker: None) -> None:
    factories.export(quill, alice, finished_at=None, due_at=timezone.now())
    assert Sweep().once([EXPORTS]) == {"export done": 1}
    assert Export.objects.get().finished_at


def test_a_row_just_nudged_is_left_alone_so_that_those_behind_it_come_up(
    owed: dict[str, int], nudges: list[tuple[str, int]]
) -> None:
    one = Sweep()
    one.once()
    nudges.clear()
    one.once()
    assert nudges == []


def test_a_sender_with_much_to_book_does_not_hold_up_one_with_little(
    quill: Sender, alice: User, bob: User
) -> None:
    early = timezone.now() - dt.timedelta(hours=1)
    for minute in range(60):
        factories.order(quill, alice, status="booking", due_at=early + dt.timedelta(seconds=minute))
    of_bob = factories.order(bob.membership.sender, bob, status="booking", due_at=timezone.now())
    found = due(ORDERS, timezone.now())
    assert found.index(of_bob.pk) == 1
    assert len(found) == 50


def test_one_broken_row_does_not_stop_the_rest_and_is_left_alone_for_a_while(
    quill: Sender, alice: User, no_broker: None, caplog: pytest.LogCaptureFixture
) -> None:
    broken, whole = (factories.order(quill, alice, status="booking", due_at=timezone.now()) for _ in range(2))
    tried: list[int] = []

    def work(pk: int) -> None:
        tried.append(pk)
        if pk == broken.pk:
            raise ZeroDivisionError

    journey = Journey("book", ORDERS.task, ORDERS.due, work)
    one = Sweep()
    assert one.once([journey]) == {"book failed": 1, "book done": 1}
    one.once([journey])
    assert tried == [broken.pk, whole.pk, whole.pk]
    assert "sweep_failed" in caplog.text


@pytest.mark.parametrize(
    "error", [OperationalError("canceling statement due to lock timeout"), InterfaceError]
)
def test_a_row_that_the_database_refuses_rests_like_any_other_and_those_behind_it_are_done(
    quill: Sender, alice: User, no_broker: None, error: Exception
) -> None:
    """A lock, a deadlock or a time limit is one row's trouble: the database itself answers."""
    locked, free = (factories.order(quill, alice, status="booking", due_at=timezone.now()) for _ in range(2))
    tried: list[int] = []

    def work(pk: int) -> None:
        tried.append(pk)
        if pk == locked.pk:
            raise error

    journey = Journey("book", ORDERS.task, ORDERS.due, work)
    one = Sweep()
    assert one.once([journey]) == {"book failed": 1, "book done": 1}
    one.once([journey])
    assert tried == [locked.pk, free.pk, free.pk]


def test_a_round_ends_when_the_database_no_longer_answers(
    quill: Sender,
    alice: User,
    no_broker: None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for _ in range(2):
        factories.order(quill, alice, status="booking", due_at=timezone.now())
    tried: list[int] = []

    def work(pk: int) -> None:
        tried.append(pk)
        raise OperationalError("server closed the connection")

    monkeypatch.setattr(sweep, "close_old_connections", lambda: None)
    monkeypatch.setattr(sweep, "database_answers", lambda: False)
    one = Sweep()
    monkeypatch.setattr(one, "once", partial(one.once, [Journey("book", ORDERS.task, ORDERS.due, work)]))
    assert one.once_or_log() == {}
    assert len(tried) == 1
    assert "database_unreachable" in caplog.text


@pytest.mark.parametrize("error", [ZeroDivisionError, OperationalError("statement timeout")])
def test_a_journey_whose_rows_cannot_be_looked_up_does_not_stop_the_others(
    owed: dict[str, int], nudges: list[tuple[str, int]], caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def unreadable(now: dt.datetime) -> Any:
        raise error

    broken = Journey("book", ORDERS.task, unreadable, lambda pk: None)
    Sweep().once([broken, *JOURNEYS[1:]])
    assert nudges == [(journey.task, owed[journey.name]) for journey in JOURNEYS[1:]]
    assert "sweep_failed" in caplog.text


def test_a_failing_retention_ends_neither_the_round_nor_the_process(
    owed: dict[str, int],
    nudges: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(now: dt.datetime) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(sweep, "close_old_connections", lambda: None)
    monkeypatch.setattr(retention, "purge", broken)
    one = Sweep()
    assert one.once_or_log() == {f"{journey.name} nudged": 1 for journey in JOURNEYS}
    assert "sweep_failed" in caplog.text
    caplog.clear()
    one.once_or_log()
    assert "sweep_failed" not in caplog.text  # its next try is in an hour, not in a few seconds


def test_a_database_that_is_away_is_waited_for(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
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


def test_a_stopped_sweep_begins_no_further_row(owed: dict[str, int], nudges: list[tuple[str, int]]) -> None:
    one = Sweep()
    one.stop.set()
    one.once()
    assert nudges == []


def test_the_sweep_keeps_house_once_an_hour(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sweep, "close_old_connections", lambda: None
    )  # a test's transaction holds the only one
    purged: list[dt.datetime] = []
    monkeypatch.setattr(retention, "purge", purged.append)
    one = Sweep()
    one.once_or_log()
    one.once_or_log()
    assert len(purged) == 1


def test_the_command_looks_once_and_says_what_it_found(
    owed: dict[str, int], nudges: list[tuple[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("sweep", "--once")
    assert "book nudged: 1" in capsys.readouterr().out


def test_the_command_stops_when_it_is_told_to(
    db: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SWEEP_SECONDS = 30
    monkeypatch.setattr(
        downtime, "beat", lambda *args, **kwargs: None
    )  # no second thread in a test's database
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGTERM]).start()
    try:
        call_command("sweep")
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])
