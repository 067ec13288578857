"""Workers and sweepers at the same rows at the same instant, on PostgreSQL, where races are real."""

import datetime as dt
import threading
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from queue import Empty, Queue

import pytest
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.jobs import sweep
from shipping_portal.jobs.models import Job
from shipping_portal.jobs.registry import Kind, kinds
from shipping_portal.jobs.sweep import Sweep
from tests import factories
from tests.jobs.conftest import Waiting, named
from tests.test_races import at_once

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres,
    pytest.mark.skipif(
        "sqlite" in settings.DATABASES["default"]["ENGINE"], reason="SQLite lets one writer in"
    ),
]


MAKE = {
    "book": partial(factories.order, status="booking"),
    "book-row": partial(factories.import_row, state="owed"),
}


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_of_eight_workers_at_a_row_of_each_kind_one_does_the_work(owed: dict[str, int], kind: Kind) -> None:
    done: list[Job] = []
    assert at_once(*[partial(replace(kind, work=done.append), owed[kind.name])] * 8) == [None] * 8
    assert [row.pk for row in done] == [owed[kind.name]]


@pytest.mark.parametrize("change", ["finish", "renew", "give_up"])
def test_of_eight_who_hold_the_same_view_of_a_row_one_changes_it(waiting: Waiting, change: str) -> None:
    order = waiting()
    assert order.claim()
    twins = [Order.objects.get(pk=order.pk) for _ in range(8)]
    done = at_once(*[getattr(twin, change) for twin in twins])
    # A parked row is as due as before, so whoever parks it again says the same.
    assert done.count(True) == (8 if change == "give_up" else 1)


@pytest.mark.parametrize("name", ["book", "book-row"], ids=["of one table", "of two tables"])
def test_sweepers_and_workers_at_once_do_each_row_once(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    due = {"due_at": timezone.now()}
    rows = [MAKE[name](quill, alice, **due).pk for _ in range(40)]
    done, messages = Counter[int](), Queue[tuple[int, str]]()
    monkeypatch.setattr(sweep, "publish", lambda task, pk, token: messages.put((pk, token)) is None)
    stop = threading.Event()

    def work(row: Job) -> None:
        done[row.pk] += 1
        row.finish()

    kind = replace(named(name), work=work)

    def worker() -> None:
        while not (stop.is_set() and messages.empty()):
            try:
                pk, token = messages.get(timeout=0.05)
            except Empty:
                continue
            kind(pk, dt.datetime.fromisoformat(token))

    def sweeper() -> None:
        for _ in range(3):
            Sweep().once([kind])
        stop.set()

    assert at_once(*[worker] * 4, *[sweeper] * 3) == [None] * 7
    assert done == Counter(rows)


@pytest.mark.parametrize("name", ["book", "book-row"], ids=["of one table", "of two tables"])
def test_a_row_claimed_while_the_sweep_hands_it_over_stays_with_who_claimed_it(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    row = MAKE[name](quill, alice, due_at=timezone.now())
    monkeypatch.setattr(sweep, "publish", lambda *message: True)
    claimed = threading.Event()

    def worker() -> None:
        with transaction.atomic():
            assert row.claim()
            claimed.set()
            time.sleep(0.5)  # the sweep sees the row as it was, and its UPDATE waits for this one

    def sweeper() -> None:
        claimed.wait()
        assert Sweep().once([named(name)]) == {f"{name} handed over": 1}

    assert at_once(worker, sweeper) == [None, None]
    assert type(row).objects.get(pk=row.pk).due_at == row.due_at
