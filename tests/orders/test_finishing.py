"""A finished import sends one email with its counts; its bookings send none of their own."""

import datetime as dt
from contextlib import suppress

import pytest
from django.core import mail
from django.urls import reverse
from django.utils import timezone

from orders.models import Order
from orders.status.transitions import move_to
from shipping_portal.accounts.mail import mailing, outbox
from shipping_portal.accounts.models import Notification, Sender, User
from shipping_portal.importing import booking as importing
from shipping_portal.importing import finishing, holding
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.refused import Refused
from tests import factories
from tests.orders.test_importing import GOOD, book, checked
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

LEFT, WATCHED = dt.timedelta(minutes=5), dt.timedelta(seconds=5)


def booking_import(of: Sender, by: User, *statuses: str, looked: dt.timedelta = LEFT) -> Import:
    """An import with one row for each of its orders, started an hour ago and last viewed this long ago."""
    now = timezone.now()
    begun = now - dt.timedelta(hours=1)
    file = factories.import_file(of, by, state="booking", begun_at=begun, begun_by=by, looked_at=now - looked)
    for status in statuses:
        order = factories.order(of, by, status=status)
        factories.import_row(of, by, file=file, state="booked", order=order, booked_by=by, problems={})
    return file


def lines() -> list[str]:
    finishing.finish_done_imports(timezone.now())
    return list(Notification.objects.values_list("line", flat=True))


def mails() -> list[str]:
    """Send everything that is due. Return the emails' bodies."""
    Notification.objects.update(due_at=timezone.now())
    for pk in Notification.objects.values_list("pk", flat=True):
        mailing.send_due_mail(pk)
    return [str(message.body) for message in mail.outbox]


def test_an_import_with_failed_rows_sends_one_email_even_if_watched(
    carrier: SandboxCarrier, localities: None, quill: Sender, alice: User
) -> None:
    file = checked(quill, alice, *(GOOD.replace("1001", number) for number in ("1001", "1002", "1003")))
    carrier.trouble("book", "422", count=2)
    book(file)
    Import.objects.update(looked_at=timezone.now())
    assert sorted(Order.objects.values_list("status", flat=True)) == ["booked", "rejected", "rejected"]
    finishing.finish_done_imports(timezone.now())
    [body] = mails()
    assert "- orders.csv: 1 booked, 2 not. Row 2: The parcel was refused.\n" in body
    assert reverse("import", args=[file.uuid]) in body
    assert mail.outbox[0].subject == "A booking needs you"


@pytest.mark.parametrize(
    ("statuses", "line"),
    [
        (["booked", "rejected"], "orders.csv: 1 booked, 1 not."),
        (["booked", "draft"], "orders.csv: 1 booked, 1 waiting for your approval."),
    ],
)
def test_rows_that_failed_or_wait_for_a_yes_are_emailed_to_every_booker(
    quill: Sender, alice: User, ana: User, bea: User, statuses: list[str], line: str
) -> None:
    outbox.choose_when(alice, "import", "off", now=timezone.now())
    outbox.choose_when(alice, "booking", "off", now=timezone.now())
    booking_import(quill, ana, *statuses, looked=WATCHED)
    assert lines() == [line]
    assert Notification.objects.get().user == ana
    outbox.choose_when(ana, "booking", "off", now=timezone.now())
    booking_import(quill, ana, *statuses, looked=WATCHED)
    lines()
    assert Notification.objects.last().user == alice  # the owner, if everybody has turned it off


@pytest.mark.parametrize(
    ("old", "new", "is_own_news"),
    [
        ("booking", "rejected", False),
        ("unconfirmed", "not_booked", False),
        ("cancelling", "booked", True),
        ("rejected", "conflict", True),
    ],
)
def test_a_booking_of_a_running_import_sends_no_email_and_anything_else_does(
    quill: Sender, alice: User, old: str, new: str, is_own_news: bool
) -> None:
    booking_import(quill, alice, old)
    move_to(Order.objects.get(), new, reason="-", at=timezone.now())
    assert Notification.objects.exists() is is_own_news


def test_a_booking_that_fails_before_its_row_has_its_order_sends_no_email(quill: Sender, alice: User) -> None:
    file, order = booking_import(quill, alice), factories.order(quill, alice, status="booking")
    factories.import_row(quill, alice, file=file, state="owed", token=order.form_token)
    move_to(order, "rejected", reason="-", at=timezone.now())
    assert not Notification.objects.exists()


def test_after_the_end_an_orders_emails_are_the_usual_ones(quill: Sender, alice: User) -> None:
    booking_import(quill, alice, "unconfirmed")
    assert lines() == ["orders.csv: 0 booked, 1 being checked."]
    move_to(Order.objects.get(), "not_booked", reason="-", at=timezone.now())
    assert "Book it now." in lines()[-1]


def test_an_import_that_finished_unwatched_sends_one_email_with_one_link(quill: Sender, alice: User) -> None:
    file = booking_import(quill, alice, "booked")
    for _ in range(2):
        assert lines() == ["orders.csv: 1 booked."]
    [body] = mails()
    assert mail.outbox[0].subject == "Your import is finished"
    assert reverse("import", args=[file.uuid]) in body


def test_a_person_who_watched_an_import_succeed_gets_no_email(quill: Sender, alice: User) -> None:
    booking_import(quill, alice, "booked", looked=WATCHED)
    finishing.finish_done_imports(timezone.now())
    finishing.finish_done_imports(timezone.now() + dt.timedelta(hours=1))
    assert not Notification.objects.exists()


def test_only_the_person_who_pressed_book_is_emailed_about_a_success(quill: Sender, alice: User, ana: User) -> None:
    booking_import(quill, ana, "booked")
    assert lines() == ["orders.csv: 1 booked."]
    assert Notification.objects.get().user == ana


