"""Nobody came: the sender's calendar decides, whatever words the carrier uses. The operator gets one task."""

import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from django.test import Client

from orders.cancelling.cancel_rules import can_cancel
from orders.models import Order
from orders.models.statuses import Progress
from shipping_portal.accounts.models import Sender, User
from shipping_portal.staff import queues
from tests import factories
from tests.pages.typed import text
from tracking.models import EventWord
from tracking.scanning import projecting

pytestmark = pytest.mark.django_db
Waiting = Callable[..., Order]

# Melbourne: +11 in November. Tuesday 3 November 2026 is Melbourne Cup Day, a holiday in Victoria only.
FRIDAY = dt.date(2026, 10, 30)
MONDAY, CUP_DAY, WEDNESDAY, THURSDAY = (dt.date(2026, 11, day) for day in (2, 3, 4, 5))


def melbourne(day: dt.date, hour: int = 12) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(hour), dt.timezone(dt.timedelta(hours=11)))


@pytest.fixture
def waiting(quill: Sender, alice: User) -> Waiting:
    """`waiting()` is an order booked for pickup in Fitzroy on a Monday and never scanned."""

    def make(**fields: Any) -> Order:
        at = melbourne(dt.date(2026, 10, 29))
        given = {"status": "booked", "carrier_pickup_date": MONDAY, "booked_at": at, "created_at": at}
        return factories.order(quill, alice, **given | fields)

    return make


def misses(order: Order, *, at: dt.datetime) -> int:
    """Return 0, 1 or 2. The page, the cancel check and the admin's queue must agree."""
    order.refresh_from_db()
    is_missed = order.shown_progress(at) == Progress.PICKUP_MISSED
    is_twice = order.missed_twice(at)
    operators = Order.objects.filter(queues.missed_twice(at), pk=order.pk).exists()
    assert operators == is_twice
    assert not (is_missed and can_cancel(order, at))
    return is_missed + is_twice


def scanned(order: Order, kind: str, at: dt.datetime) -> None:
    parcel = getattr(order, "parcel", None) or factories.parcel(order)
    factories.event(parcel, event_type=kind, scan_time=at, event_id=uuid.uuid4())
    with time_machine.travel(at, tick=False):
        projecting.project_parcels(parcel.pk)


def test_the_pickup_day_is_over_at_midnight_where_the_parcel_waits(waiting: Waiting) -> None:
    order = waiting()
    assert misses(order, at=melbourne(MONDAY, 23)) == 0
    assert misses(order, at=melbourne(CUP_DAY, 0)) == 1  # 13:00 on Monday in UTC


def test_a_sender_in_america_has_its_own_day() -> None:
    seattle = factories.sender(name="Rain", country="US")
    person = factories.user("rain@rain.example")
    factories.member(seattle, person)
    factories.pickup_address(seattle, email=person.email)
    order = factories.order(seattle, person, status="booked", carrier_pickup_date=MONDAY)
    assert misses(order, at=dt.datetime(2026, 11, 3, 7, 59, tzinfo=dt.UTC)) == 0  # 23:59 in Los Angeles
    assert misses(order, at=dt.datetime(2026, 11, 3, 8, 0, tzinfo=dt.UTC)) == 1


@pytest.mark.parametrize(
    ("day", "expected"), [(CUP_DAY, 1), (WEDNESDAY, 1), (THURSDAY, 2)], ids=["holiday", "next", "after"]
)
def test_a_second_driver_is_not_expected_on_a_state_holiday(waiting: Waiting, day: dt.date, expected: int) -> None:
    assert misses(waiting(), at=melbourne(day)) == expected


def test_the_same_day_is_not_a_holiday_in_another_state(waiting: Waiting) -> None:
    order = waiting()
    in_sydney = {**order.pickup, "state": "NSW", "suburb": "SYDNEY", "postcode": "2000"}
    Order.objects.filter(pk=order.pk).update(pickup=in_sydney)
    assert misses(order, at=melbourne(WEDNESDAY)) == 2


def test_a_second_driver_is_not_expected_at_the_weekend(waiting: Waiting) -> None:
    order = waiting(carrier_pickup_date=FRIDAY)
    assert misses(order, at=melbourne(dt.date(2026, 11, 1))) == 1
    assert misses(order, at=melbourne(MONDAY)) == 1
    assert misses(order, at=melbourne(CUP_DAY)) == 2


