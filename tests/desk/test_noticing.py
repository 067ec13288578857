"""What is news is found in the rows that the journeys leave; told once, without names, addresses or links."""

import datetime as dt
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import Order, OrderChange, Replacement
from shipping_portal.accounts import mailing, notices
from shipping_portal.accounts.models import Notice, Sender, User
from shipping_portal.desk import noticing
from shipping_portal.desk.noticing import Finder
from tests import factories

pytestmark = pytest.mark.django_db


def told(now: dt.datetime | None = None) -> list[str]:
    Finder().look(now or timezone.now())
    return list(Notice.objects.order_by("pk").values_list("line", flat=True))


def moved(order: Order, old: str, new: str) -> Order:
    OrderChange.objects.create(
        order=order, old=old, new=new, at=timezone.now(), reason="the carrier's own words"
    )
    return order


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("unconfirmed", "booked", "Good news: STEST00000 to N. Tamsin was booked once, as you asked."),
        (
            "unconfirmed",
            "not_booked",
            "The parcel to N. Tamsin wasn't booked and you weren't charged. Book it now.",
        ),
        (
            "booking",
            "rejected",
            "The parcel to N. Tamsin wasn't booked and you weren't charged. Fix it and book again.",
        ),
        (
            "cancelling",
            "booked",
            "STEST00000 to N. Tamsin wasn't cancelled. It stays booked; its page says why.",
        ),
        (
            "cancel_unconfirmed",
            "cancelled",
            "STEST00000 to N. Tamsin is cancelled; we had to check with the carrier. Destroy its label.",
        ),
        (
            "not_booked",
            "conflict",
            "The parcel to N. Tamsin may be booked after all. Don't book it again before we have told you.",
        ),
    ],
)
def test_what_became_of_a_booking_is_news(quill: Sender, alice: User, old: str, new: str, words: str) -> None:
    moved(factories.order(quill, alice, status=new), old, new)
    assert told() == [words]


def test_an_ordinary_booking_is_no_news(quill: Sender, alice: User) -> None:
    moved(factories.order(quill, alice, status="booked"), "booking", "booked")
    assert told() == []


def test_looking_again_tells_nothing_more_even_after_a_restart(quill: Sender, alice: User) -> None:
    moved(factories.order(quill, alice, status="rejected"), "booking", "rejected")
    assert len(told()) == len(told()) == 1


def booked_again(order: Order) -> None:
    for status in ("draft", "booking"):
        order.move_to(status, reason="-", at=timezone.now())
    order.move_to(
        "booked", reason="-", at=timezone.now(), carrier_reference="SAGAIN01", booked_at=timezone.now()
    )


def not_booked(sender: Sender, by: User) -> Order:
    order = factories.order(sender, by, status="unconfirmed")
    order.move_to("not_booked", reason="asked", at=timezone.now())
    return order


def test_nobody_is_told_to_book_what_was_booked_again_before_the_mail_left(
    quill: Sender, alice: User, mailoutbox: list[Any]
) -> None:
    order = not_booked(quill, alice)
    [line] = told()
    assert "Book it now." in line
    owed = Notice.objects.get()
    Notice.objects.update(due_at=timezone.now())
    booked_again(order)
    mailing.work(owed.pk)
    assert mailoutbox == []
    assert told() == []


