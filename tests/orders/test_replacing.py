"""Replacing a booked parcel: it is cancelled first, and only then booked again, once."""

import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from orders.booking import booking_rules, bookings
from orders.cancelling import cancels, replacing
from orders.models import CarrierAccount, Order, Quote, Replacement
from orders.quoting import asking
from orders.status.transitions import advance
from shipping_portal.accounts.address import receivers
from shipping_portal.accounts.models import Sender, User
from tests import factories, older
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

Book = Callable[..., Order]
Ask = Callable[..., Replacement]


@pytest.fixture
def mended(quill: Sender, alice: User, carrier: SandboxCarrier) -> Quote:
    parcel = factories.details(quill, receiver=factories.receiver(line1="44 Sample Street"))
    return asking.ask_for_prices(quill, parcel, by=alice, now=timezone.now())


@pytest.fixture
def replace(alice: User, mended: Quote) -> Ask:
    """`replace(order)` presses “Cancel and book again” as Alice."""
    token = uuid.uuid4()

    def press(order: Order) -> Replacement:
        replacing.ask_to_replace(
            order, quote=mended, code="STANDARD-PICKUP", by=alice, form_token=token, pickup_date=None,
            now=timezone.now(),
        )  # fmt: skip
        return order.replacements.get()

    return press


def cancelled_by_the_carrier(order: Order) -> None:
    cancels.process_cancel(order.pk)


def test_nothing_new_is_booked_before_the_carrier_has_cancelled(booked: Book, replace: Ask) -> None:
    order = booked()
    replacement = replace(order)
    replacing.replace_due_parcel(replacement.pk)
    assert Order.objects.get().status == "cancelling"


def test_the_corrected_parcel_is_booked_once_the_old_one_is_cancelled(
    booked: Book, replace: Ask, carrier: SandboxCarrier
) -> None:
    order = booked()
    replacement = replace(order)
    cancelled_by_the_carrier(order)
    replacing.replace_due_parcel(replacement.pk)
    new = Order.objects.get(replaces=order)
    bookings.process_booking(new.pk)
    new.refresh_from_db()
    assert (new.status, new.receiver_line1) == ("booked", "44 Sample Street")
    assert len(carrier.ledger("cancelled")) == 1
    assert len(carrier.ledger("booked")) == 2


def test_a_corrected_parcel_keeps_its_place_in_an_order_of_several(booked: Book, replace: Ask) -> None:
    order = booked()
    Order.objects.filter(pk=order.pk).update(consignment=order.form_token, parcel_number=2, parcel_count=3)
    replacement = replace(order)
    cancelled_by_the_carrier(order)
    replacing.replace_due_parcel(replacement.pk)
    new = Order.objects.get(replaces=order)
    assert new.place_in_order == "2 of 3"
    assert list(new.consignment_parcels()) == [new]  # not the one it replaces


def test_a_replacement_counts_like_any_booking_and_says_if_it_is_over_a_limit(
    booked: Book, replace: Ask, quill: Sender
) -> None:
    order = booked()
    replacement = replace(order)
    cancelled_by_the_carrier(order)
    quill.refresh_from_db()
    assert quill.booked_today == 0
    Sender.objects.update(own_bookings_a_day=0)
    replacing.replace_due_parcel(replacement.pk)
    replacement.refresh_from_db()
    assert "Your own limit is 0 parcels a day; 0 are booked today." in replacement.problem
    assert not Order.objects.filter(replaces=order).exists()


@pytest.mark.parametrize(
    ("lost", "why"), [("description", "what's inside"), ("receiver", "service"), ("products", "service")]
)
def test_a_replacement_that_can_no_longer_be_booked_says_why(
    booked: Book, replace: Ask, mended: Quote, lost: str, why: str
) -> None:
    """The contract began to need contents, say, while the cancellation was unclear."""
    order = booked()
    replacement = replace(order)
    cancelled_by_the_carrier(order)
    if lost == "products":
        mended.products = []
    elif lost == "receiver":
        mended.details["receiver"]["name"] = ""
    else:
        mended.details["description"] = ""
    mended.save()
    replacing.replace_due_parcel(replacement.pk)
    replacement.refresh_from_db()
    assert replacement.ended_at
    assert why in replacement.problem
    assert Order.objects.count() == 1


