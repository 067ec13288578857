"""A row of due work is claimed once and never changed by a worker that lost it. Races are in tests/test_races.py."""

import datetime as dt
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from orders.models import Order
from orders.status.transitions import move_to
from shipping_portal.jobs import registry
from shipping_portal.jobs.models import MOST_TRIES, UNDER_WAY, Job, lease_time
from shipping_portal.jobs.registry import NotYet, enqueue, enqueue_next
from tests.jobs.conftest import Waiting, doing, make_due, named

pytestmark = pytest.mark.django_db
SOON = dt.timedelta(seconds=30)
CHANGES: dict[str, Callable[[Job], bool]] = {
    "claim": lambda row: row.claim(),
    "renew": lambda row: row.renew(),
    "finish": lambda row: row.finish(),
    "retry": lambda row: row.retry(timezone.now() + SOON),
    "postpone": lambda row: row.postpone(timezone.now() + SOON),
    "fail": lambda row: row.fail(ValueError(), failures=3),
    "give up": lambda row: row.give_up(),
}


def seen(order: Order) -> dict[str, Any]:
    names = ("due_at", "tries", "failures", "last_error", "parked_at")
    return {name: getattr(order, name) for name in names}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("moved", [{"due_at": None}, {"status": "draft"}], ids=["due time", "status"])
def test_a_worker_that_lost_the_row_changes_nothing(
    waiting: Waiting, change: Callable[[Job], bool], moved: dict[str, Any]
) -> None:
    mine = waiting()
    Order.objects.filter(pk=mine.pk).update(**moved)
    there = Order.objects.get(pk=mine.pk)
    assert not change(mine)
    assert seen(Order.objects.get(pk=mine.pk)) == seen(there)


def test_only_one_of_two_workers_gets_a_due_row(waiting: Waiting) -> None:
    order = waiting()
    duplicate = Order.objects.get(pk=order.pk)
    assert [order.claim(), duplicate.claim()] == [True, False]


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ("claim", {"tries": 3, "failures": 3, "last_error": UNDER_WAY}),
        ("finish", {"due_at": None, "tries": 3, "failures": 0, "last_error": "", "parked_at": None}),
        ("retry", {"tries": 4, "failures": 0, "last_error": "", "parked_at": None}),
        ("postpone", {"tries": 3, "failures": 0, "last_error": "", "parked_at": None}),
        ("fail", {"tries": 3, "failures": 3, "last_error": "ValueError"}),
        ("give up", {"tries": 3, "failures": 2}),
    ],
)
def test_each_change_of_a_row_that_failed_twice_sets_the_expected_fields(
    waiting: Waiting, change: str, left: dict[str, Any]
) -> None:
    order = waiting()
    order.change(tries=3, failures=2, last_error="KeyError", parked_at=timezone.now())
    assert CHANGES[change](order)
    found = seen(Order.objects.get(pk=order.pk))
    assert {name: found[name] for name in left} == left


def test_the_count_of_tries_ends_before_its_column_does(waiting: Waiting) -> None:
    """PostgreSQL refuses 32,768, which would end in a dead letter."""
    order = waiting()
    order.change(tries=MOST_TRIES)
    order.retry(timezone.now())
    assert Order.objects.get(pk=order.pk).tries == MOST_TRIES


@pytest.mark.parametrize(
    "fields",
    [{"due_at": None}, {"due_at": timezone.now() + SOON * 1000}, {"parked_at": timezone.now()}, {"status": "draft"}],
    ids=["owes nothing", "not due", "dead letter", "of another kind"],
)  # fmt: skip
def test_a_message_for_a_row_that_is_not_due_does_nothing(waiting: Waiting, fields: dict[str, Any]) -> None:
    order, done = waiting(), []
    Order.objects.filter(pk=order.pk).update(**fields)
    doing(done.append)(order.pk)
    assert done == []


def test_work_that_raises_waits_a_minute_and_records_the_error_without_names(waiting: Waiting) -> None:
    order = waiting()

    def work(order: Order) -> None:
        raise ZeroDivisionError("Noor Tamsin's parcel")

    with pytest.raises(ZeroDivisionError):
        doing(work)(order.pk)
    order.refresh_from_db()
    assert order.last_error.startswith("ZeroDivisionError at test_machine.py ")
    assert "Noor" not in order.last_error
    assert SOON < order.due_at - timezone.now() < 3 * SOON


def test_the_error_is_recorded_although_the_workers_last_write_was_rolled_back(waiting: Waiting) -> None:
    order = waiting()

    def work(order: Order) -> None:
        with transaction.atomic():
            order.renew()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        doing(work)(order.pk)
    assert Order.objects.get(pk=order.pk).last_error.startswith("ZeroDivisionError")