@pytest.mark.parametrize("first_mile", ["drop-off", ""])
def test_a_drop_off_is_never_missed(waiting: Waiting, first_mile: str) -> None:
    assert misses(waiting(first_mile=first_mile), at=melbourne(THURSDAY)) == 0


@pytest.mark.parametrize("status", ["booking", "unconfirmed", "cancelling", "cancelled"])
def test_only_a_booked_parcel_waits_for_a_driver(waiting: Waiting, status: str) -> None:
    fields: dict[str, Any] = {"status": status}
    if status in {"booking", "unconfirmed"}:
        fields["booked_at"] = None
    assert misses(waiting(**fields), at=melbourne(THURSDAY)) == 0


def test_a_blank_date_is_the_next_business_day_after_booking(waiting: Waiting) -> None:
    order = waiting(carrier_pickup_date=None, pickup_date=None)  # booked on a Thursday
    assert misses(order, at=melbourne(FRIDAY)) == 0
    assert misses(order, at=melbourne(FRIDAY + dt.timedelta(days=1))) == 1
    assert misses(order, at=melbourne(CUP_DAY)) == 2


def test_the_requested_date_counts_until_the_carrier_gives_one(waiting: Waiting) -> None:
    order = waiting(carrier_pickup_date=None, pickup_date=MONDAY)
    assert misses(order, at=melbourne(MONDAY)) == 0
    assert misses(order, at=melbourne(CUP_DAY)) == 1


@pytest.mark.parametrize("kind", ["Pickup", "In Transit", "Delivered", "Pickup Attempted"])
def test_a_missed_pickup_ends_with_a_scan_that_shows_progress(waiting: Waiting, kind: str) -> None:
    order = waiting()
    assert misses(order, at=melbourne(THURSDAY)) == 2
    scanned(order, kind, melbourne(MONDAY))
    assert misses(order, at=melbourne(THURSDAY)) == 0


@pytest.mark.parametrize("kind", ["Info", "Grabbed by a colleague", "Teleported"])
def test_a_missed_pickup_ends_with_any_scan_after_its_day(waiting: Waiting, kind: str) -> None:
    order = waiting()
    scanned(order, kind, melbourne(CUP_DAY, 9))
    assert order.parcel.progress == ""
    assert misses(order, at=melbourne(THURSDAY)) == 0


def test_scans_of_the_booking_itself_do_not_hide_a_missed_pickup(waiting: Waiting) -> None:
    order = waiting()
    scanned(order, "Info", melbourne(FRIDAY))
    assert misses(order, at=melbourne(THURSDAY)) == 2


def test_an_unknown_word_on_the_pickup_day_counts_once_an_operator_maps_it(waiting: Waiting) -> None:
    order = waiting()
    scanned(order, "Grabbed", melbourne(MONDAY))
    assert misses(order, at=melbourne(CUP_DAY)) == 1
    EventWord.objects.create(word="grabbed", progress="collected", first_seen_at=melbourne(MONDAY))
    projecting.project_parcels(order.parcel.pk)
    assert misses(order, at=melbourne(CUP_DAY)) == 0


def test_a_missed_pickup_ends_with_a_new_date_until_that_day_is_over(waiting: Waiting) -> None:
    order = waiting()
    assert misses(order, at=melbourne(THURSDAY)) == 2
    order.note_pickup_date(THURSDAY)
    assert misses(order, at=melbourne(THURSDAY)) == 0
    assert misses(order, at=melbourne(THURSDAY + dt.timedelta(days=1))) == 1


def test_the_second_miss_mentions_a_refund_and_makes_one_task(
    waiting: Waiting, alice: User, visit: Callable[[User], Client]
) -> None:
    order = waiting()
    for day, said, tasks in (
        (CUP_DAY, "If it's missed again, you may get a refund", 0),
        (THURSDAY, "Missed twice: you may get a refund", 1),
        (THURSDAY + dt.timedelta(days=5), "Missed twice: you may get a refund", 1),
    ):
        with time_machine.travel(melbourne(day), tick=False):
            assert said in text(visit(alice).get(f"/parcels/{order.uuid}/"))
            queue = next(q for q in queues.waiting_queues(melbourne(day)) if "missed-twice" in q.url)
            assert queue.count == tasks


def test_an_unused_label_leaves_the_admin_when_polling_gives_up(waiting: Waiting) -> None:
    order = waiting()
    much_later = melbourne(MONDAY) + dt.timedelta(days=60)
    assert order.missed_twice(much_later)
    assert not Order.objects.filter(queues.missed_twice(much_later)).exists()
