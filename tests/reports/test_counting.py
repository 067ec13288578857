"""The days of the reports: a job counts the days of senders with news. The result doesn't depend on how it counts."""

import datetime as dt
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.models import BillingReport
from shipping_portal.jobs import erasing
from shipping_portal.reports import counting
from shipping_portal.reports.day_figures import read_days
from shipping_portal.reports.models import Counting, DayFigures
from shipping_portal.reports.spans import Span
from tests import factories

pytestmark = pytest.mark.django_db
NOW = dt.datetime(2026, 11, 25, 1, tzinfo=dt.UTC)  # a Wednesday noon in Melbourne
TODAY = dt.date(2026, 11, 25)
Days = dict[dt.date, dict[str, Any]]


@pytest.fixture(autouse=True)
def clock() -> Any:
    with time_machine.travel(NOW, tick=False) as clock:
        yield clock


def days_of(sender: Sender) -> Days:
    return dict(DayFigures.objects.filter(sender=sender).values_list("day", "figures"))


def ago(days: float) -> dt.datetime:
    return NOW - dt.timedelta(days=days)


def delivered(sender: Sender, by: User, *, days_ago: int, **fields: Any) -> Order:
    """A parcel picked up a day before it was delivered, and expected on that day."""
    at = ago(days_ago)
    values = {
        "status": "booked", "progress": "delivered", "progress_at": at, "booked_at": ago(days_ago + 2),
        "submitted_at": ago(days_ago + 2), "eta_from": None, "eta_to": at.date(), "receiver_state": "VIC",
        "carrier_pickup_date": ago(days_ago + 1).date(),
    }  # fmt: skip
    order = factories.order(sender, by, **{**values, **fields})
    parcel = factories.parcel(order, last_scan_at=at)
    factories.event(parcel, event_type="Pickup", scan_time=ago(days_ago + 1), received_at=ago(days_ago + 1))
    factories.event(parcel, event_type="Delivered", scan_time=at, received_at=at)
    return order


def counted(sender: Sender, *, at: dt.datetime = NOW) -> None:
    """Note that all the sender's days were counted at that time."""
    factories.count_days(sender)
    Counting.objects.filter(sender=sender).update(counted_at=at, all_counted_at=at)


def due() -> set[int]:
    """Return the senders whose days the next check will count."""
    counting.mark_days_to_count(timezone.now())
    return set(Counting.objects.filter(due_at__lte=timezone.now()).values_list("pk", flat=True))


def test_each_day_has_its_deliveries_plans_and_charges(quill: Sender, alice: User) -> None:
    order = delivered(quill, alice, days_ago=3)
    factories.charge(order, "oversize", "4.00")
    counted(quill)
    assert days_of(quill) == {
        dt.date(2026, 11, 20): {"sizes": {"No saved size": [1, 1]}},
        dt.date(2026, 11, 21): {"pickups": {"On the planned day": 1}},
        dt.date(2026, 11, 22): {"promises": {"On time": 1}, "delivered": {"Victoria": [0] * 10 + [1]}},
    }


def test_counting_again_changes_nothing_and_a_removed_parcel_leaves_its_day(quill: Sender, alice: User) -> None:
    order = delivered(quill, alice, days_ago=3)
    counted(quill)
    first = days_of(quill)
    counted(quill)
    assert days_of(quill) == first
    Order.objects.filter(pk=order.pk).update(status="cancelled", cancelled_at=NOW)
    counted(quill)
    assert days_of(quill) == {}


def test_many_weeks_are_counted_in_parts_and_none_twice(quill: Sender, alice: User) -> None:
    for days_ago in range(0, 120, 7):
        delivered(quill, alice, days_ago=days_ago)
    delivered(quill, alice, days_ago=900)  # longer ago than any report shows
    counted(quill)
    on_time = [day["promises"]["On time"] for day in days_of(quill).values() if "promises" in day]
    assert on_time == [1] * 18


def test_lately_counts_the_last_fourteen_days_and_the_daily_count_those_before_them(quill: Sender, alice: User) -> None:
    counted(quill, at=ago(0.5))
    for days_ago in (1, 14, 40):
        delivered(quill, alice, days_ago=days_ago)
    Counting.objects.update(due_at=NOW)
    counting.count_due_days(quill.pk)
    assert [day for day, kept in sorted(days_of(quill).items()) if "promises" in kept] == [
        dt.date(2026, 11, 11), dt.date(2026, 11, 24),
    ]  # fmt: skip
    Counting.objects.update(due_at=NOW, all_counted_at=ago(1))
    counting.count_due_days(quill.pk)
    assert [day for day, kept in sorted(days_of(quill).items()) if "promises" in kept] == [
        dt.date(2026, 10, 16), dt.date(2026, 11, 11), dt.date(2026, 11, 24),
    ]  # fmt: skip


