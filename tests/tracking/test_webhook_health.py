"""After an absence every active parcel is polled soon, at the carrier's rate and not all at once."""

import datetime as dt
import logging
from collections.abc import Callable

import pytest
import time_machine
from django.db import OperationalError
from django.utils import timezone

from tests import factories
from tracking.models import LastTime, Parcel, Poll
from tracking.receiving import webhook_health

pytestmark = pytest.mark.django_db
NOW = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)
SECOND, HOUR = dt.timedelta(seconds=1), dt.timedelta(hours=1)
Contract = Callable[[str], None]


def parcels(count: int, *, due_in: dt.timedelta = 6 * HOUR) -> None:
    account = factories.account()
    made = Parcel.objects.bulk_create(
        Parcel(reference=f"SACTIVE{number:05d}", account=account, created_at=NOW) for number in range(count)
    )
    Poll.objects.bulk_create(Poll(parcel=parcel, due_at=NOW + due_in) for parcel in made)


def due_times() -> list[dt.datetime | None]:
    return sorted(Poll.objects.values_list("due_at", flat=True))


def after(absence: dt.timedelta, *, name: str = "web") -> int | None:
    webhook_health.record_beat(name, now=NOW - absence)
    return webhook_health.record_beat(name, now=NOW)


@pytest.mark.parametrize("name", ["web", "sweep"])
def test_after_an_absence_the_active_parcels_are_polled_soon(name: str) -> None:
    parcels(3)
    assert after(61 * SECOND, name=name) == 3
    assert set(due_times()) == {NOW}


def test_a_short_silence_does_not_count_as_an_absence() -> None:
    parcels(3)
    assert after(59 * SECOND) is None
    assert due_times() == [NOW + 6 * HOUR] * 3


def test_the_first_heartbeat_has_nothing_to_catch_up_on() -> None:
    parcels(3)
    assert webhook_health.record_beat("web", now=NOW) is None


def test_the_length_of_an_absence_is_shortened_with_all_other_times(settings: object) -> None:
    settings.TIME_SCALE = 0.1  # type: ignore[attr-defined]
    parcels(1)
    assert after(7 * SECOND) == 1


def test_one_of_several_web_processes_is_enough_to_be_present() -> None:
    parcels(1)
    for seconds in (90, 45):  # two processes, each of them away for longer than a minute
        webhook_health.record_beat("web", now=NOW - seconds * SECOND)
    assert webhook_health.record_beat("web", now=NOW) is None


def test_the_polls_are_spread_out_over_the_permitted_rate(contract: Contract) -> None:
    contract("tracking_per_second = 2.0")
    parcels(1000)
    after(2 * HOUR)
    slots = [(due_at - NOW).total_seconds() for due_at in due_times()]
    assert slots == [number // 20 * 10.0 for number in range(1000)]


def test_no_poll_is_later_than_it_was_due_and_finished_ones_stay_finished() -> None:
    overdue = factories.parcel(reference="SOVERDUE01", poll_due_at=NOW - HOUR)
    done = factories.parcel(reference="SDONE00001", poll_due_at=NOW)
    Poll.objects.filter(parcel=done).update(due_at=None)
    parcels(60, due_in=3 * SECOND)
    assert after(2 * HOUR) == 50  # the other ten are due before their slot
    overdue.refresh_from_db()
    done.refresh_from_db()
    assert (overdue.poll.due_at, done.poll.due_at) == (NOW - HOUR, None)
    assert not Poll.objects.filter(due_at__gt=NOW + 3 * SECOND).exists()


def test_a_poll_in_progress_is_left_alone() -> None:
    factories.parcel(reference="SPOLLED001", poll_due_at=NOW)
    held = Poll.objects.get()
    assert held.claim()
    assert webhook_health.catch_up(NOW) == 0
    assert held.finish()


def test_those_due_soonest_come_first(contract: Contract) -> None:
    contract("tracking_per_second = 0.1")
    late = factories.parcel(reference="SLATE00001", poll_due_at=NOW + 6 * HOUR)
    soon = factories.parcel(reference="SSOON00001", poll_due_at=NOW + HOUR)
    after(2 * HOUR)
    late.refresh_from_db()
    soon.refresh_from_db()
    assert soon.poll.due_at < late.poll.due_at < NOW + HOUR


def test_an_interrupted_catch_up_is_restarted_by_the_next_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    parcels(1)
    webhook_health.record_beat("web", now=NOW - HOUR)
    monkeypatch.setattr(webhook_health, "catch_up", _dies)
    with pytest.raises(ZeroDivisionError):
        webhook_health.record_beat("web", now=NOW)
    monkeypatch.undo()
    assert webhook_health.record_beat("web", now=NOW + 15 * SECOND) == 1


def _dies(now: dt.datetime) -> int:
    raise ZeroDivisionError


def test_missed_heartbeats_while_the_database_is_down_count_as_an_absence(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    parcels(1)
    monkeypatch.setattr(webhook_health.connection, "close", lambda: None)  # a test's transaction holds the only one
    heartbeat = webhook_health.Heartbeat("web")
    with time_machine.travel(NOW - HOUR, tick=False):
        heartbeat._beat_or_miss()
    with monkeypatch.context() as broken:
        broken.setattr(webhook_health, "record_beat", _away)
        heartbeat._beat_or_miss()
    assert LastTime.objects.get().at == NOW - HOUR
    with time_machine.travel(NOW, tick=False):
        heartbeat._beat_or_miss()
    assert Parcel.objects.get().poll.due_at == NOW
    messages = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert messages == ["beat_missed", "was_away"]


def _away(name: str, *, now: dt.datetime) -> None:
    raise OperationalError("gone")


def test_the_heartbeat_starts_at_once_and_stops_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    beats: list[str] = []
    monkeypatch.setattr(webhook_health, "record_beat", lambda name, now: beats.append(name))
    with webhook_health.Heartbeat("sweep") as heartbeat:
        ends = timezone.now() + 5 * SECOND
        while not beats and timezone.now() < ends:
            heartbeat.stopped.wait(0.01)
    assert beats == ["sweep"]
    assert not heartbeat.is_alive()