def test_a_person_who_turned_these_emails_off_gets_none(quill: Sender, alice: User) -> None:
    outbox.choose_when(alice, "import", "off", now=timezone.now())
    booking_import(quill, alice, "booked")
    assert lines() == []


def test_who_pressed_book_gets_the_emails_about_imports_that_they_want_also_if_rows_failed(
    quill: Sender, alice: User, ana: User
) -> None:
    outbox.choose_when(ana, "booking", "off", now=timezone.now())
    booking_import(quill, ana, "booked", "rejected")
    assert lines() == ["orders.csv: 1 booked, 1 not."] * 2
    assert {(one.user, one.kind) for one in Notification.objects.all()} == {(alice, "booking"), (ana, "import")}
    mails()
    assert sorted(message.to[0] for message in mail.outbox) == sorted([alice.email, ana.email])


@pytest.mark.parametrize("parked", ["a row", "a booking"])
def test_a_dead_letter_does_not_delay_the_email_of_its_import(quill: Sender, alice: User, parked: str) -> None:
    file, now = booking_import(quill, alice, "rejected", "booking"), timezone.now()
    if parked == "a booking":
        Order.objects.filter(status="booking").update(parked_at=now)
    else:
        Order.objects.filter(status="booking").update(status="booked", carrier_reference="S123456", booked_at=now)
        factories.import_row(quill, alice, file=file, state="owed", due_at=now, parked_at=now)
    assert "1 not" in lines()[0]


def test_an_import_with_a_booking_or_a_row_left_is_not_finished(quill: Sender, alice: User) -> None:
    booking_import(quill, alice, "booking")
    file = booking_import(quill, alice, "booked")
    factories.import_row(quill, alice, file=file, state=ImportRow.State.DUE, due_at=timezone.now())
    assert lines() == []
    assert not Import.objects.exclude(finished_at=None).exists()


@pytest.mark.parametrize("by_whom", ["its sender", "an operator"])
def test_failures_before_a_pause_are_emailed_at_the_pause(quill: Sender, alice: User, sam: User, by_whom: str) -> None:
    file, now = booking_import(quill, alice, "booked", "rejected", "booking"), timezone.now()
    factories.import_row(quill, alice, file=file, state=ImportRow.State.DUE, due_at=now)
    for _ in range(2):
        if by_whom == "its sender":
            importing.pause(file, now)
        else:
            with suppress(Refused):
                holding.hold(file, text="We look at it.", by=sam, reason="looks odd to us", now=now)
    assert list(Notification.objects.values_list("kind", "line")) == [("booking", "orders.csv: 1 booked, 1 not.")]
    move_to(Order.objects.get(status="booking"), "rejected", reason="-", at=now)  # it was already queued
    assert "Fix it and book again." in lines()[-1]


def test_a_pause_before_any_failure_sends_no_email(quill: Sender, alice: User) -> None:
    file = booking_import(quill, alice, "booked")
    importing.pause(file, timezone.now())
    importing.pause(factories.import_file(quill, alice), timezone.now())
    assert not Notification.objects.exists()


@pytest.mark.parametrize(
    ("begun", "looked", "is_news"),
    [
        (finishing.NEWS_FOR, finishing.LEFT_AFTER, True),
        (finishing.NEWS_FOR + dt.timedelta(seconds=1), finishing.LEFT_AFTER, False),
        (finishing.NEWS_FOR, None, True),
        (finishing.NEWS_FOR, finishing.LEFT_AFTER - dt.timedelta(seconds=1), False),
    ],
    ids=["two days", "over two days", "never looked at", "looked at just now"],
)
def test_a_success_is_emailed_for_two_days_to_whoever_left_the_page(
    quill: Sender, alice: User, begun: dt.timedelta, looked: dt.timedelta | None, is_news: bool
) -> None:
    now, file = timezone.now(), booking_import(quill, alice, "booked")
    Import.objects.update(begun_at=now - begun, looked_at=now - looked if looked else None)
    finishing.finish_done_imports(now)
    file.refresh_from_db()
    assert file.finished_at == now
    assert Notification.objects.exists() is is_news


@pytest.mark.parametrize("status", ["rejected", "draft"])
def test_failures_are_emailed_however_long_ago_the_booking_started(quill: Sender, alice: User, status: str) -> None:
    booking_import(quill, alice, status)
    Import.objects.update(begun_at=timezone.now() - dt.timedelta(days=9))
    assert len(lines()) == 1


def test_a_pause_after_the_end_repeats_no_email(quill: Sender, alice: User) -> None:
    file = booking_import(quill, alice, "rejected")
    finishing.finish_done_imports(timezone.now())
    file.refresh_from_db()
    importing.pause(file, timezone.now())
    assert Notification.objects.count() == 1


def test_a_row_of_another_import_does_not_delay_the_end(quill: Sender, alice: User) -> None:
    booking_import(quill, alice, "booked")
    other = factories.import_file(quill, alice)
    factories.import_row(quill, alice, file=other, state=ImportRow.State.DUE, due_at=timezone.now())
    assert lines() == ["orders.csv: 1 booked."]


def test_the_reason_in_the_email_is_from_the_first_failed_row_not_from_one_to_fix(quill: Sender, alice: User) -> None:
    file = booking_import(quill, alice)
    factories.import_row(quill, alice, file=file)  # still to fix
    for text in ("Booking is off.", "Another."):
        factories.import_row(quill, alice, file=file, state="failed", problems={"": [text]})
    assert lines() == ["orders.csv: 0 booked, 2 not. Row 3: Booking is off."]
