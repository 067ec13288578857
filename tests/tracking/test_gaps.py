"""Webhooks that never come: polling finds every scan within its interval, and the gap meter shows it."""

import datetime as dt
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from django.conf import settings as configured
from django.test import Client
from django.utils import timezone

from orders.calling.contract import current_contract
from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.scans import read_event
from shipping_portal.jobs.sweep import Sweep
from shipping_portal.staff.alerts import health
from tests import factories, older
from tests.orders.conftest import booked, submitted
from tests.sandbox_carrier import SandboxCarrier
from tests.staff.conftest import staff
from tracking import polling
from tracking.models import Parcel, Poll, TrackingEvent
from tracking.receiving import webhook_health
from tracking.scanning import scans

__all__ = ["booked", "staff", "submitted"]  # pytest finds them here

pytestmark = pytest.mark.django_db
NOW = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)
HOUR, MINUTE = dt.timedelta(hours=1), dt.timedelta(minutes=1)


@pytest.fixture
def parcel(quill: Sender, alice: User) -> Parcel:
    """A parcel booked here, for which the carrier must send us webhooks."""
    return factories.parcel(factories.order(quill, alice, status="booked", created_at=NOW - 72 * HOUR))


def scan(parcel: Parcel, *, by: str, scanned: dt.datetime, pushed: dt.datetime | None = None) -> TrackingEvent:
    """A scan first seen by `by` five minutes after it was made. `pushed` is when its webhook arrived."""
    seen = scanned + 5 * MINUTE
    return factories.event(
        parcel,
        scan_time=scanned,
        source=by,
        received_at=seen,
        pushed_at=pushed or (seen if by == "push" else None),
        polled_at=seen if by == "poll" else None,
    )


def rows(now: dt.datetime = NOW) -> list[tuple[int, int, int]]:
    return [(row.in_time, row.late, row.only_polled) for row in health.webhook_meter(now).rows]


@pytest.mark.parametrize(
    ("after", "given"), [(dt.timedelta(minutes=2), (1, 0, 0)), (15 * MINUTE, (1, 0, 0)), (16 * MINUTE, (0, 1, 0))]
)
def test_a_webhook_is_late_from_a_quarter_of_an_hour_after_its_scan(
    parcel: Parcel, after: dt.timedelta, given: tuple[int, int, int]
) -> None:
    scanned = NOW - HOUR
    scan(parcel, by="push", scanned=scanned, pushed=scanned + after)
    assert given in rows()


def test_a_day_without_scans_has_only_zeros() -> None:
    assert rows() == [(0, 0, 0), (0, 0, 0)]
    assert health.webhook_meter(NOW).alarms == []


def test_each_scan_is_in_time_or_late_or_found_only_by_polling(parcel: Parcel) -> None:
    lately, earlier = NOW - 30 * MINUTE, NOW - 5 * HOUR
    for when in (lately, earlier):
        scan(parcel, by="push", scanned=when)
        scan(parcel, by="poll", scanned=when)
        scan(parcel, by="poll", scanned=when, pushed=when + 9 * MINUTE)
    scan(parcel, by="push", scanned=earlier, pushed=earlier + 16 * MINUTE)
    scan(parcel, by="push", scanned=NOW - 30 * HOUR)
    assert rows() == [(1, 1, 1), (2, 3, 2)]


def test_a_poll_that_only_overtook_a_webhook_does_not_count_as_a_gap(parcel: Parcel) -> None:
    when = NOW - 20 * MINUTE
    scan(parcel, by="poll", scanned=when, pushed=when + 5.5 * MINUTE)
    assert rows()[0] == (1, 0, 0)
    assert not webhook_health.found_first_by_polling(NOW).exists()


@pytest.mark.parametrize(("found", "alarmed"), [(2, False), (3, True), (30, True)])
def test_three_scans_found_first_by_polling_in_an_hour_raise_the_alarm(
    parcel: Parcel, found: int, alarmed: bool
) -> None:
    for _ in range(found):
        scan(parcel, by="poll", scanned=NOW - 30 * MINUTE)
        scan(parcel, by="poll", scanned=NOW - 70 * MINUTE)
    assert webhook_health.is_alarmed(parcel.account, NOW) == bool(health.webhook_meter(NOW).alarms) == alarmed


