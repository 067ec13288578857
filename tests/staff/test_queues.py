"""The first page counts what is waiting, and each count opens exactly that list."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.calling.contract import current_contract
from orders.models import CancelAttempt, CarrierAccount, CarrierCall, DailySpend, Label, Order
from orders.status.transitions import move_to
from shipping_portal.accounts.adminkit.filters import now_of
from shipping_portal.accounts.adminkit.queues import urgency
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing import queues as billing_queues
from shipping_portal.billing.models import ChargeWord, Dispute, week_of
from shipping_portal.jobs.models import DeadLetter
from shipping_portal.staff import casework, queues
from tests import factories, older
from tracking.models import EventWord, Watch

NOW = timezone.now()
LONG_AGO = dt.timedelta(hours=2)


@pytest.fixture
def everything(unclear: Callable[..., Order], quill: Sender, alice: User) -> None:
    """One of each thing that is waiting, and one of each that isn't."""
    now = timezone.now()
    unclear(sent_at=now - LONG_AGO)
    unclear(status="conflict")
    for days in (0, 3):
        refused, at = factories.order(quill, alice, status="booking"), now - dt.timedelta(days=days)
        move_to(refused, "rejected", reason="-", at=at)
    stuck = factories.order(quill, alice, status="cancelling", due_at=now)
    CancelAttempt.objects.create(order=stuck, why="not needed", asked_at=now - LONG_AGO)
    fresh = factories.order(quill, alice, status="cancelling", due_at=now)
    CancelAttempt.objects.create(order=fresh, why="not needed", asked_at=now)
    twice = unclear(seen_reference="SSECOND001", duplicate_booking_at=now)
    Order.objects.filter(pk=twice.pk).update(
        status="booked", carrier_reference="STWICE0001", booked_at=now, carrier_pickup_date=now.date()
    )
    waiting = factories.order(quill, alice, status="cancel_asked", due_at=now)
    waiting.cancels.create(why="not sending it", state="unknown", asked_at=now - 31 * DAY)
    used = factories.order(quill, alice, status="cancelled", used_after_cancel_at=now)
    factories.order(quill, alice, status="booked", carrier_pickup_date=now.date() - dt.timedelta(days=9))
    factories.order(quill, alice, status="booked", carrier_pickup_date=now.date())
    factories.order(quill, alice, status="booked", progress="pickup_futile", progress_at=now)
    without_label = factories.order(quill, alice, status="booked")
    Label.objects.create(order=without_label, size="full", state="failed")
    Label.objects.create(order=without_label, size="cropped", state="pending")
    Label.objects.create(order=used, size="full", state="failed")
    factories.sender(approved_at=None)
    declined = {"suspended_at": now, "suspension": "terms"}
    factories.sender(approved_at=None, **declined)
    CarrierAccount.objects.update(
        stopped_at=now, paused_at=now, fault_at=now, fault_since=now, fault="metadata.partner_id: can't be blank"
    )
    factories.order(quill, alice, status="booked", account=older.unnamed())
    DeadLetter.objects.create(job="fold", row=7, failures=5, parked_at=now)
    factories.parcel(reference="SNOBODY001", last_scan_at=now)
    factories.parcel(reference=current_contract().nobodys_reference, last_scan_at=now)
    watched = factories.parcel(reference="SWATCHED01", last_scan_at=now)
    Watch.objects.create(sender=quill, parcel=watched, made_by=alice, made_at=now)
    for state in ("quarantined", "stored", "duplicate"):
        factories.delivery(received_at=now, state=state)
    for rows in (0, 3):
        call = {"operation": "quote", "method": "GET", "path": "/x", "milliseconds": 9, "outcome": "ok"}
        CarrierCall.objects.create(at=now, unreadable=rows, **call)
    DailySpend.objects.create(day=now.date(), spent=50_000, refused_at=now, mended=2, mended_at=now)
    long_over = now - dt.timedelta(days=16)
    DailySpend.objects.create(day=long_over.date(), refused_at=long_over, mended=1, mended_at=long_over)
    EventWord.objects.create(word="with sorter", first_seen_at=now)
    EventWord.objects.create(word="at depot", progress="in_transit", is_known=True, first_seen_at=now)
    money_matters(quill, alice, now)


