"""The first page shows the health of the carrier and of our own jobs: calls, errors, webhooks, due and held work."""

import datetime as dt
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import CarrierAccount, CarrierCall, Label, Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.staff import queues
from shipping_portal.staff.alerts import health
from tests import factories

MINUTE, HOUR = dt.timedelta(minutes=1), dt.timedelta(hours=1)


@pytest.fixture
def now(db: None) -> dt.datetime:
    factories.account()
    return timezone.now()


def called(operation: str, milliseconds: int, outcome: str = "ok", *, at: dt.datetime) -> None:
    CarrierCall.objects.create(
        at=at, operation=operation, method="GET", path="/x", milliseconds=milliseconds, outcome=outcome
    )


def received(at: dt.datetime, *, polled_for: str = "") -> None:
    factories.delivery(received_at=at, due_at=at, polled_for=polled_for)


def test_calls_show_by_operation_with_error_rate_and_95th_percentile(now: dt.datetime) -> None:
    for milliseconds in range(1, 101):
        called("quote", milliseconds, at=now)
    for outcome in ("ok", "rejected", "unknown", "not_sent"):
        called("book", 40, outcome, at=now)
    book, quote = health.health_strip(now).operations
    assert (quote.name, quote.calls, quote.errors, quote.p95) == ("quote", 100, 0, 95)
    assert (book.name, book.calls, book.error_percent, book.p95) == ("book", 4, 50.0, 40)


def test_one_slow_call_in_twenty_is_not_the_95th_percentile(now: dt.datetime) -> None:
    for milliseconds in [10] * 19 + [9_000]:
        called("view", milliseconds, at=now)
    assert health.health_strip(now).operations[0].p95 == 10


def test_calls_of_over_15_minutes_ago_are_left_out(now: dt.datetime) -> None:
    called("quote", 10, at=now - 14 * MINUTE)
    called("quote", 90, at=now - 16 * MINUTE)
    assert [(one.calls, one.p95) for one in health.health_strip(now).operations] == [(1, 10)]


def test_the_last_webhook_is_one_that_the_carrier_sent(now: dt.datetime) -> None:
    received(now - HOUR)
    received(now, polled_for="SPOLLED001")
    assert health.health_strip(now).last_webhook_at == now - HOUR


def test_due_work_is_counted_over_all_job_kinds_with_its_oldest(now: dt.datetime, quill: Sender, alice: User) -> None:
    factories.order(quill, alice, status="booking", due_at=now - MINUTE)
    factories.order(quill, alice, status="unconfirmed", due_at=now + MINUTE)
    booked = factories.order(quill, alice, status="booked", due_at=None)
    Label.objects.create(order=booked, size="full", due_at=now - 2 * MINUTE)
    factories.parcel(reference="SFOLD00001", due_at=now - 3 * MINUTE)
    received(now - 4 * MINUTE)
    assert health.count_backlog(now) == health.Backlog(rows=4, oldest=now - 4 * MINUTE)


def test_a_dead_letter_does_not_count_as_due(now: dt.datetime, quill: Sender, alice: User) -> None:
    factories.order(quill, alice, status="booking", due_at=now - MINUTE, parked_at=now)
    assert health.count_backlog(now) == health.Backlog(rows=0, oldest=None)


@pytest.mark.parametrize(
    ("status", "age", "late"),
    [
        *(("unconfirmed", minutes * MINUTE, "late") for minutes in (15, 119)),
        *(("unconfirmed", minutes * MINUTE, word) for minutes, word in ((14, "new"), (120, "overdue"))),
        *(("conflict", minutes * MINUTE, word) for minutes, word in ((1, "new"), (14, "late"), (15, "overdue"))),
    ],
)
def test_an_unclear_booking_is_overdue_from_2_hours_and_a_conflict_from_15_minutes(
    quill: Sender, alice: User, now: dt.datetime, status: str, age: dt.timedelta, late: str
) -> None:
    factories.order(quill, alice, status=status, created_at=now - age)
    found = {queue.url.rpartition("=")[2]: queue.urgency for queue in queues.waiting_queues(now)}
    assert found[status] == late
    assert {found[name] for name in found if name != status} == {""}


def test_the_page_says_late_in_words_and_how_old_it_is(
    staff: Client, quill: Sender, alice: User, now: dt.datetime
) -> None:
    factories.order(quill, alice, status="unconfirmed", created_at=now - 3 * HOUR)
    text = staff.get("/admin/").content.decode().replace("\N{NO-BREAK SPACE}", " ")
    assert '<span class="badge bad">3 hours, overdue</span>' in text
    assert "Due within 2 h." in text


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"paused_at": HOUR, "pause_text": "The depot is flooded."}, "Senders see: The depot is flooded."),
        ({"quotes_paused_at": HOUR, "quotes_pause_text": "No prices."}, "Senders see: No prices."),
        ({"stopped_at": HOUR, "stopped_reason": "unpaid"}, "Stopped by the carrier"),
        ({"resting_until": -MINUTE}, "On hold"),
    ],
)
def test_the_page_says_what_is_holding_up_bookings(
    staff: Client, now: dt.datetime, fields: dict[str, object], says: str
) -> None:
    assert says not in staff.get("/admin/health/").content.decode()
    instants = {name: now - value if isinstance(value, dt.timedelta) else value for name, value in fields.items()}
    CarrierAccount.objects.update(**instants)
    assert says in staff.get("/admin/health/").content.decode()


def test_a_hold_that_is_over_is_not_shown(staff: Client, now: dt.datetime) -> None:
    CarrierAccount.objects.update(resting_until=now - MINUTE)
    assert " OK\n" in staff.get("/admin/health/").content.decode()


def test_the_page_costs_the_same_queries_however_much_is_waiting(
    staff: Client, now: dt.datetime, unclear: Callable[..., Order], row: Callable[[], None]
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            staff.get("/admin/")
        return len(seen)

    queries()
    empty = queries()
    for index in range(5):
        row()
        called(f"operation {index}", 10, at=timezone.now())
    assert queries() == empty


def test_the_short_strip_takes_three_queries(now: dt.datetime) -> None:
    health.health_strip(now)
    with CaptureQueriesContext(connection) as seen:
        health.health_strip(now)
    assert len(seen) == 3