def test_the_address_book_has_the_corrected_receiver_and_not_the_wrong_one(
    booked: Book, replace: Ask, quill: Sender
) -> None:
    order = booked()
    replacement = replace(order)
    cancelled_by_the_carrier(order)
    replacing.replace_due_parcel(replacement.pk)
    assert [one.line1 for one in quill.receivers.all()] == ["44 Sample Street"]


def test_a_receiver_of_other_parcels_stays_beside_the_corrected_one(booked: Book, replace: Ask, quill: Sender) -> None:
    order = booked()
    receivers.count_use(quill, order.details().receiver, at=timezone.now())
    replacement = replace(order)
    cancelled_by_the_carrier(order)
    replacing.replace_due_parcel(replacement.pk)
    assert quill.receivers.count() == 2


def test_running_it_again_books_nothing_more(booked: Book, replace: Ask) -> None:
    order = booked()
    replacement = replace(order)
    cancelled_by_the_carrier(order)
    for _ in range(3):
        replacing.replace_due_parcel(replacement.pk)
    assert Order.objects.count() == 2


def test_a_worker_that_died_after_queuing_the_new_parcel_books_one(booked: Book, replace: Ask) -> None:
    order = booked()
    replacement = replace(order)
    cancelled_by_the_carrier(order)
    made = bookings.submit(
        quote=replacement.quote, code=replacement.product_code, by=replacement.asked_by,
        form_token=replacement.form_token, pickup_date=None, now=timezone.now(),
    )  # fmt: skip
    replacing.replace_due_parcel(replacement.pk)
    replacement.refresh_from_db()
    assert Order.objects.get(replaces=order) == replacement.booked == made
    assert Order.objects.count() == 2


def test_the_same_form_pressed_twice_is_one_replacement(booked: Book, replace: Ask) -> None:
    order = booked()
    assert replace(order) == replace(order)
    assert order.cancels.count() == 1


def test_two_parcels_with_the_same_correction_share_a_quote_and_are_two_new_parcels(
    booked: Book, replace: Ask, carrier: SandboxCarrier
) -> None:
    for order in (booked(), booked()):
        replacement = replace(order)
        cancelled_by_the_carrier(order)
        replacing.replace_due_parcel(replacement.pk)
        assert Order.objects.get(replaces=order).status == "booking"
    assert Order.objects.filter(replaces__isnull=False).count() == 2


def test_a_price_older_than_its_quote_cancels_nothing(booked: Book, replace: Ask, mended: Quote) -> None:
    order = booked()
    mended.made_at -= dt.timedelta(hours=1)
    with pytest.raises(replacing.OldPrice):
        replace(order)
    order.refresh_from_db()
    assert (order.status, Replacement.objects.count()) == ("booked", 0)


def test_a_price_of_another_carrier_account_cancels_nothing(booked: Book, replace: Ask, mended: Quote) -> None:
    order = booked()
    mended.account = older.unnamed()
    with pytest.raises(booking_rules.CarrierChanged):
        replace(order)
    order.refresh_from_db()
    assert (order.status, Replacement.objects.count()) == ("booked", 0)


def test_a_change_of_accounts_after_the_cancellation_ends_a_replacement_with_a_reason(
    booked: Book, replace: Ask, mended: Quote
) -> None:
    order = booked()
    replacement = replace(order)
    cancelled_by_the_carrier(order)
    Quote.objects.filter(pk=mended.pk).update(account=older.unnamed())
    replacing.replace_due_parcel(replacement.pk)
    replacement.refresh_from_db()
    assert (replacement.booked, replacement.problem) == (
        None, "We send with another carrier since, so its price no longer holds.",
    )  # fmt: skip
    assert not Order.objects.filter(replaces=order).exists()


def test_a_refused_replacement_can_be_requested_again_from_the_same_page(
    booked: Book, replace: Ask, carrier: SandboxCarrier
) -> None:
    order = booked()
    Replacement.objects.filter(pk=replace(order).pk).update(ended_at=timezone.now(), problem="Not now.")
    Order.objects.update(status="booked")
    order.refresh_from_db()
    order.cancels.update(state="refused")
    with pytest.raises(Replacement.MultipleObjectsReturned):  # the fixture reads the only one
        replace(order)
    assert order.replacements.filter(ended_at=None).count() == 1


