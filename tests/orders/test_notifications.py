"""A parcel's outcome writes notices in the same transaction, one for each person."""

import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.cancelling import replacing
from orders.models import Order, OrderChange, Replacement
from orders.status.transitions import advance, move_to
from shipping_portal.accounts.mail import mailing, outbox
from shipping_portal.accounts.models import Notification, Sender, User
from tests import factories

pytestmark = pytest.mark.django_db

REASON = "the carrier's own words"
ONCE = "Good news: STEST00000 to N. Tamsin was booked once, as you asked."
BOOK_NOW = "The parcel to N. Tamsin wasn't booked and you weren't charged. Book it now."
FIX_IT = "The parcel to N. Tamsin wasn't booked and you weren't charged: Too heavy. Fix it and book again."
STAYS = "STEST00000 to N. Tamsin wasn't cancelled: Too heavy. It stays booked and its label is good."
DESTROY = "STEST00000 to N. Tamsin is cancelled; we had to check with the carrier. Destroy its label."
WAIT = "The parcel to N. Tamsin may be booked after all. Don't book it again before we have told you."
YES = "The parcel to N. Tamsin needs your yes: it isn't booked and you weren't charged. Too heavy."


def lines() -> list[str]:
    return list(Notification.objects.order_by("pk").values_list("line", flat=True))


def move(order: Order, *statuses: str) -> Order:
    for status in statuses:
        now = timezone.now()
        booked = {"carrier_reference": "STEST00000", "booked_at": now} if status == "booked" else {}
        gone = {"cancelled_at": now} if status == "cancelled" else {}
        said = {"problem": {"text": "Too heavy."}}
        move_to(order, status, reason=REASON, at=now, **booked, **gone, **said)
    return order


def moved(of: Sender, by: User, old: str, new: str) -> Order:
    return move(factories.order(of, by, status=old), new)


def scanned(of: Sender, by: User, progress: str, *, ago: dt.timedelta = dt.timedelta(0)) -> Order:
    order = factories.order(of, by, status="booked")
    advance(order, progress, at=timezone.now() - ago)
    return order


def queries(act: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as captured:
        act()
    return len(captured)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("unconfirmed", "booked", [ONCE]),
        ("conflict", "booked", [ONCE]),
        ("unconfirmed", "not_booked", [BOOK_NOW]),
        ("booking", "rejected", [FIX_IT]),
        ("booking", "draft", [YES]),
        ("cancelling", "booked", [STAYS]),
        ("cancel_unconfirmed", "cancelled", [DESTROY]),
        ("not_booked", "conflict", [WAIT]),
        ("booking", "booked", []),
        ("cancelling", "cancelled", []),
        ("booking", "unconfirmed", []),
    ],
)
def test_a_transition_that_resolves_something_writes_a_notice_and_others_do_not(
    quill: Sender, alice: User, old: str, new: str, words: list[str]
) -> None:
    order = moved(quill, alice, old, new)
    assert lines() == words
    for secret in (order.receiver_name, order.receiver_line1, order.receiver_email, REASON):
        assert secret not in "".join(lines())


@pytest.mark.parametrize(
    ("old", "new", "one", "two"),
    [
        ("unconfirmed", "booked", "Good news about a booking", "Good news about 2 bookings"),
        ("cancel_unconfirmed", "cancelled", "Good news about a booking", "Good news about 2 bookings"),
        ("cancel_asked", "cancelled", "Good news about a booking", "Good news about 2 bookings"),
        ("unconfirmed", "not_booked", "A booking needs you", "2 bookings need you"),
        ("cancel_unconfirmed", "booked", "A booking needs you", "2 bookings need you"),
    ],
)
def test_the_subject_says_whether_the_booking_needs_somebody(
    quill: Sender, alice: User, mailoutbox: list[Any], old: str, new: str, one: str, two: str
) -> None:
    for count in (1, 2):
        for number in range(count):
            order = moved(quill, alice, old, new)
            if order.is_held:
                Order.objects.filter(pk=order.pk).update(carrier_reference=f"STEST1000{count}{number}")
        Notification.objects.filter(sent_at=None).update(due_at=timezone.now())
        for pk in Notification.objects.values_list("pk", flat=True):
            mailing.send_due_mail(pk)
    assert [message.subject for message in mailoutbox] == [one, two]


