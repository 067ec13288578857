"""The carrier's rate: no second has more calls than the contract allows, and nobody waits longer than needed."""

import datetime as dt
import heapq
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from django.utils import timezone

from orders.booking import bookings, resolving
from orders.calling import gateway, turns
from orders.calling.turns import APART  # before the tests set it to zero
from orders.cancelling import cancels
from orders.labels import fetching
from orders.models import CarrierAccount, CarrierLine, Order
from shipping_portal.accounts.models import User
from shipping_portal.carrier.errors import Crowded, Rejected
from shipping_portal.jobs.registry import NotYet
from tests.orders.call_rate import fill
from tests.sandbox_carrier import SandboxCarrier


class Clock:
    """A clock that only moves while somebody sleeps."""

    def __init__(self) -> None:
        self.now = self.begun = timezone.now().timestamp()

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(db: None, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Use the real gap between turns, and a clock that jumps."""
    made = Clock()
    monkeypatch.setattr(turns, "APART", APART)
    monkeypatch.setattr(turns, "_now", lambda: made.now)
    monkeypatch.setattr(turns.time, "sleep", made.sleep)
    monkeypatch.setattr(turns.time, "monotonic", lambda: made.now)
    return made


def most_in_a_second(starts: list[float]) -> int:
    return max(sum(at <= other < at + 1.0 for other in starts) for at in starts)


def test_no_second_has_more_calls_than_the_rate_of_any_kind(clock: Clock) -> None:
    turn, starts = turns.Turns(gateway.current_account()), []
    for number in range(200):
        turn(("book", "view", "label", "quote", "cancel")[number % 5])
        starts.append(clock.now)
    assert most_in_a_second(starts) <= 5
    assert clock.now - clock.begun < 200 / 5 / 0.93


@pytest.mark.parametrize("rate", [1, 3, 5, 20, 200])
def test_late_starts_and_uneven_delays_overfill_no_second_at_the_carrier(rate: int) -> None:
    """Each arrives up to 50 ms after its slot; the carrier counts the calls of the last second. No database is used."""
    dice = random.Random(rate)  # noqa: S311  (no secret)
    on_the_way = APART - 1 - turns.LATE
    slots = (number * APART / rate for number in range(5000))
    arrivals = sorted(slot + dice.uniform(0, turns.LATE) + dice.choice([0, on_the_way]) for slot in slots)
    assert all(later - first >= 1.0 for first, later in zip(arrivals, arrivals[rate:], strict=False))
    assert len(arrivals) / (arrivals[-1] - arrivals[0]) >= 0.93 * rate


def test_a_job_that_writes_before_its_call_starts_on_time(clock: Clock) -> None:
    """A slot missed while storing the attempt would be wasted."""
    starts = []
    for _ in range(50):
        turn = turns.Turns(gateway.current_account())
        turn.ahead("book")
        clock.now += 0.04
        turn("book")
        starts.append(clock.now)
    assert {round(later - first, 3) for first, later in pairwise(starts)} == {0.21}


def test_a_carrier_that_counts_each_second_refuses_no_call(
    carrier_with: Callable[..., SandboxCarrier], db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This runs in real time, as fast as one thread can. The test above counts turns without depending on the machine."""
    monkeypatch.setattr(turns, "APART", APART)
    carrier = carrier_with("requests_per_second = 40.0")
    carrier.settings(enforce_rates=True)
    account = gateway.current_account()
    for number in range(60):
        with pytest.raises(Rejected) as unknown:
            gateway.carrier_client(account).view(f"unknown-{number}")
        assert unknown.value.status == 404


def test_tracking_has_its_own_queue(clock: Clock) -> None:
    turn = turns.Turns(gateway.current_account())
    for _ in range(20):
        turn("track")
    before = clock.now
    turn("book")
    assert clock.now == before


def test_two_accounts_have_two_queues(clock: Clock, settings: Any) -> None:
    turns.Turns(gateway.current_account())("book")
    other = CarrierAccount.objects.create(fingerprint="other", name="other")
    before = clock.now
    turns.Turns(other)("book")
    assert clock.now == before


def test_eight_workers_at_one_a_second_start_exactly_that_many(clock: Clock, contract: Callable[[str], None]) -> None:
    """Each worker comes back at its given time. A queue that gave up after five seconds would start 46 calls in these 30."""
    contract("requests_per_second = 1.0")
    account, starts = gateway.current_account(), []
    workers = [(clock.now, number) for number in range(8)]
    while workers[0][0] < clock.begun + 60:
        wakes_at, number = heapq.heappop(workers)
        clock.now = max(clock.now, wakes_at)
        try:
            turn = turns.take_turn(account, "book", shares=True, patience=turns.DUE)
        except NotYet as later:
            heapq.heappush(workers, (later.at.timestamp(), number))
        else:
            starts.append(turn)
            heapq.heappush(workers, (turn + 0.1, number))
    late = [at - clock.begun for at in starts if 30 <= at - clock.begun < 60]
    assert 24 <= len(late) <= 31


def test_a_call_that_missed_its_turn_takes_another_turn(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = turns.Turns(gateway.current_account())
    turn.ahead("book")
    clock.now += turns.HEAD_START + turns.LATE + 0.01
    free_at = CarrierLine.objects.get().free_at
    turn("book")
    assert clock.now >= free_at


def test_a_machine_that_is_always_late_still_calls(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns.time, "sleep", lambda seconds: clock.sleep(seconds + 1))
    turns.Turns(gateway.current_account())("book")


def test_a_clock_that_was_set_back_delays_nobody(clock: Clock) -> None:
    turn = turns.Turns(gateway.current_account())
    turn("book")
    clock.now -= 3600
    before = clock.now
    turn("book")
    assert clock.now == before


def test_a_caller_without_time_left_is_refused_even_with_an_empty_queue(clock: Clock) -> None:
    turn = turns.Turns(gateway.current_account())
    turn("book")
    clock.now += 60
    with pytest.raises(Crowded):
        turn("book", clock.now - 1.0)


@pytest.mark.parametrize(("lane", "is_let_in"), [("quote", False), ("label", True), ("book", True)])
def test_a_lane_past_its_share_only_joins_a_short_queue(clock: Clock, lane: str, is_let_in: bool) -> None:
    """An import's prices leave room for labels and bookings, however many there are."""
    account = gateway.current_account()
    fill(account, "quote")
    if is_let_in:
        assert turns.take_turn(account, lane, shares=True, patience=turns.DUE) - clock.now < 3
    else:
        with pytest.raises(NotYet):
            turns.take_turn(account, lane, shares=True, patience=turns.DUE)


def test_a_person_asking_for_prices_gets_turns_during_an_import(clock: Clock) -> None:
    account = gateway.current_account()
    fill(account, "quote")
    before = clock.now
    turns.Turns(account, is_person=True)("quote")
    assert clock.now - before < 3


def test_eight_workers_on_an_import_all_wait_in_the_queue(clock: Clock) -> None:
    """If it were put off, a row would wait for the next sweep while the queue stayed empty."""
    account = gateway.current_account()
    taken = [turns.take_turn(account, "quote", shares=True, patience=turns.DUE) for _ in range(8)]
    assert taken[-1] - clock.now < turns.SPARE


def test_people_join_a_queue_that_jobs_past_their_share_may_not(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns.time, "sleep", lambda seconds: None)
    account = gateway.current_account()
    while turns.take_turn(account, "book", shares=False, patience=60) - clock.now < turns.SPARE:
        pass
    for _ in range(3):
        turns.Turns(account, is_person=True)("quote")


def test_a_person_is_refused_at_once_if_the_queue_is_too_long(clock: Clock, contract: Any) -> None:
    contract("requests_per_second = 0.25")
    for _ in range(2):
        turns.take_turn(gateway.current_account(), "book", shares=False, patience=60)
    with pytest.raises(Crowded) as refused:
        turns.Turns(gateway.current_account(), is_person=True)("quote")
    assert refused.value.retry_after == pytest.approx(8 * APART, abs=0.1)


def test_rows_of_a_file_use_every_slot_and_keep_the_queue_short(clock: Clock, contract: Callable[[str], None]) -> None:
    """A call that joins the queue between two rows waits for less than half a second."""
    contract("requests_per_second = 20.0")
    account, waits = gateway.current_account(), []
    for _ in range(200):
        turns.wait_for_short_queue(account)
        waits.append(turns.take_turn(account, "book", shares=True, patience=turns.DUE) - clock.now)
    assert max(waits) < 0.4
    assert clock.now - clock.begun < 200 * APART / 20


def test_rows_that_begin_together_join_the_queue_one_after_the_other(clock: Clock) -> None:
    """The calls of the first have not joined the queue when the others ask."""
    account, began = gateway.current_account(), []
    for _ in range(8):
        turns.wait_for_short_queue(account)
        began.append(clock.now)
    assert {round(later - first, 3) for first, later in pairwise(began)} == {round(APART / 10, 3)}


def test_a_row_of_a_file_waits_until_a_long_queue_is_short(clock: Clock) -> None:
    account = gateway.current_account()
    fill(account, "label")
    queue = CarrierLine.objects.get(name="calls").free_at - clock.now
    turns.wait_for_short_queue(account)
    assert queue > 2
    assert clock.now - clock.begun == pytest.approx(queue - 2 * APART / 5, abs=0.01)


def test_a_row_of_a_file_comes_back_later_if_the_queue_stays_long(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = gateway.current_account()

    def sleep(seconds: float) -> None:
        clock.now += seconds
        fill(account, "label")

    monkeypatch.setattr(turns.time, "sleep", sleep)
    with pytest.raises(NotYet) as later:
        turns.wait_for_short_queue(account)
    assert clock.now - clock.begun <= turns.DUE + turns.BEGUN
    assert later.value.at.timestamp() - clock.begun == pytest.approx(turns.BEGUN, abs=0.01)


def test_after_a_clock_was_set_back_rows_of_files_begin(clock: Clock) -> None:
    account = gateway.current_account()
    turns.Turns(account)("book")
    turns.wait_for_short_queue(account)
    clock.now -= 3600
    before = clock.now
    turns.wait_for_short_queue(account)
    assert clock.now == before


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> dt.datetime:
    """Make every queue as long as possible. Return when it ends."""
    then = timezone.now() + dt.timedelta(seconds=60)

    def refuse(*named: Any, **more: Any) -> float:
        raise NotYet(then)

    monkeypatch.setattr(turns, "take_turn", refuse)
    return then


def test_a_booking_whose_turn_is_far_off_is_due_then_and_counts_as_no_try(
    submitted: Callable[[], Order], carrier: SandboxCarrier, request: pytest.FixtureRequest
) -> None:
    order, before = submitted(), len(carrier.requests())
    full = request.getfixturevalue("full")
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, order.due_at, order.tries, order.failures) == ("booking", full, 0, 0)
    assert not order.attempts.exists()
    assert len(carrier.requests()) == before


def test_work_that_was_put_off_keeps_its_count_of_failures(
    submitted: Callable[[], Order], carrier: SandboxCarrier, request: pytest.FixtureRequest
) -> None:
    order = submitted()
    Order.objects.filter(pk=order.pk).update(failures=4)
    request.getfixturevalue("full")
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, order.failures) == ("booking", 4)


def rested() -> None:
    CarrierAccount.objects.update(resting_until=timezone.now() + dt.timedelta(seconds=30))


def stopped() -> None:
    gateway.current_account().stop("402", timezone.now())


def turned_off() -> None:
    User.objects.update(is_active=False)


@pytest.mark.parametrize(("meanwhile", "status"), [(rested, "booking"), (stopped, "booking"), (turned_off, "draft")])
def test_a_stop_of_bookings_also_stops_one_waiting_for_its_turn(
    submitted: Callable[[], Order], carrier: SandboxCarrier, monkeypatch: pytest.MonkeyPatch,
    meanwhile: Callable[[], None], status: str,
) -> None:  # fmt: skip
    order, ahead = submitted(), turns.Turns.ahead

    def wait(self: turns.Turns, operation: str) -> None:
        ahead(self, operation)
        meanwhile()

    monkeypatch.setattr(turns.Turns, "ahead", wait)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, carrier.ledger("booked")) == (status, [])