def test_a_worker_that_booked_wins_over_one_that_gave_up(
    booked: Book, replace: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The account's last booking of the day: a second worker counts the first one's and finds no room left."""
    order = booked()
    replacement = replace(order)
    cancelled_by_the_carrier(order)
    submit = bookings.submit

    def submitted_and_overtaken(**asked: Any) -> Order:
        made = submit(**asked)
        replacing._end(replacement, "Today's bookings of this account are used up.", timezone.now())
        return made

    monkeypatch.setattr(bookings, "submit", submitted_and_overtaken)
    replacing.replace_due_parcel(replacement.pk)
    replacement.refresh_from_db()
    assert (replacement.booked, replacement.problem) == (Order.objects.get(replaces=order), "")


def test_a_collected_parcel_stays_booked_and_nothing_new_is_booked(
    booked: Book, replace: Ask, carrier: SandboxCarrier
) -> None:
    order = booked()
    replacement = replace(order)
    carrier.scan(order.carrier_reference, "Pickup", push=False)
    cancelled_by_the_carrier(order)
    replacing.replace_due_parcel(replacement.pk)
    replacement.refresh_from_db()
    assert replacement.problem == (f"{order} wasn't cancelled. It's already been picked up, so it can't be cancelled.")
    assert len(carrier.ledger("booked")) == 1
    assert Order.objects.count() == 1


def test_a_parcel_cancelled_by_hand_after_a_refusal_is_not_booked_again(
    booked: Book, replace: Ask, carrier: SandboxCarrier, alice: User
) -> None:
    order = booked()
    replacement = replace(order)
    carrier.trouble("cancel", "422", count=1)
    cancels.process_cancel(order.pk)  # refused, and the worker dies before it says so
    order.refresh_from_db()
    assert order.status == "booked"
    cancels.ask_to_cancel(order, by=alice, why="I'm not sending it", now=timezone.now())
    cancelled_by_the_carrier(order)
    replacing.replace_due_parcel(replacement.pk)
    replacement.refresh_from_db()
    assert Order.objects.get().status == "cancelled"
    assert (bool(replacement.ended_at), replacement.booked) == (True, None)


def test_an_unclear_cancellation_is_waited_for(booked: Book, replace: Ask, carrier: SandboxCarrier) -> None:
    order = booked()
    replacement = replace(order)
    carrier.trouble("cancel", "commit-close", count=1)
    cancelled_by_the_carrier(order)
    replacing.replace_due_parcel(replacement.pk)
    replacement.refresh_from_db()
    assert replacement.ended_at is None
    assert Order.objects.get().status == "cancel_unconfirmed"


def test_a_pause_in_the_meantime_leaves_the_old_parcel_cancelled_and_says_so(booked: Book, replace: Ask) -> None:
    order = booked()
    replacement = replace(order)
    cancelled_by_the_carrier(order)
    CarrierAccount.objects.update(paused_at=timezone.now(), pause_text="Closed today.")
    replacing.replace_due_parcel(replacement.pk)
    replacement.refresh_from_db()
    assert replacement.problem == "Bookings are paused."
    assert Order.objects.get().status == "cancelled"


def test_a_replacement_that_cannot_be_booked_now_cancels_nothing(
    booked: Book, replace: Ask, quill: Sender, alice: User
) -> None:
    order = booked()
    CarrierAccount.objects.update(paused_at=timezone.now(), pause_text="Closed today.")
    with pytest.raises(booking_rules.Paused):
        replace(order)
    order.refresh_from_db()
    assert (order.status, Replacement.objects.count()) == ("booked", 0)


@pytest.mark.parametrize("progress", ["pickup_missed", "pickup_futile", "in_transit"])
def test_a_parcel_that_may_not_be_cancelled_is_not_replaced(booked: Book, replace: Ask, progress: str) -> None:
    order = booked()
    advance(order, progress, at=timezone.now())
    with pytest.raises((Order.PickupProblem, Order.AlreadyCollected)):
        replace(order)
    assert Replacement.objects.count() == 0