def test_a_sender_in_a_new_zone_has_all_days_counted_again(quill: Sender, alice: User) -> None:
    delivered(quill, alice, days_ago=40, progress_at=ago(40).replace(hour=14))  # past midnight in Melbourne
    counted(quill)
    assert dt.date(2026, 10, 17) in days_of(quill)
    Sender.objects.filter(pk=quill.pk).update(zone="Australia/Perth")
    assert due() == {quill.pk}
    counting.count_due_days(quill.pk)
    assert dt.date(2026, 10, 16) in days_of(quill)
    assert "promises" not in days_of(quill).get(dt.date(2026, 10, 17), {})


def test_days_too_old_for_any_report_are_deleted(quill: Sender, alice: User) -> None:
    delivered(quill, alice, days_ago=3)
    counted(quill)
    kept = days_of(quill)
    DayFigures.objects.create(sender=quill, day=TODAY - dt.timedelta(days=900), figures={}, late=[])
    counted(quill)
    assert days_of(quill) == kept


def test_both_periods_have_the_same_length_and_a_pickup_counts_once_its_day_is_over(quill: Sender, alice: User) -> None:
    span = Span.until(TODAY, 4, quill.tzinfo)  # a Wednesday, so Thursday to Sunday of the week before lie in neither
    for planned in (span.last, span.last - dt.timedelta(days=1), span.first, span.first - dt.timedelta(days=1)):
        factories.order(quill, alice, status="booked", booked_at=ago(60), carrier_pickup_date=planned)
    factories.order(quill, alice, status="booked", booked_at=ago(60), carrier_pickup_date=span.before.last)
    counted(quill)
    found = read_days(alice, quill, span)
    assert (found.now.pickups.total(), found.before.pickups.total()) == (2, 1)
    counted(quill)
    tomorrow = Span.until(TODAY + dt.timedelta(days=1), 4, quill.tzinfo)
    assert read_days(alice, quill, tomorrow).now.pickups.total() == 3


def test_an_erased_account_has_no_days(quill: Sender, alice: User) -> None:
    delivered(quill, alice, days_ago=3)
    counted(quill)
    erasing.erase({"sender": [quill.pk]})
    assert days_of(quill) == {}


def test_every_sender_is_counted_once_and_then_those_with_news(quill: Sender, alice: User, bob: User) -> None:
    other = bob.membership.sender
    assert due() == {quill.pk, other.pk}
    for pk in (quill.pk, other.pk):
        counting.count_due_days(pk)
    assert due() == set()
    factories.event(factories.parcel(factories.order(other, alice, status="booked", submitted_at=ago(9))))
    assert due() == {other.pk}
    counting.count_due_days(other.pk)
    factories.order(quill, alice, submitted_at=NOW)
    assert quill.pk in due()


@pytest.mark.parametrize(("counted_ago", "is_due"), [(0.9, False), (1.0, True), (3.0, True)])
def test_all_days_are_counted_once_a_day(quill: Sender, counted_ago: float, is_due: bool) -> None:
    counted(quill)
    Counting.objects.update(all_counted_at=ago(counted_ago))
    assert due() == ({quill.pk} if is_due else set())


def test_a_posted_report_has_all_days_of_its_senders_counted(quill: Sender, alice: User) -> None:
    order = delivered(quill, alice, days_ago=60)
    counted(quill)
    report: BillingReport = factories.billing_report(state="posted", ended_at=NOW)
    factories.charge(order, "oversize", "4.00", report=report, posted_at=NOW)
    assert due() == {quill.pk}
    counting.count_due_days(quill.pk)
    assert days_of(quill)[ago(62).date()]["sizes"] == {"No saved size": [1, 1]}


def test_changes_between_two_checks_are_found(quill: Sender, alice: User, clock: Any) -> None:
    counted(quill, at=NOW)
    clock.shift(dt.timedelta(hours=1))
    delivered(quill, alice, days_ago=0)
    clock.shift(dt.timedelta(hours=5))
    assert due() == {quill.pk}


def test_many_senders_take_turns(quill: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "IN_A_TURN", 2)
    for number in range(4):
        factories.sender(name=str(number))
    counting.mark_days_to_count(NOW)
    waits = sorted((at - NOW).total_seconds() for at in Counting.objects.values_list("due_at", flat=True) if at)
    assert waits == [0, 0, 10, 10, 20]


def test_a_sender_already_waiting_keeps_its_place(quill: Sender) -> None:
    counting.schedule_days(quill, ago(0.1))
    due()
    assert Counting.objects.get().due_at == ago(0.1)


def test_one_check_takes_the_same_queries_for_any_number_of_senders(
    quill: Sender, alice: User, django_assert_num_queries: Any
) -> None:
    for number in range(5):
        factories.pickup_address(factories.sender(name=str(number)), email=alice.email)
    for sender in Sender.objects.exclude(pk=quill.pk):
        factories.order(sender, alice, submitted_at=NOW)
    counting.mark_days_to_count(NOW)
    with django_assert_num_queries(7):
        counting.mark_days_to_count(NOW)