@pytest.mark.parametrize(
    ("progress", "when", "subject"),
    [
        ("delivered", "now", "Delivered"),
        ("in_transit", "now", "A return is on its way back"),
        ("in_transit", "daily", "Your parcels"),
    ],
)
def test_a_return_on_its_way_is_not_announced_as_delivered(
    quill: Sender, alice: User, mailoutbox: list[Any], progress: str, when: str, subject: str
) -> None:
    outbox.choose_when(alice, "delivered", when, now=timezone.now() - dt.timedelta(days=1))
    sent = factories.order(quill, alice, status="booked", progress="delivered")
    back = factories.order(quill, alice, status="booked", returns=sent)
    advance(back, progress, at=timezone.now())
    Notification.objects.update(due_at=timezone.now())
    mailing.send_due_mail(Notification.objects.get().pk)
    assert [message.subject for message in mailoutbox] == [subject]


def test_good_news_does_not_leave_under_the_subject_of_a_booking_that_needs_somebody(
    quill: Sender, alice: User, mailoutbox: list[Any]
) -> None:
    moved(quill, alice, "unconfirmed", "booked")
    moved(quill, alice, "booking", "rejected")
    Notification.objects.update(due_at=timezone.now())
    for pk in Notification.objects.values_list("pk", flat=True):
        mailing.send_due_mail(pk)
    assert {(message.subject, ONCE in str(message.body)) for message in mailoutbox} == {
        ("Good news about a booking", True),
        ("A booking needs you", False),
    }


@pytest.mark.parametrize("others", [0, 3000])
def test_a_refused_booking_always_writes_a_notice_at_once(quill: Sender, alice: User, others: int) -> None:
    busy = factories.order(quill, alice, status="booked")
    moved(quill, alice, "booking", "rejected")
    OrderChange.objects.bulk_create(
        OrderChange(order=busy, old="booking", new="booked", at=timezone.now(), reason="-") for _ in range(others)
    )
    assert Notification.objects.get().kind == "booking"