@pytest.fixture
def old_parcel(quill: Sender, alice: User, settings: Any) -> Parcel:
    """A parcel that is tracked at an older account."""
    made = factories.order(quill, alice, status="booked", account=older.named(settings))
    return factories.parcel(made)


def test_each_account_has_its_own_alarm(staff: Client, parcel: Parcel, old_parcel: Parcel) -> None:
    """One account's webhooks may be missing while the other's arrive. Two scans at each don't add up to three."""
    for _ in range(2):
        scan(parcel, by="poll", scanned=NOW - 30 * MINUTE)
        scan(old_parcel, by="poll", scanned=NOW - 30 * MINUTE)
    assert health.webhook_meter(NOW).alarms == []
    scan(old_parcel, by="poll", scanned=NOW - 30 * MINUTE)
    for _ in range(9):
        scan(parcel, by="push", scanned=NOW - 30 * MINUTE)
    [alarm] = health.webhook_meter(NOW).alarms
    assert (alarm.account, alarm.polled_first) == (old_parcel.account.name, 3)
    assert webhook_health.is_alarmed(old_parcel.account, NOW)
    assert not webhook_health.is_alarmed(parcel.account, NOW)
    with time_machine.travel(NOW, tick=False):
        page = " ".join(staff.get("/admin/").content.decode().split())
        found = staff.get(alarm.url).context["cl"]
    assert f"Webhooks for {old_parcel.account} are going missing: polling found 3 scans first" in page
    assert {event.account for event in found.result_list} == {old_parcel.account}
    assert rows()[0] == (9, 0, 5)