def test_a_label_whose_turn_is_far_off_is_due_then(
    submitted: Callable[[], Order], carrier: SandboxCarrier, request: pytest.FixtureRequest
) -> None:
    order = submitted()
    bookings.process_booking(order.pk)
    then = request.getfixturevalue("full")
    label = order.labels.earliest("pk")
    fetching.fetch_due_label(label.pk)
    label.refresh_from_db()
    assert (label.due_at, label.tries, label.failures) == (then, 0, 0)


@pytest.mark.parametrize("carrier_with", [True, False])
def test_each_request_takes_a_turn_and_both_labels_are_looked_up_at_most_once(
    submitted: Callable[[], Order], carrier: SandboxCarrier, monkeypatch: pytest.MonkeyPatch, carrier_with: bool
) -> None:
    """A booking with an old price: prices, book, one lookup if its reply had no labels, and HEAD and GET twice."""
    taken: list[str] = []
    take = turns.take_turn
    order = submitted()

    def count(account: CarrierAccount, operation: str, **how: Any) -> float:
        taken.append(operation)
        return take(account, operation, **how)

    monkeypatch.setattr(turns, "take_turn", count)
    monkeypatch.setattr(turns, "LATE", 60)  # a slow machine misses no turn
    Order.objects.filter(pk=order.pk).update(quoted_at=timezone.now() - dt.timedelta(minutes=10))
    before = len(carrier.requests())
    bookings.process_booking(order.pk)
    if not carrier_with:
        order.labels.update(address="")
    order.labels.update(is_spare=False)  # both are wanted
    for label in order.labels.order_by("pk"):
        fetching.fetch_due_label(label.pk)
    assert set(order.labels.values_list("state", flat=True)) == {"stored"}
    asked = [request["operation"] for request in carrier.requests()[before:]]
    assert asked == ["quote", "book", *([] if carrier_with else ["view"]), "label", "file", "label", "file"]
    assert len(asked) == len(taken)


