"""Polls check the webhook: rarely while it works, hourly while it doesn't, and no scan is lost (decision 49)."""

import dataclasses
import datetime as dt
import itertools
import json
import random
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.calling.turns import APART
from orders.models import CarrierAccount, CarrierCall, Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.jobs.sweep import due_rows
from tests import factories
from tests.queries import sql_of
from tests.sandbox_carrier import SandboxCarrier
from tracking import pace, polling
from tracking.models import Parcel, Poll, TrackingEvent
from tracking.receiving import webhook_health

pytestmark = pytest.mark.django_db
NOW = dt.datetime(2026, 11, 19, 21, tzinfo=dt.UTC)  # 8 a.m. in Melbourne
HOUR, MINUTE, DAY = dt.timedelta(hours=1), dt.timedelta(minutes=1), dt.timedelta(days=1)
MOMENT = dt.timedelta(milliseconds=1)  # a clock that is moved rounds to less than a microsecond
# Hours after its booking: an ordinary parcel.
ORDINARY = [
    (7.0, "Pickup"),
    (16.0, "In Transit"),
    (31.0, "In Transit"),
    (50.0, "In Transit"),
    (70.0, "Out for Delivery"),
    (76.0, "Delivered"),
]
RATE = 5.0  # tracking calls a second


@pytest.fixture
def clock() -> Iterator[Any]:
    with time_machine.travel(NOW, tick=False) as moved:
        yield moved


@pytest.fixture
def known(carrier: SandboxCarrier, quill: Sender, alice: User) -> Callable[..., Parcel]:
    """`known()` is a booked parcel that the carrier knows."""

    def make(number: int = 0, **fields: Any) -> Parcel:
        reference = f"SKNOWN{number:03d}"
        carrier.foreign(reference)
        given = {"created_at": NOW, "booked_at": NOW, "carrier_pickup_date": dt.date(2026, 11, 20), **fields}
        order = factories.order(quill, alice, status="booked", carrier_reference=reference, due_at=NOW, **given)
        polling.open_parcel(order.pk)
        return Parcel.objects.get(order=order)

    return make


def proven() -> None:
    CarrierAccount.objects.update(webhook_proven_at=NOW - DAY)


def scanned(carrier: SandboxCarrier, parcel: Parcel, word: str, *, is_pushed: bool) -> None:
    """Make a scan at the carrier now, which sends a webhook or not."""
    body = {
        "carrier_reference": parcel.reference,
        "event_id": str(uuid.uuid4()),
        "event_type": word,
        "scan_time": timezone.now().isoformat().replace("+00:00", "Z"),
        "description": word,
    }
    carrier.scan(
        push=False, **{name: body[name] for name in ("event_type", "event_id", "scan_time", "description")},
        reference=parcel.reference,
    )  # fmt: skip
    if is_pushed:
        factories.deliver(json.dumps(body).encode())


def polls_so_far() -> int:
    return CarrierCall.objects.filter(operation="track").count()


def live(parcel: Parcel, carrier: SandboxCarrier, clock: Any) -> int:
    """Return how often the carrier is polled for an ordinary parcel whose scans are all pushed."""
    coming = [(NOW + hours * HOUR, word) for hours, word in ORDINARY]
    while True:
        due_at = Poll.objects.get(parcel=parcel).due_at
        if coming and (due_at is None or coming[0][0] <= due_at):
            at, word = coming.pop(0)
            clock.move_to(at)
            scanned(carrier, parcel, word, is_pushed=True)
        elif due_at:
            clock.move_to(due_at + MOMENT)
            polling.poll_due_parcel(parcel.pk)
        else:
            return polls_so_far()


