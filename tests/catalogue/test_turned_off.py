"""An account that an operator turns off while a booking is under way."""

from typing import Any

import pytest
from django.utils import timezone

from orders.booking import bookings
from orders.models import BookingAttempt, Order
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.catalogue.browsing import Browser, ListeningCarrier
from tests.catalogue.rows import rows
from tests.pages.typed import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def due(quill: Sender, alice: User) -> Order:
    """A booking that Alice queued by pressing the button."""
    order = factories.order(quill, alice)
    move_to(order, "booking", by=alice, reason="booked by the sender", at=timezone.now(), due_at=timezone.now())
    return order


@rows("", ("B43", "books with a live session"))
def test_an_account_turned_off_is_logged_out_and_books_nothing(
    alices: Browser, alice: User, quill: Sender, listener: ListeningCarrier
) -> None:
    quote = factories.quote(quill, alice)
    page = factories.prices_of(quote)
    form = {"product": "STANDARD-PICKUP", "form_token": quote.uuid, "csrfmiddlewaretoken": alices.token(page)}
    User.objects.filter(pk=alice.pk).update(is_active=False)
    answer = alices.client.post(f"{page}book/", form)
    assert answer.status_code in {302, 403}
    assert answer.get("Location", "/accounts/login/").startswith("/accounts/login/")
    assert not Order.objects.exists()
    assert alices.get("/parcels/").status_code == 302


@rows("", ("B43", "a booking that was not sent yet"))
def test_an_unsent_booking_waits_for_a_colleague(
    due: Order, alice: User, ana: User, listener: ListeningCarrier, localities: None
) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)
    bookings.process_booking(due.pk)
    due.refresh_from_db()
    assert (due.status, due.due_at, due.attempts.count()) == ("draft", None, 0)
    assert listener.asked == []
    page = text(Browser(ana).get(f"/parcels/{due.uuid}/booking/"))
    assert "The login of the person who booked this was turned off before it was sent." in page
    assert "Nothing was sent to the carrier and you weren't charged." in page


@rows("", ("B43", "a yes of somebody else"))
def test_a_colleague_can_confirm_the_booking(due: Order, alice: User, ana: User, monkeypatch: Any) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)
    bookings.process_booking(due.pk)
    due.refresh_from_db()
    bookings.confirm(due, by=ana, now=timezone.now())
    sent: list[Any] = []
    monkeypatch.setattr(bookings, "_send", lambda order, client, body: sent.append(order))
    bookings.process_booking(due.pk)
    assert sent == [due]


@rows("", ("B43", "a booking that was sent"))
def test_a_sent_booking_is_still_resolved(due: Order, alice: User) -> None:
    now = timezone.now()
    BookingAttempt.objects.create(
        order=due, generation=1, body=b"{}", body_sha256="0" * 64, state="in_flight", lease_until=now, sent_at=now
    )
    User.objects.filter(pk=alice.pk).update(is_active=False)
    bookings.process_booking(due.pk)
    due.refresh_from_db()
    assert due.status == "unconfirmed"
