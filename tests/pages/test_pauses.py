"""What senders read while an operator has paused bookings or prices: why, until when, and that nothing is lost."""

import datetime as dt
from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import CarrierCall, Order, Quote
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.pages.pauses import HOUR, pause
from tests.pages.typed import AT_HOME, text
from tests.staff import cases

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(alice: User, visit: Callable[[User], Client]) -> Client:
    return visit(alice)


@pytest.fixture
def due(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booking", due_at=timezone.now())


def test_while_prices_are_paused_the_form_says_so_and_can_be_filled_in(page: Client, localities: None) -> None:
    pause("quotes")
    answer = page.get("/parcels/new/")
    assert answer.status_code == 200
    assert "There are no prices since" in text(answer)
    assert "The depot is flooded." in text(answer)
    assert "See prices" in text(answer)


def test_while_prices_are_paused_a_posted_form_keeps_everything_typed_and_calls_no_carrier(
    page: Client, localities: None
) -> None:
    pause("quotes")
    answer = page.post("/parcels/new/", AT_HOME)
    body = answer.content.decode()
    assert answer.status_code == 422
    summary = body[body.index("<main") : body.index("<form", body.index("<main"))]
    assert "The depot is flooded. Nothing was booked." in summary
    for name in ("receiver_name", "receiver_line1", "receiver_email", "description", "weight_kg"):
        assert f'value="{AT_HOME[name]}"' in body, name
    assert not CarrierCall.objects.exists()
    assert not Quote.objects.exists()


def test_cached_prices_from_a_minute_ago_are_not_shown_either(
    page: Client, localities: None, quill: Sender, alice: User
) -> None:
    quote = factories.quote(quill, alice)
    pause("quotes")
    answer = page.post(factories.prices_of(quote), follow=True)
    assert "The depot is flooded. Nothing was booked." in text(answer)
    assert Quote.objects.get() == quote


def test_while_only_prices_are_paused_an_existing_quote_can_be_booked(page: Client, quill: Sender, alice: User) -> None:
    quote = factories.quote(quill, alice)
    pause("quotes")
    page.post(f"{factories.prices_of(quote)}book/", {"product": "STANDARD-PICKUP", "form_token": str(quote.uuid)})
    assert Order.objects.get().status == "booking"


@pytest.mark.parametrize(
    ("what", "says"), [("bookings", "Booking is on again from"), ("quotes", "Prices are back from")]
)
def test_the_banner_says_when_the_pause_ends_and_disappears_then(page: Client, what: str, says: str) -> None:
    pause(what, ends_in=HOUR)
    assert says in text(page.get("/parcels/"))
    pause(what, ends_in=-dt.timedelta(seconds=1))
    words = text(page.get("/parcels/"))
    assert says not in words
    assert "The depot is flooded." not in words


@pytest.mark.parametrize("what", ["bookings", "quotes"])
def test_without_an_end_the_banner_names_none(page: Client, what: str) -> None:
    pause(what)
    words = text(page.get("/parcels/"))
    assert "The depot is flooded." in words
    assert "again from" not in words
    assert "back from" not in words


def test_an_operators_text_is_escaped(page: Client) -> None:
    pause("bookings", words="<b>Closed</b>")
    assert "&lt;b&gt;Closed&lt;/b&gt;" in page.get("/parcels/").content.decode()


def test_a_due_bookings_pages_say_that_it_waits_because_bookings_are_paused(page: Client, due: Order) -> None:
    pause("bookings")
    waiting = text(page.get(f"/parcels/{due.uuid}/booking/"))
    assert "Bookings are paused, so this one waits. The depot is flooded." in waiting
    assert "Nothing is booked yet and nothing is charged." in waiting
    assert "Bookings are paused, so this booking waits." in text(page.get(f"/parcels/{due.uuid}/"))


def test_a_due_booking_whose_price_is_too_old_waits_for_prices(page: Client, due: Order) -> None:
    pause("quotes", ends_in=HOUR)
    assert "waits" not in text(page.get(f"/parcels/{due.uuid}/booking/"))
    Order.objects.update(quoted_at=timezone.now() - HOUR)
    words = text(page.get(f"/parcels/{due.uuid}/booking/"))
    assert "Prices are paused, so this booking waits" in words
    assert "It goes out from" in words


def test_a_booking_sent_before_the_pause_does_not_say_it_waits(page: Client, quill: Sender, alice: User) -> None:
    sent = cases.unclear(quill, alice, status="booking", state="in_flight", done_at=None)
    pause("bookings")
    assert "Asking the carrier for a label." in text(page.get(f"/parcels/{sent.uuid}/booking/"))


@pytest.mark.parametrize("address", ["", "booking/"])
def test_an_open_page_updates_when_a_pause_starts_and_ends(page: Client, due: Order, address: str) -> None:
    url = f"/parcels/{due.uuid}/{address}"
    open_state = page.get(url).context["state"]
    assert page.get(url, {"seen": open_state}).status_code == 204
    pause("bookings", ends_in=HOUR)
    found = page.get(url, {"seen": open_state})
    assert "Bookings are paused" in found.content.decode()
    pause("bookings", ends_in=-dt.timedelta(seconds=1))
    assert "paused" not in text(page.get(url, {"seen": found.context["state"]}))