def money_matters(quill: Sender, alice: User, now: dt.datetime) -> None:
    """One of each thing waiting in the carrier's reports: two posted weeks and this one."""
    weeks = [week_of(now.date()) - dt.timedelta(weeks=ago) for ago in (5, 3)]
    first, second = (factories.billing_report(week=week) for week in weeks)
    long_ago = dt.datetime.combine(weeks[0], dt.time(9), dt.UTC)
    factories.billing_report(state="damaged", problems=[[2, "It has 3 cells where the header has 14."]])
    factories.billing_report(state="checked", stated={"AUD": "1.00"})
    factories.billing_report(state="checked")
    factories.billing_report(state="void")
    ChargeWord.objects.create(word="fuel levy", first_seen_at=now)
    ChargeWord.objects.create(word="order invoiced", meaning="order", first_seen_at=now)
    factories.charge(None, report=first)
    factories.charge(None, report=first, is_repeat=True, posted_at=None)
    factories.charge(None, report=first, held="twice", posted_at=None)
    factories.charge(None, report=first, held="twice", posted_at=None, decision="leave")
    factories.charge(None, report=factories.billing_report(state="void"), held="twice", posted_at=None)
    gone = {"status": "cancelled", "booked_at": long_ago, "cancelled_at": long_ago, "created_at": long_ago}
    factories.charge(factories.order(quill, alice, **gone), report=first)
    used_label = factories.order(quill, alice, **{**gone, "cancelled_at": now})
    factories.charge(used_label, "un-cancellation", report=second)
    free = {"status": "booked", "booked_at": long_ago, "created_at": long_ago, "progress": "delivered"}
    factories.order(quill, alice, **free, reserved_on=long_ago.date(), reserved=12, unbilled=12)
    dear = factories.charge(
        factories.order(quill, alice, status="booked"), amount="19.08", report=second, is_unexpected=True
    )
    dispute = {"sender": quill, "made_by": alice, "made_at": now, "text": "It was 12.08."}
    Dispute.objects.create(charge=dear, **dispute)
    Dispute.objects.create(charge=dear, **dispute, state="declined", answer="It was not.", answered_at=now)


@pytest.mark.postgres
def test_each_waiting_thing_is_counted_once(everything: None) -> None:
    counts = {queue.title: queue.count for queue in queues.waiting_queues(timezone.now())}
    assert {title: count for title, count in counts.items() if count != 1} == {}
    assert len(counts) == 33


@pytest.mark.postgres
def test_each_waiting_thing_becomes_overdue_after_its_limit(everything: None) -> None:
    """Things that leave their queue before the limit alert nobody. A refusal is up to its sender."""
    first = {queue.name: queue for queue in queues.waiting_queues(NOW) if queue.name != "order-refused"}
    late = {
        name: next(later.urgency for later in queues.waiting_queues(queue.oldest + queue.term) if later.name == name)
        for name, queue in first.items()
        if queue.oldest
    }
    assert len(late) == 32
    assert {name for name, urgency in late.items() if urgency != "overdue"} == set()


def test_a_booking_given_up_after_a_day_is_among_the_last_days_refusals(quill: Sender, alice: User, db: None) -> None:
    tried_for_a_day = factories.order(quill, alice, status="booking", created_at=NOW - dt.timedelta(hours=25))
    long_ago = factories.order(quill, alice, status="booking", created_at=NOW - dt.timedelta(hours=50))
    for order, at in ((tried_for_a_day, NOW), (long_ago, NOW - dt.timedelta(hours=25))):
        move_to(order, "rejected", reason="could not be sent for 24 hours", at=at)
    refused = queues.refused_lately
    assert list(Order.objects.filter(refused(timezone.now()))) == [tried_for_a_day]


