"""Returns in other places: words, emails, the bench, the reports, and erasing the person who sent one."""

import datetime as dt
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.booking import bookings
from orders.cancelling import cancel_rules, replacing
from orders.drafting import returning
from orders.labels import printing
from orders.list.system_views import VIEWS, SenderScope
from orders.models import Order, Replacement, SavedView
from orders.models.statuses import Progress
from orders.notices import notifications, reminders
from orders.status.status_labels import status_label
from orders.status.status_sentences import status_sentence
from orders.status.transitions import advance
from shipping_portal.accounts.models import Notification, NotificationChoice, Sender, User
from shipping_portal.jobs import erasing
from shipping_portal.reports import day_figures
from shipping_portal.reports.spans import Days
from shipping_portal.staff.erasing import find_person
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked", progress="delivered", progress_at=timezone.now())


@pytest.fixture
def made(sent: Order, quill: Sender, alice: User) -> Order:
    """A booked return."""
    return back(sent, quill, alice, status="booked")


def back(sent: Order, quill: Sender, alice: User, **fields: Any) -> Order:
    details = returning.return_of(sent, quill).to_json()
    receiver = {f"receiver_{part}": value for part, value in details["receiver"].items()}
    return factories.order(quill, alice, returns=sent, pickup=details["pickup"], **receiver, **fields)


@pytest.mark.parametrize(
    ("progress", "label", "sentence"),
    [
        ("in_transit", "On the way", "On its way back."),
        ("delivered", "Arrived back", "Arrived back on"),
        ("returning", "Going back to them", "The carrier is taking it back to N. Tamsin."),
        ("pickup_futile", "Futile pickup", "Ask N. Tamsin to have it ready"),
        ("pickup_missed", "Missed pickup", "Ask N. Tamsin to leave the label on and don't cancel."),
    ],
)
def test_a_returns_status_reads_as_a_return(made: Order, progress: str, label: str, sentence: str) -> None:
    made.progress, made.progress_at, now = progress, timezone.now(), timezone.now()
    assert status_label(made, now)[1] == label
    assert sentence in status_sentence(made, now, sees_contact=True)


def test_a_return_whose_driver_didnt_come_isnt_cancelled_and_its_receiver_keeps_the_label_on(
    made: Order, alice: User, visit: Callable[[User], Client]
) -> None:
    why = cancel_rules.why_not_cancelled_now(made, Progress.PICKUP_MISSED, timezone.now(), now=timezone.now())
    assert why.endswith("Ask N. Tamsin to leave the label on and don't cancel.")
    Order.objects.filter(pk=made.pk).update(progress="pickup_missed", progress_at=timezone.now(), first_mile="pickup")
    page = text(visit(alice).get(f"/parcels/{made.uuid}/cancel/"))
    assert "Ask N. Tamsin to leave the label on and don't cancel." in page


def test_no_text_says_that_a_return_comes_to_its_sender(made: Order) -> None:
    """It may go to another place, such as a repairer."""
    for progress in Order.Progress:
        made.progress, made.progress_at = progress, timezone.now()
        said = status_sentence(made, timezone.now(), sees_contact=True)
        assert not re.search(r"\byou(r)?\b(?! (don't know|can|may))", said.partition("quote")[0]), said
    assert not [words for words in (*notifications.OF_RETURNS.values(), notifications.COMING_BACK) if "you" in words]


def test_every_progress_of_a_return_has_a_sentence(made: Order) -> None:
    for progress in Order.Progress:
        made.progress, made.progress_at = progress, timezone.now()
        assert "{" not in status_sentence(made, timezone.now(), sees_contact=True)


def test_its_sender_is_emailed_once_when_it_is_coming_and_once_on_arrival(made: Order, alice: User) -> None:
    NotificationChoice.objects.create(user=alice, kind="delivered", when="now")
    for progress in ("collected", "in_transit", "out_for_delivery", "delivered"):
        advance(made, progress, at=timezone.now())
    found = [line for line in Notification.objects.order_by("pk").values_list("line", flat=True) if line]
    assert found == [f"{made} from N. Tamsin is on its way back.", f"{made} from N. Tamsin arrived back."]


def test_no_text_says_a_return_goes_to_the_receiver(made: Order) -> None:
    for words in {*notifications.RESOLVED.values(), notifications.UNAGREED, reminders.TO_PRINT}:
        event = notifications.make_event(made, "booking", "key", words, timezone.now(), why="-")
        assert "to N. Tamsin" not in event.line


def test_the_bench_doesnt_print_or_hand_over_a_return(
    made: Order, sent: Order, alice: User, visit: Callable[[User], Client], time_machine: Any
) -> None:
    factories.stored_label(made)
    mine = Order.objects.filter(sender=made.sender)
    assert list(printing.to_print(mine, today=timezone.now().date())) == []
    Order.objects.filter(pk=made.pk).update(first_mile="pickup", carrier_pickup_date=timezone.now().date())
    page = visit(alice)
    for sheet in ("pick-list", "handover"):
        assert str(made) not in page.get(f"/parcels/print/{sheet}/").content.decode()
    day = timezone.now().astimezone(made.sender.tzinfo).date()
    time_machine.move_to(dt.datetime.combine(day, dt.time(7, 30), made.sender.tzinfo))
    Order.objects.filter(pk=made.pk).update(carrier_pickup_date=day)
    reminders.send_due_reminders(timezone.now())
    assert not Notification.objects.exists()
    assert page.get(f"/parcels/print/?order={made.uuid}").context["rows"]


