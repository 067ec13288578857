"""Workers and sweepers on the same rows at the same moment, on PostgreSQL, where races are real."""

import threading
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import partial
from queue import Empty, Queue

import pytest
from django.conf import settings

from orders.models import Order
from shipping_portal.jobs import sweep
from shipping_portal.jobs.models import Job
from shipping_portal.jobs.registry import JobKind, all_kinds
from shipping_portal.jobs.sweep import Sweep
from tests.jobs.conftest import Waiting, doing
from tests.racing import at_once
from tracking import polling
from tracking.models import Poll

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres,
    pytest.mark.skipif("sqlite" in settings.DATABASES["default"]["ENGINE"], reason="SQLite lets one writer in"),
]


@pytest.mark.parametrize("kind", [kind for kind in all_kinds() if kind.is_leased], ids=lambda kind: kind.name)
def test_one_of_eight_workers_does_the_work_of_a_row(due: dict[str, int], kind: JobKind) -> None:
    done: list[Job] = []
    assert at_once(*[partial(replace(kind, work=done.append), due[kind.name])] * 8) == [None] * 8
    assert [row.pk for row in done] == [due[kind.name]]


def test_one_of_eight_workers_opens_a_parcel(due: dict[str, int]) -> None:
    order = Order.objects.get(pk=due["open"])
    assert at_once(*[partial(polling.open_parcel, order.pk)] * 8) == [None] * 8
    order.refresh_from_db()
    assert (order.due_at, order.last_error) == (None, "")
    assert Poll.objects.filter(parcel=order.parcel, due_at__isnull=False).count() == 1


@pytest.mark.parametrize("change", ["finish", "renew", "give_up"])
def test_one_of_eight_workers_with_the_same_copy_of_a_row_changes_it(waiting: Waiting, change: str) -> None:
    order = waiting()
    assert order.claim()
    duplicates = [Order.objects.get(pk=order.pk) for _ in range(8)]
    done = at_once(*[getattr(duplicate, change) for duplicate in duplicates])
    # A parked row is as due as before, so parking it again gives the same result.
    assert done.count(True) == (8 if change == "give_up" else 1)


def test_simultaneous_sweepers_and_workers_process_each_row_once(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, done, messages = [waiting().pk for _ in range(40)], Counter[int](), Queue[int]()
    monkeypatch.setattr(sweep, "publish_task", lambda task, pk: messages.put(pk) is None)
    stop = threading.Event()

    def work(order: Order) -> None:
        done[order.pk] += 1
        order.finish()

    def worker() -> None:
        while not (stop.is_set() and messages.empty()):
            with suppress(Empty):
                doing(work)(messages.get(timeout=0.05))

    def sweeper() -> None:
        for _ in range(3):
            Sweep().once([doing(work)])
        stop.set()

    assert at_once(*[worker] * 4, *[sweeper] * 3) == [None] * 7
    assert done == Counter(rows)