def test_each_count_opens_exactly_its_list(staff: Client, everything: None) -> None:
    for queue in queues.waiting_queues(timezone.now()):
        assert staff.get(queue.url).context["cl"].result_count == queue.count, queue.title


def test_the_first_page_takes_as_many_queries_when_every_queue_has_work(
    staff: Client, everything: None, django_assert_max_num_queries: Any
) -> None:
    staff.get("/admin/")
    with django_assert_max_num_queries(15):
        assert staff.get("/admin/").context["lines"]


@pytest.mark.parametrize("name", billing_queues.ORDERS)
def test_the_orders_of_a_billing_queue_are_looked_up_once(staff: Client, everything: None, name: str) -> None:
    with CaptureQueriesContext(connection) as seen:
        assert staff.get(f"/admin/orders/order/?needs={name}").context["cl"].result_count == 1
    keys = 'SELECT "orders_order"."id" AS "pk" FROM "orders_order" WHERE ("orders_order"."submitted_at"'
    assert len([query for query in seen if keys in query["sql"]]) == 1


def test_an_orders_page_names_its_queue_even_if_the_queues_list_is_cut_short(
    staff: Client, everything: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (key,) = Order.objects.filter(now_of(billing_queues.ORDERS["not-refunded"].rule, NOW)).values_list("pk", flat=True)
    monkeypatch.setattr(billing_queues, "MOST_LISTED", 0)
    assert "Cancelled, not refunded after two reports" in [
        queue.title for queue in staff.get(f"/admin/orders/order/{key}/change/").context["waits"]
    ]


def test_a_queue_of_more_than_a_thousand_says_so(staff: Client, quill: Sender, alice: User) -> None:
    one = factories.order(quill, alice, status="booked", account=older.unnamed())
    Order.objects.bulk_create(factories.copy_of(one, number) for number in range(1000))
    assert "1,000+" in staff.get("/admin/").content.decode()


def test_each_queues_list_shows_its_limit_and_the_first_pages_ages(staff: Client, everything: None) -> None:
    ages = {line.queue.title: (line.tone, _word(line.age)) for line in staff.get("/admin/").context["lines"]}
    for queue in queues.waiting_queues(timezone.now()):
        if queue.name == "carrieraccount-held":  # the start is on the account's row, in several columns
            continue
        page = staff.get(queue.url)
        head = page.context["queue"]
        assert (head["tone"], _word(head["age"])) == ages[queue.title], queue.title
        text = unescape(page.content.decode())
        assert f"<b>{queue.title}</b>: 1, due {queue.within}." in text
        assert text.count(f'<span class="badge {head["tone"]}">{head["age"]}</span>') == 2, queue.title  # plus its row


def test_a_queues_list_starts_with_the_longest_waiting(staff: Client, unclear: Callable[..., Order]) -> None:
    orders = [unclear() for _ in range(3)]
    for order, hours in zip(orders, (2, 3, 1), strict=True):
        Order.objects.filter(pk=order.pk).update(created_at=NOW - dt.timedelta(hours=hours))
    page = staff.get("/admin/orders/order/?needs=unconfirmed")
    assert list(page.context["cl"].result_list) == [orders[1], orders[0], orders[2]]


def _word(age: str) -> str:
    return age.rpartition(", ")[2]  # apart from the minutes, which keep counting


def test_a_list_that_is_not_a_queue_shows_no_limit(staff: Client, everything: None) -> None:
    for query in ("", "?needs=unconfirmed-long", "?needs=nonsense"):
        page = staff.get(f"/admin/orders/order/{query}")
        assert "queue" not in page.context
        assert "to be done" not in page.content.decode()


@pytest.mark.parametrize(
    ("other", "order", "count"),
    [
        ({"state": "pending"}, {}, 0),
        ({"state": "stored", "sha256": "0" * 64, "length": 9, "stored_at": NOW}, {}, 0),
        ({"state": "failed"}, {}, 2),
        ({"state": "absent"}, {}, 2),
        ({"state": "absent"}, {"progress": "pickup_missed"}, 2),
        ({"state": "absent"}, {"progress": "collected"}, 0),
        ({"state": "absent"}, {"status": "cancelled"}, 0),
    ],
)
def test_a_missing_label_size_is_queued_only_if_nothing_can_be_printed(
    quill: Sender, alice: User, other: dict[str, Any], order: dict[str, Any], count: int
) -> None:
    made = factories.order(quill, alice, **{"status": "booked", **order})
    made.labels.create(size="full", state="absent")
    made.labels.create(size="cropped", **other)
    labels = next(queue for queue in queues.waiting_queues(NOW) if queue.title == "Labels not fetched")
    assert labels.count == count


def test_unclear_bookings_show_the_age_of_the_oldest(everything: None) -> None:
    unclear = next(queue for queue in queues.waiting_queues(timezone.now()) if queue.url.endswith("needs=unconfirmed"))
    assert unclear.oldest == Order.objects.get(status="unconfirmed").created_at


@pytest.mark.postgres
def test_an_order_waits_from_when_its_bills_showed_it(staff: Client, quill: Sender, alice: User) -> None:
    """Not from when it was made, weeks earlier: an order of three weeks ago would be overdue at once."""
    now, day = timezone.now(), DAY
    weeks = [week_of(now.date()) - dt.timedelta(weeks=ago) for ago in (5, 4, 3)]
    reports = [
        factories.billing_report(week=week, ended_at=now - days * day)
        for week, days in zip(weeks, (9, 5, 2), strict=True)
    ]
    factories.billing_report(week=weeks[0], ended_at=now - 8 * day)  # a week's second file is no second week
    then = dt.datetime.combine(weeks[0] + dt.timedelta(days=6), dt.time(23), dt.UTC)
    old = {"booked_at": then, "created_at": then}
    gone = old | {"status": "cancelled", "cancelled_at": then}
    factories.charge(factories.order(quill, alice, **gone), report=reports[0])
    used = factories.order(quill, alice, **(gone | {"cancelled_at": now}))
    factories.charge(used, "un-cancellation", report=reports[2])
    factories.order(quill, alice, status="booked", **old, reserved_on=then.date(), reserved=12, unbilled=12)
    dear = factories.order(quill, alice, status="booked", **old)
    factories.charge(dear, amount="19.08", report=reports[2], is_unexpected=True)
    found = {queue.name: queue for queue in queues.waiting_queues(now)}
    for name, days in {
        "charged-after-cancelling": 2,
        "not-refunded": 5,
        "charged-otherwise": 2,
        "never-charged": 5,
    }.items():
        one = found[f"order-{name}"]
        assert (name, one.count, one.oldest, one.urgency) == (name, 1, now - days * day, "late")
        assert staff.get(one.url).context["queue"]["age"] == f"{days}\xa0days, this week"


def test_a_price_changed_at_booking_waits_from_then_until_it_is_billed(quill: Sender, alice: User) -> None:
    now = timezone.now()
    changed = {"unagreed_price": Decimal("19.08"), "booked_at": now - 2 * DAY, "created_at": now - 9 * DAY}
    factories.order(quill, alice, status="booked", **changed)
    found = {queue.name: queue.oldest for queue in queues.waiting_queues(now)}
    assert found["order-charged-otherwise"] == now - 2 * DAY


@pytest.mark.parametrize(
    ("dates", "since"),
    [
        ({"carrier_pickup_date": "2026-11-25"}, "2026-11-27"),  # a Wednesday: Wednesday and Thursday
        ({"carrier_pickup_date": "2026-11-26"}, "2026-11-28"),
        ({"carrier_pickup_date": "2026-11-27"}, "2026-12-01"),  # a Friday: Friday and Monday
        ({"carrier_pickup_date": "2026-11-29"}, "2026-12-01"),
        ({"pickup_date": "2026-11-25"}, "2026-11-27"),
        ({"quoted_pickup_date": "2026-11-25"}, "2026-11-27"),
        ({}, "2026-11-27"),  # booked on the 24th, so its day was the 25th
    ],
)
@pytest.mark.postgres
def test_two_missed_pickups_wait_from_the_day_after_the_second(
    quill: Sender, alice: User, dates: dict[str, str], since: str
) -> None:
    days = {name: dt.date.fromisoformat(day) for name, day in dates.items()}
    none = {"carrier_pickup_date": None, "pickup_date": None, "quoted_pickup_date": None}
    booked_at = dt.datetime(2026, 11, 24, 1, tzinfo=dt.UTC)
    order = factories.order(quill, alice, status="booked", booked_at=booked_at, created_at=booked_at, **none | days)
    start = dt.datetime.fromisoformat(f"{since}T00:00Z")
    assert not order.missed_twice(start - DAY / 2 - HOUR), "in Sydney it is still the second day"
    assert order.missed_twice(start + HOUR)
    found = {queue.name: queue for queue in queues.waiting_queues(start + 5 * HOUR)}
    assert (found["order-missed-twice"].oldest, found["order-missed-twice"].urgency) == (start, "late")


def test_a_second_order_waits_from_its_answer(unclear: Callable[..., Order]) -> None:
    now = timezone.now()
    unclear(seen_reference="SSECOND001", duplicate_booking_at=now - 3 * HOUR)
    Order.objects.update(created_at=now - 9 * DAY, status="booked", carrier_reference="STWICE0001", booked_at=now)
    found = {queue.name: queue.oldest for queue in queues.waiting_queues(now)}
    assert found["order-second-order"] == now - 3 * HOUR


def test_an_old_order_that_only_just_became_unclear_is_not_late(unclear: Callable[..., Order]) -> None:
    """Its age counts from when it last became unclear, not from later changes, and its own page shows that."""
    now = timezone.now()
    order = unclear(status="conflict")
    Order.objects.update(created_at=now - LONG_AGO)
    for new, old, minutes in [
        ("unconfirmed", "booking", 90),
        ("not_booked", "unconfirmed", 80),
        ("unconfirmed", "booking", 9),
        ("conflict", "unconfirmed", 3),
    ]:
        order.changes.create(old=old, new=new, at=now - dt.timedelta(minutes=minutes), reason="-")
    conflict = next(queue for queue in queues.waiting_queues(now) if queue.url.endswith("needs=conflict"))
    assert (conflict.oldest, conflict.urgency) == (now - dt.timedelta(minutes=9), "late")


@pytest.mark.parametrize(("age", "found"), [(dt.timedelta(minutes=9), 0), (dt.timedelta(minutes=11), 1)])
def test_unclear_for_over_ten_minutes_is_a_list_of_its_own(
    staff: Client, unclear: Callable[..., Order], age: dt.timedelta, found: int
) -> None:
    unclear(sent_at=timezone.now() - age)
    page = staff.get("/admin/orders/order/?needs=unconfirmed-long")
    assert page.context["cl"].result_count == found


def test_if_nothing_needs_attention_the_admin_says_so_and_collapses_its_queues(staff: Client) -> None:
    text = staff.get("/admin/").content.decode()
    assert "Nothing needs you" in text
    assert "33 empty queues" in text
    assert "None yet" in text


def test_the_page_of_one_app_lists_it_without_queues(staff: Client, everything: None) -> None:
    text = staff.get("/admin/billing/").content.decode()
    assert "Billing reports" in text
    assert "Nothing needs you" not in text
    assert "empty queue" not in text


def test_the_first_page_shows_only_queues_with_work_most_urgent_first(
    staff: Client, unclear: Callable[..., Order], quill: Sender
) -> None:
    for minutes, status in ((1, "conflict"), (90, "unconfirmed")):
        order = unclear(status=status)
        Order.objects.filter(pk=order.pk).update(created_at=timezone.now() - minutes * MINUTE)
    shown = [(line.queue.title, line.tone) for line in staff.get("/admin/").context["lines"]]
    assert shown == [("Booking outcome unknown", "bad"), ("Conflicting answers", "on")]


MINUTE, HOUR, DAY = dt.timedelta(minutes=1), dt.timedelta(hours=1), dt.timedelta(days=1)


@pytest.mark.parametrize(
    ("state", "age", "count"),
    [
        ("new", MINUTE / 2, 0),
        ("new", 2 * MINUTE, 1),
        ("new", 30 * DAY, 1),  # never read, so it waits for ever
        ("stored", 2 * MINUTE, 0),
        ("duplicate", 2 * MINUTE, 0),
        ("quarantined", MINUTE / 2, 1),
        ("differs", 6 * DAY, 1),
        ("quarantined", 15 * DAY, 0),
    ],
)
def test_a_webhook_without_a_scan_or_unread_for_a_minute_is_queued(
    db: None, state: str, age: dt.timedelta, count: int
) -> None:
    event = {"event": factories.event(factories.parcel())} if state == "stored" else {}
    factories.delivery(received_at=NOW - age, state=state, **event)
    found = next(queue for queue in queues.waiting_queues(NOW) if queue.title == "Webhooks without a scan")
    assert found.count == count


@pytest.mark.parametrize(
    ("name", "fields", "count"),
    [
        ("cancel-stuck", {"status": "cancel_unconfirmed", "due_at": None}, 1),
        ("cancel-stuck", {"status": "cancel_unconfirmed", "due_at": NOW}, 0),
        ("cancel-stuck", {"status": "cancelled", "due_at": None}, 0),
        ("used-after-cancel", {"status": "cancelled", "used_after_cancel_at": NOW - 29 * DAY}, 1),
        ("used-after-cancel", {"status": "cancelled", "used_after_cancel_at": NOW - 31 * DAY}, 0),
        ("futile", {"progress": "pickup_futile", "progress_at": NOW}, 1),
        ("futile", {"progress": "pickup_missed", "progress_at": NOW}, 0),
        ("futile", {"progress": "pickup_futile", "progress_at": NOW, "status": "cancelled"}, 0),
        ("futile", {"progress": "pickup_futile", "progress_at": NOW, "carrier_pickup_date": (NOW + 3 * DAY).date()}, 0),
    ],
)
def test_an_order_is_queued_by_its_state_and_age(
    quill: Sender, alice: User, name: str, fields: dict[str, Any], count: int
) -> None:
    factories.order(quill, alice, **{"status": "booked", **fields})
    found = next(queue for queue in queues.waiting_queues(NOW) if queue.url.endswith(f"needs={name}"))
    assert found.count == count


def test_a_label_used_after_cancelling_waits_until_its_sender_is_emailed_about_it(quill: Sender, alice: User) -> None:
    """Otherwise it would alert for weeks after the only thing to do is done."""
    order = factories.order(quill, alice, status="cancelled", used_after_cancel_at=NOW)
    counts = []
    for about in (None, "details", "used"):
        if about:
            casework.queue_mail(order, to=alice, about=about, text="-", by=alice, now=NOW)
        counts += [queue.count for queue in queues.waiting_queues(NOW) if queue.name == "order-used-after-cancel"]
    assert counts == [1, 1, 0]


@pytest.mark.parametrize(
    ("fields", "room", "recount"),
    [
        ({"day": NOW.date(), "refused_at": NOW}, 1, 0),
        ({"day": NOW.date()}, 0, 0),
        ({"day": (NOW - 2 * DAY).date(), "refused_at": NOW - 2 * DAY}, 0, 0),
        ({"day": (NOW - 6 * DAY).date(), "mended": 1, "mended_at": NOW - 6 * DAY}, 0, 1),
        ({"day": (NOW - 14 * DAY).date(), "mended": 1, "mended_at": NOW - 14 * DAY + MINUTE}, 0, 1),
        ({"day": (NOW - 15 * DAY).date(), "mended": 1, "mended_at": NOW - 15 * DAY}, 0, 0),
    ],
)
def test_a_daily_money_limit_is_queued_while_its_day_lasts(
    db: None, fields: dict[str, Any], room: int, recount: int
) -> None:
    DailySpend.objects.create(**fields)
    counts = {queue.url: queue.count for queue in queues.waiting_queues(NOW)}
    assert counts["/admin/orders/dailyspend/?needs=room"] == room
    assert counts["/admin/orders/dailyspend/?needs=recount"] == recount


@pytest.mark.parametrize(
    ("waited", "word"), [(14 * MINUTE, "new"), (15 * MINUTE, "late"), (119 * MINUTE, "late"), (120 * MINUTE, "overdue")]
)
def test_an_undecided_booking_is_late_after_a_quarter_of_an_hour_and_overdue_after_two(
    waited: dt.timedelta, word: str
) -> None:
    assert urgency(NOW - waited, queues.UNCLEAR_TERM, NOW) == word


@pytest.mark.parametrize(("age", "count"), [(47, 1), (49, 0)])
def test_unreadable_prices_are_queued_for_two_days(db: None, age: int, count: int) -> None:
    call = {"operation": "quote", "method": "GET", "path": "/x", "milliseconds": 9, "outcome": "ok"}
    CarrierCall.objects.create(at=NOW - dt.timedelta(hours=age), unreadable=3, **call)
    assert {queue.title: queue.count for queue in queues.waiting_queues(NOW)}["Unreadable prices"] == count


@pytest.mark.parametrize(("age", "count"), [(24, 1), (25, 0)])
def test_our_own_faults_are_queued_for_a_day(db: None, age: int, count: int) -> None:
    factories.account()
    CarrierAccount.objects.update(fault_at=NOW - dt.timedelta(hours=age), fault="metadata.partner_id: can't be blank")
    assert {queue.title: queue.count for queue in queues.waiting_queues(NOW)}["Refused: our setup"] == count
    assert CarrierAccount.objects.filter(queues.at_fault(NOW)).count() == count


def test_an_account_is_on_hold_since_its_first_hold_started(db: None) -> None:
    factories.account()
    CarrierAccount.objects.update(
        stopped_at=NOW - 3 * MINUTE, replays_off_at=NOW - 9 * MINUTE, paused_at=NOW - 5 * MINUTE
    )
    found = {queue.name: (queue.count, queue.oldest) for queue in queues.waiting_queues(NOW)}
    assert found["carrieraccount-held"] == (1, NOW - 9 * MINUTE)
    assert found["carrieraccount-stopped"] == (1, NOW - 3 * MINUTE)


def test_the_longest_waiting_of_many_second_orders_are_listed(
    unclear: Callable[..., Order], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "MOST_LISTED", 1)
    _, oldest = (unclear(duplicate_booking_at=NOW - days * DAY) for days in (1, 9))
    rule = queues.duplicate_booking
    assert list(Order.objects.filter(rule(NOW))) == [oldest]


def test_unassigned_lines_are_queued_once_their_report_is_posted(db: None) -> None:
    report = factories.billing_report(state="checked")
    factories.charge(None, report=report, posted_at=None)
    lines = next(queue for queue in queues.waiting_queues(NOW) if queue.url.endswith("owner=nobody"))
    assert lines.count == 0
    factories.charge(None, line=3)
    lines = next(queue for queue in queues.waiting_queues(NOW) if queue.url.endswith("owner=nobody"))
    assert lines.count == 1