def test_news_told_while_its_order_moved_on_is_taken_back_by_the_next_look(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    order, other = not_booked(quill, alice), not_booked(quill, alice)
    with monkeypatch.context() as too_early:
        too_early.setattr("shipping_portal.accounts.notices.take_back", lambda _: None)
        assert len(told()) == 2
        booked_again(order)
    [line] = told()
    assert Notice.objects.get().path.endswith(f"{other.uuid}/")
    assert "Book it now." in line


def test_what_left_already_stays_told(quill: Sender, alice: User) -> None:
    order = not_booked(quill, alice)
    told()
    Notice.objects.update(sent_at=timezone.now(), due_at=None)
    booked_again(order)
    assert len(told()) == 1


def test_who_came_into_the_team_later_is_told_nothing_of_before(quill: Sender, alice: User) -> None:
    not_booked(quill, alice)
    told()
    ben = factories.user("ben@quill.example")
    factories.member(quill, ben, role="shipper")
    told()
    assert not Notice.objects.filter(user=ben).exists()
    not_booked(quill, alice)
    told()
    assert Notice.objects.filter(user=ben).count() == 1


def test_a_kind_turned_on_tells_what_happens_from_then_on(quill: Sender, alice: User) -> None:
    def delivered() -> None:
        order = factories.order(
            quill, alice, status="booked", progress="delivered", progress_at=timezone.now()
        )
        factories.event(factories.parcel(order), event_type="Delivered")

    delivered()
    notices.choose(alice, "delivered", "now", now=timezone.now())
    assert told() == []
    delivered()
    notices.choose(alice, "delivered", "daily", now=timezone.now())  # on all the while
    assert len(told()) == 1


def test_old_news_is_no_news(quill: Sender, alice: User) -> None:
    moved(factories.order(quill, alice, status="rejected"), "booking", "rejected")
    assert told(timezone.now() + dt.timedelta(days=3)) == []


@pytest.mark.parametrize(
    ("progress", "kind"),
    [("pickup_missed", "pickup"), ("pickup_futile", "pickup"), ("damaged", "delivery"), ("held", "delivery")],
)
def test_a_scan_that_needs_the_sender_is_news(quill: Sender, alice: User, progress: str, kind: str) -> None:
    order = factories.order(quill, alice, status="booked", progress=progress, progress_at=timezone.now())
    factories.event(factories.parcel(order))
    assert len(told()) == 1
    assert Notice.objects.get().kind == kind


def test_missed_parcels_of_one_pickup_share_a_mail(quill: Sender, alice: User) -> None:
    for _ in range(3):
        order = factories.order(
            quill, alice, status="booked", progress="pickup_missed", progress_at=timezone.now()
        )
        factories.event(factories.parcel(order))
    assert len(told()) == 3
    assert Notice.objects.values("bundle").distinct().count() == 1


def test_a_pickup_that_nobody_scanned_is_told_from_the_calendar(quill: Sender, alice: User) -> None:
    tuesday = dt.datetime(2026, 11, 24, 2, tzinfo=dt.UTC)
    factories.order(
        quill,
        alice,
        status="booked",
        booked_at=tuesday - dt.timedelta(days=1),
        carrier_pickup_date=dt.date(2026, 11, 24),
    )
    assert told(tuesday) == []
    [line] = told(tuesday + dt.timedelta(days=1))
    assert line.startswith("The driver didn't come for STEST00000.")


@pytest.mark.parametrize("asked", [dt.date(2026, 11, 24), None])
def test_a_missed_pickup_is_told_though_the_carrier_gave_no_day(
    quill: Sender, alice: User, asked: dt.date | None
) -> None:
    tuesday = dt.datetime(2026, 11, 24, 2, tzinfo=dt.UTC)
    factories.order(
        quill, alice, status="booked", booked_at=tuesday - dt.timedelta(days=1), pickup_date=asked
    )
    assert told(tuesday) == []
    assert len(told(tuesday + dt.timedelta(days=1))) == 1


def test_a_label_to_print_is_told_though_the_carrier_gave_no_day(quill: Sender, alice: User) -> None:
    now = dt.datetime(2026, 11, 24, 7, 30, tzinfo=quill.tzinfo)
    factories.order(
        quill, alice, status="booked", booked_at=now - dt.timedelta(days=1), pickup_date=now.date()
    )
    assert len(told(now)) == 1


def test_more_parcels_than_are_read_at_once_are_all_told(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noticing, "BATCH", 2)
    now = timezone.now()
    for _ in range(3):
        order = factories.order(quill, alice, status="booked", progress="held", progress_at=now)
        factories.event(factories.parcel(order))
        day = {"booked_at": now - dt.timedelta(days=9), "carrier_pickup_date": now.date() - dt.timedelta(4)}
        factories.order(quill, alice, status="booked", **day)
    assert len(told()) == 6


@pytest.mark.parametrize(
    ("hour", "printed", "count"),
    [(6, False, 0), (7, False, 1), (7, True, 0), (8, False, 1), (9, False, 0), (12, False, 0)],
)
def test_a_label_to_print_is_news_in_the_morning_of_its_pickup(
    quill: Sender, alice: User, hour: int, printed: bool, count: int
) -> None:
    now = dt.datetime(2026, 11, 24, hour, 30, tzinfo=quill.tzinfo)
    day = {"carrier_pickup_date": now.date(), "booked_at": now - dt.timedelta(days=1)}
    factories.order(quill, alice, status="booked", printed_at=now if printed else None, **day)
    assert len(told(now)) == count


@pytest.mark.parametrize(
    ("status", "words"), [("cancelled", "is cancelled, but"), ("booked", "stays booked")]
)
def test_a_replacement_that_ended_badly_is_news(quill: Sender, alice: User, status: str, words: str) -> None:
    order = factories.order(quill, alice, status=status)
    now, facts = timezone.now(), {"product_code": "-", "problem": "Bookings are paused."}
    Replacement.objects.create(
        order=order,
        quote=order.quote,
        form_token=order.uuid,
        asked_by=alice,
        asked_at=now,
        ended_at=now,
        **facts,
    )
    [line] = told()
    assert words in line


def test_a_parcel_cancelled_after_its_replacement_had_ended_neither_stays_booked_nor_lacks_a_new_one(
    quill: Sender, alice: User
) -> None:
    now = timezone.now()
    order = factories.order(quill, alice, status="cancelled", cancelled_at=now + dt.timedelta(minutes=1))
    Replacement.objects.create(
        order=order, product_code="-", problem="Not cancelled.", form_token=order.uuid, asked_by=alice,
        asked_at=now, ended_at=now,
    )  # fmt: skip
    assert told() == []


def test_no_line_holds_an_address_or_the_carriers_words(quill: Sender, alice: User) -> None:
    order = moved(factories.order(quill, alice, status="rejected"), "booking", "rejected")
    [line] = told()
    for secret in (
        order.receiver_name,
        order.receiver_line1,
        order.receiver_email,
        "the carrier's own words",
    ):
        assert secret not in line


def test_a_look_that_finds_nothing_new_asks_a_fixed_number_of_times(quill: Sender, alice: User) -> None:
    def queries(finder: Any) -> int:
        finder.due_at = None
        with CaptureQueriesContext(connection) as captured:
            finder.look(timezone.now())
        return len(captured)

    for _ in range(3):
        moved(factories.order(quill, alice, status="rejected"), "booking", "rejected")
    finder = Finder()
    queries(finder)
    few = queries(finder)
    for _ in range(20):
        moved(factories.order(quill, alice, status="booked"), "booking", "booked")
    assert queries(finder) == few


def test_much_news_of_many_accounts_costs_as_little_as_one(quill: Sender, alice: User, bob: User) -> None:
    def queries(count: int) -> int:
        for person in (alice, bob)[:count]:
            for _ in range(count):
                order = factories.order(
                    person.membership.sender,
                    person,
                    status="booked",
                    progress="held",
                    progress_at=timezone.now(),
                )
                factories.event(factories.parcel(order))
                moved(factories.order(quill, alice, status="rejected"), "booking", "rejected")
        with CaptureQueriesContext(connection) as captured:
            Finder().look(timezone.now())
        return len(captured)

    queries(1)  # from here on something is owed, whose orders are looked at
    assert queries(1) == queries(20) <= 14
    assert Notice.objects.count() == 2 + 2 + 80


def test_what_could_not_be_told_is_told_by_the_next_look(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise DatabaseError

    moved(factories.order(quill, alice, status="rejected"), "booking", "rejected")
    monkeypatch.setattr(noticing, "OVERLAP", 0)
    finder = Finder()
    with monkeypatch.context() as broken:
        broken.setattr(notices, "tell", away)
        with pytest.raises(DatabaseError):
            finder.look(timezone.now())
    finder.due_at = None
    finder.look(timezone.now())
    assert Notice.objects.count() == 1