def test_a_late_return_is_no_late_parcel_or_delivery_in_reports_but_may_be_refunded(
    made: Order, sent: Order, quill: Sender, alice: User
) -> None:
    now = timezone.now()
    yesterday = now.date() - dt.timedelta(days=1)
    scope = SenderScope.of(alice, quill, now)
    Order.objects.filter(pk=made.pk).update(progress="in_transit", progress_at=now, eta_to=yesterday)
    assert not scope.orders.filter(VIEWS["late"].where(scope)).exists()
    Order.objects.filter(pk=made.pk).update(progress="delivered", eta_to=yesterday - dt.timedelta(days=1))
    days = Days(yesterday - dt.timedelta(days=2), now.date() + dt.timedelta(days=1), quill.tzinfo)
    Order.objects.filter(pk=sent.pk).update(eta_from=None, eta_to=None)
    day_figures.count_days(quill, days)
    figures = [day_figures.Figures.from_json(row.figures) for row in quill.day_figures.all()]
    assert sum(one.returns for one in figures) == 1
    assert sum(sum(one.promises.values()) for one in figures) == 1  # the parcel itself
    assert day_figures.late_orders(quill, days.first) == {made.pk}
    assert scope.orders.filter(VIEWS["delivered-lately"].where(scope)).get() == sent
    assert scope.orders.filter(VIEWS["returns"].where(scope)).get() == made


def test_the_person_who_sent_it_back_is_found_and_erased(made: Order, alice: User) -> None:
    SavedView.objects.create(sender=made.sender, made_by=alice, name="Noor", slug="noor", query="q=noor+tamsin")
    for asked in (
        {"email": "Noor.Tamsin@example.net"},
        {"phone": "0491 570 156"},
        {"name": "Noor Tamsin", "postcode": "7000"},
    ):
        assert f"order:{made.pk}" in {one.value for one in find_person(**asked)}
    assert f"order:{made.pk}" not in {one.value for one in find_person(email="alice@quill.example")}
    erasing.erase({"order": {made.pk}})
    made.refresh_from_db()
    left = " ".join(map(str, (made.pickup, made.search, vars(made.receiver()))))
    assert not any(part in left for part in ("Noor", "Tamsin", "Sample Street", "0491", "HOBART", "7000"))
    assert made.pickup["country"] == "AU"
    assert not SavedView.objects.exists()


def test_a_return_of_an_erased_parcel_isnt_priced(sent: Order, quill: Sender, alice: User) -> None:
    erasing.erase({"order": {sent.pk}})
    sent.refresh_from_db()
    assert returning.why_not_sent_back(sent) == returning.ERASED


def test_a_return_that_wasnt_booked_is_not_booked_alongside_another(sent: Order, quill: Sender, alice: User) -> None:
    first = back(sent, quill, alice, status="not_booked")
    back(sent, quill, alice, status="booked")
    with pytest.raises(Order.Duplicate):
        bookings.confirm(first, by=alice, now=timezone.now())


def test_a_corrected_return_at_another_price_needs_consent_and_is_no_duplicate(
    sent: Order, quill: Sender, alice: User
) -> None:
    """A carrier may take days to decide whether it refunds the old one."""
    old = back(sent, quill, alice, status="cancel_asked")
    new = back(sent, quill, alice, status="not_booked")
    with pytest.raises(Order.Duplicate):
        bookings.confirm(new, by=alice, now=timezone.now())
    new.replaces = old
    new.save()
    bookings.confirm(new, by=alice, now=timezone.now())
    assert list(Order.returns_of(sent.pk)) == [new]


@pytest.mark.parametrize("booked_after", [False, True])
def test_a_corrected_return_isnt_booked_if_another_was_booked_meanwhile(
    sent: Order, quill: Sender, alice: User, *, booked_after: bool
) -> None:
    now = timezone.now()
    old = back(sent, quill, alice, status="cancelled")
    asked = now - dt.timedelta(minutes=2)
    meanwhile = asked + dt.timedelta(minutes=1) if booked_after else asked - dt.timedelta(minutes=1)
    back(sent, quill, alice, status="booked", submitted_at=meanwhile)
    quote = factories.quote(quill, alice, parcel=returning.return_of(sent, quill))
    replacement = Replacement.objects.create(
        order=old, quote=quote, product_code="STANDARD-PICKUP", form_token=uuid.uuid4(), asked_by=alice,
        asked_at=asked, due_at=asked,
    )  # fmt: skip
    replacing.replace_due_parcel(replacement.pk)
    replacement.refresh_from_db()
    assert replacement.problem == (returning.ANOTHER if booked_after else "")
    assert Order.objects.filter(returns=sent, status="booking").count() == (0 if booked_after else 1)
    replacing.replace_due_parcel(replacement.pk)
    assert Order.objects.filter(returns=sent, status="booking").count() == (0 if booked_after else 1)