def test_each_account_with_lost_webhooks_is_logged(
    parcel: Parcel, old_parcel: Parcel, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(4):
        if number:
            scan(parcel, by="poll", scanned=NOW - 30 * MINUTE)
        scan(old_parcel, by="poll", scanned=NOW - 30 * MINUTE)
    for _ in range(2):
        health.log_alarms(NOW)
    logged = [(one.account, one.found_by_polling) for one in caplog.records if one.message == "webhook_gap"]
    assert logged == [(parcel.account.name, 3), (old_parcel.account.name, 4)]


def test_a_parcel_without_promised_webhooks_is_not_a_gap(quill: Sender, alice: User) -> None:
    for subscription in ("", "refused", "wanted"):
        watched = factories.watch(quill, alice).parcel
        Parcel.objects.filter(pk=watched.pk).update(subscription=subscription)
        scan(watched, by="poll", scanned=NOW - 30 * MINUTE)
    followed = factories.watch(quill, alice).parcel
    Parcel.objects.filter(pk=followed.pk).update(subscription="on", created_at=NOW - HOUR)
    scan(followed, by="poll", scanned=NOW - 90 * MINUTE)
    assert rows()[1] == (0, 0, 0)
    scan(followed, by="poll", scanned=NOW - 30 * MINUTE)
    assert rows()[0] == (0, 0, 1)


def test_one_line_an_hour_is_logged_however_many_sweepers_check(
    parcel: Parcel, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shipping_portal.jobs.sweep.close_old_connections", lambda: None)
    monkeypatch.setattr("shipping_portal.jobs.sweep.publish_task", lambda *message: True)
    logged = []
    for minutes in (0, 1, 59, 61):
        caplog.clear()
        with time_machine.travel(NOW + minutes * MINUTE, tick=False):
            for _ in range(3):
                scan(parcel, by="poll", scanned=timezone.now() - 10 * MINUTE)
            for _ in range(2):
                Sweep().once_or_log()
        logged.append([r.message for r in caplog.records if r.levelno == logging.ERROR])
    assert logged == [["webhook_gap"], [], [], ["webhook_gap"]]


def test_the_first_page_links_to_exactly_the_scans_the_alarm_counts(
    staff: Client, parcel: Parcel, django_assert_num_queries: Any
) -> None:
    with time_machine.travel(NOW, tick=False):
        for _ in range(4):
            scan(parcel, by="poll", scanned=NOW - 30 * MINUTE)
        scan(parcel, by="push", scanned=NOW - 30 * MINUTE)
        page = staff.get("/admin/")
        assert "polling found 4 scans first" in " ".join(page.content.decode().split())
        found = staff.get(page.context["alarms"][0].url).context["cl"]
        assert found.result_count == 4
        assert staff.get("?found=polling-day").status_code
    with django_assert_num_queries(2):  # and the clocks that are ahead
        health.webhook_meter(NOW)


def test_without_a_gap_the_first_page_raises_no_alarm(staff: Client, db: None) -> None:
    assert "get lost" not in staff.get("/admin/").content.decode()


# -- Every webhook dropped --------------------------------------------------------------------------


def pushed_to_a_listener_that_never_hears(carrier: SandboxCarrier) -> None:
    carrier.listen_at("http://carrier:a-secret@127.0.0.1:9/webhooks/tracking/")
    carrier.trouble("webhook", "drop", count=0, probability=1)


def test_each_scan_is_visible_within_one_interval_if_every_webhook_is_dropped(
    booked: Callable[..., Order], carrier: SandboxCarrier, staff: Client
) -> None:
    pushed_to_a_listener_that_never_hears(carrier)
    order = booked()
    polling.open_parcel(order.pk)
    hour = dt.timedelta(seconds=configured.POLL_SECONDS)
    for seen, word in enumerate(["Pickup", "In Transit", "Delivered"], start=1):
        parcel = Parcel.objects.get()
        asked_at = parcel.poll.polled_at or parcel.created_at
        assert parcel.poll.due_at - asked_at <= hour * 1.2
        carrier.scan(order.carrier_reference, word)
        Poll.objects.update(due_at=timezone.now())  # the interval is over
        polling.poll_due_parcel(parcel.pk)
        assert parcel.events.count() == seen
    order.refresh_from_db()
    assert order.progress == "delivered"
    assert [line for line in carrier.ledger("delivery") if line["reference"] == order.carrier_reference] == []
    assert rows(timezone.now())[0] == (0, 0, 3)
    assert "polling found 3 scans first" in " ".join(staff.get("/admin/").content.decode().split())


def test_no_parcel_is_polled_more_often_than_hourly_even_during_the_alarm(
    booked: Callable[..., Order], carrier: SandboxCarrier
) -> None:
    order = booked()
    polling.open_parcel(order.pk)
    parcel = Parcel.objects.get()
    for minutes in range(4, 0, -1):
        scanned = (timezone.now() - minutes * MINUTE).isoformat().replace("+00:00", "Z")
        carrier.scan(order.carrier_reference, "In Transit", push=False, scan_time=scanned)
        Poll.objects.update(due_at=timezone.now())
        polling.poll_due_parcel(parcel.pk)
        parcel.refresh_from_db()
        wait = (parcel.poll.due_at - parcel.poll.polled_at).total_seconds() / configured.POLL_SECONDS
        assert 1.0 <= wait <= 1.05
    assert webhook_health.is_alarmed(parcel.account, timezone.now())


def test_a_webhook_that_arrives_after_all_is_late_and_makes_no_second_scan(parcel: Parcel) -> None:
    body = {
        "carrier_reference": parcel.reference,
        "event_id": "3f0a3d1c-2f5b-4c60-8a7d-6f0c9b0e5d21",
        "event_type": "Pickup",
        "description": "Parcel picked up",
        "scan_time": (NOW - 20 * MINUTE).isoformat().replace("+00:00", "Z"),
    }
    found = scan(parcel, by="poll", scanned=NOW - 20 * MINUTE)
    duplicate = scans.scan_fingerprint(parcel.reference, read_event(json.dumps(body).encode(), _contract()))
    TrackingEvent.objects.filter(pk=found.pk).update(event_id=None, fingerprint=duplicate)
    factories.deliver(json.dumps(body).encode(), now=NOW)
    assert parcel.events.count() == 1
    assert rows()[0] == (0, 1, 0)


def _contract() -> Any:
    return current_contract()