def test_a_size_the_carrier_lists_late_waits_no_longer_than_any_label(
    submitted: Callable[[], Order], carrier: SandboxCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first size is stored, so it won't bring the other one again."""
    order = submitted()
    bookings.process_booking(order.pk)
    order.labels.update(is_spare=False)  # both are wanted
    wanted = fetching.wanted
    monkeypatch.setattr(fetching, "wanted", lambda size, *of: wanted(size, *of) if size == "full" else None)
    fetching.fetch_due_label(order.labels.get(size="full").pk)
    states = dict(order.labels.values_list("size", "state"))
    assert states == {"full": "stored", "cropped": "pending"}
    assert order.labels.get(size="cropped").due_at < timezone.now() + dt.timedelta(seconds=5)


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on, no call gets a turn except a job's first."""

    def refuse(self: turns.Turns, operation: str, not_after: float | None = None) -> None:
        raise Crowded(retry_after=3.0)

    return lambda: monkeypatch.setattr(turns.Turns, "__call__", refuse)


def test_a_label_without_a_turn_counts_as_not_tried(
    submitted: Callable[[], Order], carrier: SandboxCarrier, crowded: Callable[[], None]
) -> None:
    order, now = submitted(), timezone.now()
    bookings.process_booking(order.pk)
    crowded()
    label = order.labels.earliest("pk")
    fetching.fetch_due_label(label.pk)
    label.refresh_from_db()
    assert (label.state, label.tries, label.problem) == ("pending", 0, "")
    assert label.due_at
    assert label.due_at > now + dt.timedelta(seconds=2)


def test_an_unsent_probe_of_a_stopped_account_is_given_back(
    submitted: Callable[[], Order], carrier: SandboxCarrier, crowded: Callable[[], None]
) -> None:
    order = submitted()
    gateway.current_account().stop("402", timezone.now() - dt.timedelta(hours=1))
    crowded()
    bookings.process_booking(order.pk)
    assert order.attempts.get().state == "not_sent"
    assert gateway.current_account().take_probe(timezone.now())


@pytest.mark.parametrize("repeatable", ["true", "false"])
def test_a_cancellation_without_a_turn_counts_as_not_tried(
    submitted: Callable[[], Order], carrier: SandboxCarrier, crowded: Callable[[], None], alice: User,
    contract: Callable[[str], None], repeatable: str,
) -> None:  # fmt: skip
    contract(f"cancel_repeatable = {repeatable}")
    order = submitted()
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    carrier.trouble("cancel", "500")
    cancels.ask_to_cancel(order, by=alice, why="not sending it", now=timezone.now())
    cancels.process_cancel(order.pk)
    Order.objects.update(due_at=timezone.now())
    crowded()
    cancels.process_cancel(order.pk)
    order.refresh_from_db()
    assert (order.status, order.cancels.get().state, order.tries) == ("cancel_unconfirmed", "unknown", 1)
    assert order.due_at
    assert order.due_at > timezone.now()


def test_a_replay_without_a_turn_counts_as_not_tried(
    submitted: Callable[[], Order], carrier: SandboxCarrier, crowded: Callable[[], None],
    contract: Callable[[str], None],
) -> None:  # fmt: skip
    contract("replays = true")
    order = submitted()
    carrier.trouble("book", "500")
    bookings.process_booking(order.pk)
    Order.objects.update(due_at=timezone.now())
    crowded()
    resolving.resolve_due_order(order.pk)
    order.refresh_from_db()
    assert (order.status, order.attempts.get().replays, order.tries) == ("unconfirmed", 0, 0)
    assert order.due_at