@pytest.mark.parametrize("seed", range(3))
def test_an_ordinary_parcel_with_a_healthy_webhook_is_polled_ten_times_at_most(
    known: Callable[..., Parcel], carrier: SandboxCarrier, clock: Any, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That lets an account track 40,000 parcels a day with five calls a second."""
    dice = random.Random(seed)  # noqa: S311  (no secret)
    monkeypatch.setattr(pace, "_random_wait", lambda: dice.expovariate(1 / pace.SAMPLE))
    parcel = known()
    proven()
    polls = live(parcel, carrier, clock)
    assert 1 <= polls <= 9
    assert RATE / APART * 86_400 / polls >= 40_000
    assert parcel.events.count() == len(ORDINARY)


def test_without_a_proven_webhook_a_parcel_is_polled_hourly_from_its_pickup_day(
    known: Callable[..., Parcel], carrier: SandboxCarrier, clock: Any
) -> None:
    parcel = known()
    asked: list[dt.datetime] = []
    while Poll.objects.get().due_at - NOW < 12 * HOUR:
        clock.move_to(Poll.objects.get().due_at + MOMENT)
        polling.poll_due_parcel(parcel.pk)
        asked.append(timezone.now())
    waits = [later - earlier for earlier, later in zip([NOW, *asked], asked, strict=False)]
    assert all(HOUR <= wait <= 1.06 * HOUR for wait in waits)
    assert polls_so_far() == 11


@pytest.mark.parametrize("seed", range(3))
def test_with_a_dead_webhook_every_scan_is_found_within_two_hours(
    known: Callable[..., Parcel], carrier: SandboxCarrier, clock: Any, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From minute 90, deliveries stop for all parcels at once, with no other sign."""
    dice = random.Random(seed)  # noqa: S311  (no secret)
    monkeypatch.setattr(pace, "_random_wait", lambda: dice.expovariate(1 / pace.SAMPLE))
    parcels = [known(number) for number in range(20)]
    at_all = [NOW + 12 * minute * MINUTE for minute in range(1, 24)]
    dies_at, ends_at = NOW + 90 * MINUTE, NOW + 7 * HOUR
    asked: dict[int, list[dt.datetime]] = {parcel.pk: [] for parcel in parcels}
    proven()
    for _ in range(3):
        factories.event(parcels[0], event_type="Info", scan_time=NOW, received_at=NOW)
    while timezone.now() < ends_at:
        now = timezone.now()
        for number, at in enumerate(at_all):
            if at == now:
                scanned(carrier, parcels[number % 20], "In Transit", is_pushed=now < dies_at)
        webhook_health.update_webhook_proof(now)
        for pk in due_rows(polling.poll_due_parcel, now):
            before = polls_so_far()
            polling.poll_due_parcel(pk)
            asked[pk] += [now] * (polls_so_far() - before)
        clock.shift(4 * MINUTE)
    found = TrackingEvent.objects.filter(event_type="In Transit")
    assert found.count() == len(at_all)
    late = [event.received_at - event.scan_time for event in found]
    assert max(late) <= 2 * HOUR
    assert all(later - earlier >= HOUR for times in asked.values() for earlier, later in itertools.pairwise(times))
    # Until then the carrier was hardly polled.
    assert sum(at < dies_at for times in asked.values() for at in times) <= 8


def test_one_scan_found_only_by_a_poll_ends_the_proof(known: Callable[..., Parcel], clock: Any) -> None:
    one, other = known(1), known(2)
    proven()
    clock.shift(HOUR)
    for minutes in (50, 30, 10):
        factories.event(one, scan_time=NOW + minutes * MINUTE, received_at=NOW + minutes * MINUTE)
    account = CarrierAccount.objects.get()
    assert webhook_health.has_webhook_proof(account, timezone.now())
    found = factories.event(other, source="poll", received_at=NOW + 44 * MINUTE)
    Poll.objects.update(due_at=NOW + 20 * HOUR, is_optional=True)
    Poll.objects.filter(parcel=other).update(polled_at=NOW + 44 * MINUTE)
    webhook_health.update_webhook_proof(timezone.now())
    account.refresh_from_db()
    assert account.webhook_proven_at is None
    due = dict(Poll.objects.values_list("parcel", "due_at"))
    assert due == {one.pk: timezone.now(), other.pk: NOW + 104 * MINUTE}  # never under an hour
    assert not Poll.objects.filter(is_optional=True).exists()
    TrackingEvent.objects.filter(pk=found.pk).update(pushed_at=NOW + 50 * MINUTE)  # late, and not lost
    webhook_health.update_webhook_proof(timezone.now())
    account.refresh_from_db()
    assert account.webhook_proven_at == timezone.now()


@pytest.mark.parametrize(
    ("pushed", "ago", "is_proven"), [(3, 59 * MINUTE, True), (2, MINUTE, False), (3, 61 * MINUTE, False)]
)
def test_three_scans_in_an_hour_prove_that_a_webhook_works(
    known: Callable[..., Parcel], clock: Any, pushed: int, ago: dt.timedelta, is_proven: bool
) -> None:
    parcel = known()
    for _ in range(pushed):
        factories.event(parcel, scan_time=NOW - ago, received_at=NOW - ago)
    assert webhook_health.has_webhook_proof(parcel.account, NOW) is is_proven


@pytest.mark.parametrize(("looked_at", "is_proven"), [(4, False), (5, True)])
def test_only_the_newest_scans_count(
    known: Callable[..., Parcel], monkeypatch: pytest.MonkeyPatch, looked_at: int, is_proven: bool
) -> None:
    parcel = known()
    for _ in range(3):
        factories.event(parcel, received_at=NOW)
    for _ in range(2):
        factories.event(parcel, source="poll", received_at=NOW, pushed_at=NOW)
    monkeypatch.setattr(webhook_health, "NEWEST_SCANS", looked_at)
    assert webhook_health.has_webhook_proof(parcel.account, NOW) is is_proven


def test_after_a_missing_scan_a_webhook_is_proven_only_after_two_good_hours(
    known: Callable[..., Parcel], clock: Any
) -> None:
    parcel = known()
    factories.event(parcel, source="poll", received_at=NOW - 119 * MINUTE)
    for _ in range(3):
        factories.event(parcel, received_at=NOW)
    assert not webhook_health.has_webhook_proof(parcel.account, NOW)
    assert webhook_health.has_webhook_proof(parcel.account, NOW + MINUTE)


def test_a_parcel_without_promised_webhooks_never_relies_on_them(quill: Sender, alice: User, clock: Any) -> None:
    watched = factories.watch(quill, alice).parcel
    proven()
    for subscription, is_brought in (("", False), ("refused", False), ("wanted", False), ("on", True)):
        watched.subscription = subscription
        watched.account.refresh_from_db()
        assert pace.relies_on_webhook(watched) is is_brought


@pytest.mark.parametrize(
    ("progress", "silent_after"),
    [("collected", 24 * HOUR), ("in_transit", 24 * HOUR), ("out_for_delivery", 12 * HOUR), ("delivered", 24 * HOUR)],
)
def test_a_stage_that_lasts_longer_than_usual_is_checked(
    known: Callable[..., Parcel], clock: Any, progress: str, silent_after: dt.timedelta
) -> None:
    parcel = known()
    parcel.progress, parcel.last_scan_at = progress, NOW
    assert pace._silent_too_long_at(parcel) == NOW + silent_after


def test_a_parcel_without_scans_is_checked_when_its_pickup_day_is_over(
    known: Callable[..., Parcel], clock: Any
) -> None:
    midnight = dt.datetime(2026, 11, 20, 13, tzinfo=dt.UTC)  # in Melbourne
    assert pace._silent_too_long_at(known()) == midnight
    drop_off = known(1, first_mile="drop-off", carrier_pickup_date=None)
    assert pace._silent_too_long_at(drop_off) == NOW + 24 * HOUR


@pytest.mark.parametrize(("days", "hours"), [(0, 6), (1, 1), (2, 1), (3, 6)])
def test_without_webhooks_a_parcel_is_polled_hourly_while_a_driver_may_come(
    known: Callable[..., Parcel], clock: Any, days: int, hours: int
) -> None:
    parcel = known(carrier_pickup_date=dt.date(2026, 11, 21))
    assert pace.poll_interval(parcel, now=NOW + days * DAY) == hours


def test_four_parcels_in_a_hundred_are_polled_each_hour_in_any_case(
    known: Callable[..., Parcel], clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    parcel = known()
    proven()
    parcel.account.refresh_from_db()
    parcel.progress, parcel.last_scan_at = "in_transit", NOW
    monkeypatch.setattr(pace, "_random_wait", lambda: 7.0)
    assert pace.next_poll(parcel, now=NOW) == pace.Due(NOW + 7 * HOUR)
    monkeypatch.setattr(pace, "_random_wait", lambda: 700.0)
    due = pace.next_poll(parcel, now=NOW)
    assert due
    assert due.is_optional
    assert 12 * HOUR <= due.at - NOW <= 12.6 * HOUR
    monkeypatch.undo()
    drawn = sorted(pace._random_wait() for _ in range(5000))
    assert 15 < drawn[2500] < 20  # the median of four in a hundred an hour is 17.3 hours


def test_a_sample_or_a_silence_within_an_hour_of_a_poll_waits_until_that_hour_is_over(
    known: Callable[..., Parcel], clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No carrier wants to be asked about one parcel more often."""
    sampled, silent = known(), known(1)
    proven()
    for parcel in (sampled, silent):
        parcel.account.refresh_from_db()
        parcel.progress, parcel.last_scan_at = "in_transit", NOW
    monkeypatch.setattr(pace, "_random_wait", lambda: 0.2)
    assert pace.next_poll(sampled, now=NOW) == pace.Due(NOW + HOUR)
    monkeypatch.setattr(pace, "_random_wait", lambda: 700.0)
    silent.last_scan_at = NOW - 24 * HOUR + 10 * MINUTE
    assert pace.next_poll(silent, now=NOW) == pace.Due(NOW + HOUR, is_optional=True)
    poll = Poll.objects.select_related("parcel__order", "parcel__account").get(parcel=silent)
    poll.parcel.progress, poll.parcel.last_scan_at = "in_transit", silent.last_scan_at
    poll.polled_at = NOW - 30 * MINUTE
    assert pace.postponed_until(poll, now=NOW + 10 * MINUTE) == pace.Due(NOW + 30 * MINUTE, is_optional=True)
    assert pace.postponed_until(poll, now=NOW + 30 * MINUTE) is None


def test_an_optional_poll_is_skipped_while_webhooks_work_but_a_requested_one_is_not(
    known: Callable[..., Parcel], carrier: SandboxCarrier, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "_random_wait", lambda: 700.0)  # it is not drawn as a sample
    parcel = known()
    proven()
    scanned(carrier, parcel, "Pickup", is_pushed=True)
    clock.shift(1.1 * HOUR)
    polling.poll_due_parcel(parcel.pk)
    assert polls_so_far() == 0
    Poll.objects.update(due_at=timezone.now(), look_due_at=timezone.now(), is_optional=True)
    polling.poll_due_parcel(parcel.pk)
    assert polls_so_far() == 1
    Poll.schedule(parcel, timezone.now())  # somebody asked for it
    polling.poll_due_parcel(parcel.pk)
    assert polls_so_far() == 2
    Poll.objects.update(due_at=timezone.now(), is_optional=True)
    CarrierAccount.objects.update(webhook_proven_at=None)
    polling.poll_due_parcel(parcel.pk)
    assert polls_so_far() == 3


def test_a_poll_that_finds_nothing_new_is_five_statements(
    known: Callable[..., Parcel], carrier: SandboxCarrier, clock: Any
) -> None:
    parcel = known()
    scanned(carrier, parcel, "Pickup", is_pushed=False)
    ran: list[str] = []
    for _ in range(3):
        clock.shift(2 * HOUR)
        with CaptureQueriesContext(connection) as seen:
            polling.poll_due_parcel(parcel.pk)
        ran = [sql for sql in sql_of(seen) if "SAVEPOINT" not in sql]
    assert polls_so_far() == 3
    assert len(ran) == 5, "\n".join(statement[:150] for statement in ran)
    assert parcel.events.count() == 1


def test_an_unchanged_reply_is_read_again_for_another_contract_or_order(
    known: Callable[..., Parcel], carrier: SandboxCarrier, clock: Any, contract: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    parcel = known()
    read: list[int] = []
    take_scans = polling.take_scans
    monkeypatch.setattr(polling, "take_scans", lambda *of, **how: (read.append(1), take_scans(*of, **how)))

    def polled() -> int:
        read.clear()
        clock.shift(2 * HOUR)
        polling.poll_due_parcel(parcel.pk)
        return len(read)

    assert [polled(), polled()] == [1, 0]
    contract("longest_name = 90")
    assert [polled(), polled()] == [1, 0]
    Poll.schedule(parcel, timezone.now())
    assert [polled(), polled()] == [1, 0]


def test_an_unchanged_reply_still_updates_the_order(
    known: Callable[..., Parcel], carrier: SandboxCarrier, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Viewing the order may have changed it since."""
    parcel, day = known(), dt.date(2026, 11, 20)
    ask = polling._ask_carrier
    monkeypatch.setattr(
        polling, "_ask_carrier", lambda *of: dataclasses.replace(ask(*of), pickup_date=day, is_cancellable=True)
    )
    for _ in range(2):
        Order.objects.update(carrier_pickup_date=day + DAY, is_cancellable=False)
        clock.shift(2 * HOUR)
        polling.poll_due_parcel(parcel.pk)
        order = Order.objects.get()
        assert (order.carrier_pickup_date, order.is_cancellable) == (day, True)