def test_a_transition_and_its_notice_are_saved_together_or_not_at_all(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise DatabaseError

    order = factories.order(quill, alice, status="booking")
    with transaction.atomic():
        move(order, "rejected")
        transaction.set_rollback(True)
    assert lines() == []
    monkeypatch.setattr(outbox, "notify", away)
    with pytest.raises(DatabaseError), transaction.atomic():
        move(Order.objects.get(), "rejected")
    assert Order.objects.get().status == "booking"


def test_a_transition_without_a_notice_costs_no_extra_query(quill: Sender, alice: User) -> None:
    booking = factories.order(quill, alice, status="booking")
    # The transition and its change row.
    assert queries(lambda: move(booking, "booked")) == 2
    assert queries(lambda: advance(booking, "in_transit", at=timezone.now())) == 1
    advance(booking, "held", at=timezone.now())
    assert queries(lambda: advance(booking, "held", at=booking.progress_at)) == 0


def test_a_notice_costs_the_same_queries_in_big_and_small_teams(quill: Sender, alice: User) -> None:
    first, second = (factories.order(quill, alice, status="booking") for _ in range(2))
    few = queries(lambda: move(first, "rejected"))
    for number in range(20):
        factories.member(quill, factories.user(f"{number}@quill.example"), role="shipper")
    assert queries(lambda: move(second, "rejected")) == few
    assert Notification.objects.count() == 1 + 21


def test_nobody_is_advised_to_book_a_parcel_booked_again_before_the_email_left(
    quill: Sender, alice: User, mailoutbox: list[Any]
) -> None:
    order, _other = (moved(quill, alice, "unconfirmed", "not_booked") for _ in range(2))
    assert lines() == [BOOK_NOW, BOOK_NOW]
    Notification.objects.update(due_at=timezone.now())
    due = Notification.objects.get(path__contains=order.uuid)
    move(order, "draft", "booking", "booked")
    mailing.send_due_mail(due.pk)
    assert mailoutbox == []
    assert lines() == [BOOK_NOW]  # about the other one


def test_a_sent_email_is_not_taken_back(quill: Sender, alice: User) -> None:
    order = moved(quill, alice, "unconfirmed", "not_booked")
    Notification.objects.update(sent_at=timezone.now(), due_at=None)
    move(order, "draft", "booking", "booked")
    assert lines() == [BOOK_NOW]


@pytest.mark.parametrize(
    ("progress", "kind"),
    [("pickup_missed", "pickup"), ("pickup_futile", "pickup"), ("damaged", "delivery"), ("held", "delivery")],
)
def test_a_scan_that_needs_the_sender_writes_one_notice(quill: Sender, alice: User, progress: str, kind: str) -> None:
    order = scanned(quill, alice, progress)
    for _ in range(2):
        advance(Order.objects.get(), progress, at=order.progress_at)
        advance(order, progress, at=order.progress_at)
    assert Notification.objects.get().kind == kind


@pytest.mark.parametrize(("status", "ago"), [("booked", dt.timedelta(days=3)), ("cancelling", dt.timedelta(0))])
def test_old_scans_and_scans_of_unbooked_parcels_write_no_notice(
    quill: Sender, alice: User, status: str, ago: dt.timedelta
) -> None:
    advance(factories.order(quill, alice, status=status), "held", at=timezone.now() - ago)
    assert lines() == []


@pytest.mark.parametrize(
    ("hours", "notices"),
    [((4, 22.5), 2), ((-0.5, 2), 1)],
    ids=["three o'clock, and half past nine the next day", "half past ten and one o'clock of one day"],
)
def test_a_failed_delivery_is_news_once_a_day_of_the_sender(
    quill: Sender, alice: User, hours: tuple[float, float], notices: int
) -> None:
    """In Fitzroy a day in UTC begins at eleven in the morning."""
    order = factories.order(quill, alice, status="booked")
    for hour in hours:
        at = dt.datetime(2026, 11, 23, tzinfo=dt.UTC) + dt.timedelta(hours=hour)
        with time_machine.travel(at + dt.timedelta(minutes=5)):
            advance(order, "in_transit", at=at - dt.timedelta(minutes=1))
            advance(order, "delivery_attempted", at=at)
    assert len(lines()) == notices


def test_the_email_about_a_missed_pickup_names_the_day_that_its_page_names(quill: Sender, alice: User) -> None:
    at = dt.datetime(2026, 11, 23, 5, tzinfo=dt.UTC)
    for new_day in ("2026-11-23", "2026-11-26"):
        order = factories.order(quill, alice, status="booked", carrier_pickup_date=dt.date.fromisoformat(new_day))
        with time_machine.travel(at + dt.timedelta(minutes=5)):
            advance(order, "pickup_missed", at=at)
    assert [line.partition(".")[2] for line in lines()] == [
        " Another driver is booked for the next business day. Leave the label on; don't cancel.",
        " Another driver is booked for Thu 26 Nov. Leave the label on; don't cancel.",
    ]


def test_missed_parcels_of_one_pickup_share_an_email(quill: Sender, alice: User) -> None:
    for _ in range(3):
        scanned(quill, alice, "pickup_missed")
    assert Notification.objects.count() == 3
    assert Notification.objects.values("batch_key").distinct().count() == 1


def test_a_kind_that_is_turned_on_covers_events_from_then_on(quill: Sender, alice: User) -> None:
    scanned(quill, alice, "delivered")
    outbox.choose_when(alice, "delivered", "now", now=timezone.now())
    scanned(quill, alice, "delivered", ago=dt.timedelta(hours=1))
    assert lines() == []
    scanned(quill, alice, "delivered")
    outbox.choose_when(alice, "delivered", "daily", now=timezone.now())  # on all along
    assert len(lines()) == 1


def test_later_team_members_get_no_earlier_news(quill: Sender, alice: User) -> None:
    ben = factories.user("ben@quill.example")
    factories.member(quill, ben, role="shipper")
    scanned(quill, alice, "held", ago=dt.timedelta(hours=1))
    assert not Notification.objects.filter(user=ben).exists()
    scanned(quill, alice, "held")
    assert Notification.objects.filter(user=ben).count() == 1


@pytest.mark.parametrize(("status", "words"), [("cancelled", "is cancelled, but"), ("booked", "stays booked")])
def test_a_failed_replacement_writes_one_notice(quill: Sender, alice: User, status: str, words: str) -> None:
    order = factories.order(quill, alice, status=status)
    found = Replacement.objects.create(
        order=order,
        product_code="-",
        form_token=uuid.uuid4(),
        asked_by=alice,
        asked_at=timezone.now(),
        due_at=timezone.now(),
    )
    for _ in range(2):
        replacing.replace_due_parcel(found.pk)
    [line] = lines()
    assert words in line
    assert Notification.objects.get().path == f"/parcels/{order.uuid}/replacing/"


def test_a_scan_during_a_cancellation_writes_a_notice_once_it_stays_booked(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="cancelling")
    stale = Order.objects.get(pk=order.pk)
    advance(order, "pickup_futile", at=timezone.now())
    assert lines() == []
    move_to(stale, "booked", reason="the carrier did not cancel it", at=timezone.now())
    assert any("couldn't collect" in line for line in lines())