def test_the_error_of_a_worker_that_lost_the_row_is_not_recorded(waiting: Waiting) -> None:
    order = waiting()

    def work(order: Order) -> None:
        make_due(order)
        assert Order.objects.get(pk=order.pk).claim()  # another worker, once the lease is over
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        doing(work)(order.pk)
    assert Order.objects.get(pk=order.pk).last_error == UNDER_WAY


def test_a_row_whose_worker_died_is_worked_on_again_once_its_lease_is_over(waiting: Waiting) -> None:
    order, done = waiting(), []
    assert order.claim()
    doing(done.append)(order.pk)
    make_due(order)
    doing(done.append)(order.pk)
    assert done == [order]


def test_an_order_that_moves_on_no_longer_has_its_earlier_error(waiting: Waiting) -> None:
    order = waiting()
    order.change(failures=4, last_error="KeyError", parked_at=timezone.now())
    move_to(order, "rejected", reason="refused", at=timezone.now(), due_at=None)
    assert {**seen(Order.objects.get(pk=order.pk)), "tries": 0} == {
        "due_at": None, "tries": 0, "failures": 0, "last_error": "", "parked_at": None,
    }  # fmt: skip


def test_workers_get_a_message_once_a_row_is_committed(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    shown: list[tuple[str, int]] = []
    monkeypatch.setattr("shipping_portal.jobs.registry.publish_task", lambda task, pk: shown.append((task, pk)) is None)
    with django_capture_on_commit_callbacks(execute=True):
        enqueue("book", 7, 8)
        assert shown == []
    assert shown == [(named("book").task, 7), (named("book").task, 8)]


@pytest.mark.django_db(transaction=True)
def test_a_worker_does_the_next_job_itself_once_it_is_committed_and_after_its_own(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = waiting(), waiting()
    done, sent = list[tuple[int, bool]](), list[Any]()
    monkeypatch.setattr("shipping_portal.jobs.registry.publish_task", lambda *message: bool(sent.append(message)))

    def work(order: Order) -> None:
        if order == first:
            with transaction.atomic(), suppress(ZeroDivisionError), transaction.atomic():
                enqueue_next("next", third.pk)
                raise ZeroDivisionError  # it is rolled back
            with transaction.atomic():
                enqueue_next("next", second.pk)
        order.finish()
        done.append((order.pk, Order.objects.filter(pk=first.pk, due_at=None).exists()))

    third, kind = waiting(), doing(work, name="next")
    monkeypatch.setitem(registry._KINDS, "next", kind)
    kind.run(first.pk)
    assert (done, sent) == ([(first.pk, True), (second.pk, True)], [])
    enqueue_next("next", third.pk)  # this is no worker's task
    assert sent == [(kind.task, third.pk)]


def test_an_unreachable_broker_is_tried_once_for_any_number_of_rows(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    asked: list[int] = []
    monkeypatch.setattr("shipping_portal.jobs.registry.publish_task", lambda task, pk: bool(asked.append(pk)))
    with django_capture_on_commit_callbacks(execute=True):
        enqueue("check-row", 1, 2, 3)
    assert asked == [1]


@pytest.mark.parametrize(("seconds", "is_sent"), [(2.5, True), (60, False)])
def test_a_row_due_again_soon_runs_then_and_not_at_the_next_sweep(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch, seconds: float, is_sent: bool
) -> None:
    """Otherwise turns that are free until the sweep would be lost."""
    order, then, sent = waiting(), timezone.now() + dt.timedelta(seconds=seconds), []
    monkeypatch.setattr("shipping_portal.jobs.registry.publish_task", lambda *message: bool(sent.append(message)))

    def work(order: Order) -> None:
        raise NotYet(then)

    kind = doing(work)
    kind(order.pk)
    assert sent == ([(kind.task, order.pk, then)] if is_sent else [])
    assert Order.objects.get(pk=order.pk).due_at == then


def test_a_try_that_was_too_early_is_not_counted_and_earlier_ones_still_are(waiting: Waiting) -> None:
    order = waiting()
    Order.objects.filter(pk=order.pk).update(tries=2, failures=3)

    def work(order: Order) -> None:
        raise NotYet(timezone.now() + SOON)

    doing(work)(order.pk)
    assert Order.objects.values_list("tries", "failures").get(pk=order.pk) == (2, 3)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_of_one_row_leaves_another_that_is_due_at_the_same_time(
    waiting: Waiting, change: Callable[[Job], bool]
) -> None:
    mine, other = waiting(), waiting()
    assert mine.claim()
    Order.objects.filter(pk=other.pk).update(due_at=mine.due_at)
    there = seen(Order.objects.get(pk=other.pk))
    change(mine)
    assert seen(Order.objects.get(pk=other.pk)) == there


@pytest.mark.parametrize("change", ["claim", "renew"])
def test_a_row_is_kept_for_one_lease(waiting: Waiting, change: str) -> None:
    order, before = waiting(), timezone.now()
    assert CHANGES[change](order)
    assert before + lease_time() <= order.due_at <= timezone.now() + lease_time()
