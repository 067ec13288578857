"""Reminders depend only on the clock: a driver who didn't come, or a label to print this morning. Each is sent once."""

import datetime as dt
from typing import Any

import pytest
from django.utils import timezone

from orders.models import Order
from orders.notices import notifications, reminders
from orders.status.transitions import advance
from shipping_portal.accounts.models import Notification, Sender, User
from tests import factories

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)
TUESDAY = dt.datetime(2026, 11, 24, 2, tzinfo=dt.UTC)


def lines(now: dt.datetime) -> list[str]:
    reminders.send_due_reminders(now)
    return list(Notification.objects.order_by("pk").values_list("line", flat=True))


def waiting(of: Sender, by: User, now: dt.datetime, **fields: Any) -> Order:
    """A parcel booked the day before."""
    return factories.order(of, by, status="booked", booked_at=now - DAY, **fields)


@pytest.mark.parametrize("field", ["carrier_pickup_date", "pickup_date", None])
def test_a_pickup_without_a_scan_is_missed_the_day_after(quill: Sender, alice: User, field: str | None) -> None:
    waiting(quill, alice, TUESDAY, **({field: TUESDAY.date()} if field else {}))
    assert lines(TUESDAY) == []
    [line] = lines(TUESDAY + DAY)
    assert "STEST00000" in line
    assert Notification.objects.get().kind == "pickup"


@pytest.mark.parametrize("field", ["carrier_pickup_date", "pickup_date", None])
def test_a_missed_pickup_is_reported_once_however_long_no_driver_comes(
    quill: Sender, alice: User, field: str | None
) -> None:
    waiting(quill, alice, TUESDAY, **({field: TUESDAY.date()} if field else {}))
    assert [len(lines(TUESDAY + DAY * days)) for days in range(8)] == [0, 1, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("hour", "field", "printed", "count"),
    [
        (6, "carrier_pickup_date", False, 0),
        (7, "carrier_pickup_date", False, 1),
        (7, "pickup_date", False, 1),
        (7, "quoted_pickup_date", False, 1),
        (7, "carrier_pickup_date", True, 0),
        (8, "carrier_pickup_date", False, 1),
        (9, "carrier_pickup_date", False, 0),
        (12, "carrier_pickup_date", False, 0),
    ],
)
def test_a_label_to_print_sends_a_reminder_on_the_morning_of_its_pickup(
    quill: Sender, alice: User, hour: int, field: str, printed: bool, count: int
) -> None:
    now = dt.datetime(2026, 11, 24, hour, 30, tzinfo=quill.tzinfo)
    waiting(quill, alice, now, printed_at=now if printed else None, **{field: now.date()})
    assert len(lines(now.astimezone(dt.UTC))) == count  # in UTC, which is a day behind in the morning


def test_more_parcels_than_one_batch_all_get_a_reminder(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reminders, "BATCH", 2)
    now = timezone.now()
    for _ in range(3):
        waiting(quill, alice, now - 8 * DAY, carrier_pickup_date=now.date() - 4 * DAY)
    assert len(lines(now)) == 3


def test_a_reminder_already_sent_is_not_built_again(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    morning = dt.datetime(2026, 11, 24, 7, 30, tzinfo=quill.tzinfo)
    waiting(quill, alice, morning, carrier_pickup_date=morning.date())
    waiting(quill, alice, morning - 2 * DAY, carrier_pickup_date=morning.date() - DAY)
    assert len(lines(morning)) == 2
    monkeypatch.setattr(notifications, "masked_name", None)  # what builds every event
    assert len(lines(morning)) == 2
    waiting(quill, alice, morning, carrier_pickup_date=morning.date())
    with pytest.raises(TypeError):
        lines(morning)


def test_a_missed_pickup_reported_by_a_scan_is_not_reported_again_by_the_clock(quill: Sender, alice: User) -> None:
    now = timezone.now()
    order = waiting(quill, alice, now - 2 * DAY, carrier_pickup_date=(now - DAY).date())
    advance(order, "pickup_missed", at=now)
    Order.objects.update(progress="", progress_at=None)  # as if the scan were read after the check
    assert len(lines(now)) == 1
