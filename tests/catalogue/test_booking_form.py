"""The Book button: a wrong choice shows an error, a forged one changes nothing, an old price is checked again."""

import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
import time_machine

from orders.booking import bookings
from orders.models import Order, Quote
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.catalogue.browsing import Browser, ListeningCarrier
from tests.catalogue.rows import rows
from tests.pages.typed import text, title

pytestmark = pytest.mark.django_db

MONDAY = dt.datetime(2026, 11, 23, 1, tzinfo=dt.UTC)  # noon where Alice is
DAY = "Choose one of the pickup days."
GONE = "That pickup day is no longer on offer. Nothing was booked. Choose another."
SERVICE = "That service is not among the offers for this parcel. Nothing was booked. Choose another."
AGAIN = "Open this page again, then book."
TWICE = "This was sent twice. Fill it in once."
HIDDEN = "Use plain text on one line, without hidden characters."


@pytest.fixture
def monday() -> Iterator[Any]:
    with time_machine.travel(MONDAY, tick=False) as clock:
        yield clock


@pytest.fixture
def quote(monday: Any, quill: Sender, alice: User) -> Quote:
    return factories.quote(quill, alice)


@pytest.fixture
def book(quote: Quote, alices: Browser) -> Callable[..., Any]:
    """`book(product=…)` presses Book on the page of prices with these changes to its form."""

    def press(browser: Browser = alices, of: Quote = quote, **changes: Any) -> Any:
        form = {"product": "STANDARD-PICKUP", "pickup_date": "", "form_token": str(of.uuid), **changes}
        page = factories.prices_of(of)
        own = page if browser.get(page).status_code == 200 else "/help/"
        return browser.send(f"{page}book/", form, form_on=own)

    return press


@rows(
    "name, typed, message",
    ("B14", "yesterday", "pickup_date", "2026-11-22", GONE),
    ("B14", "today", "pickup_date", "2026-11-23", GONE),
    ("B14", "30 February", "pickup_date", "2026-02-30", DAY),
    ("B14", "year 10000", "pickup_date", "10000-01-01", DAY),
    ("B14", "year 0", "pickup_date", "0000-01-01", DAY),
    ("B14", "four days ahead", "pickup_date", "2026-11-27", GONE),
    ("B14", "the weekend", "pickup_date", "2026-11-28", GONE),
    ("B15", "with a time", "pickup_date", "2026-12-25T00:00", DAY),
    ("B15", "day first", "pickup_date", "25/12/2026", DAY),
    ("B15", "a week", "pickup_date", "2026-W48-2", DAY),
    ("B15", "without dashes", "pickup_date", "20261124", DAY),
    ("B15", "Arabic digits", "pickup_date", "٢٠٢٦-11-24", DAY),
    ("B15", "a word", "pickup_date", "tomorrow", DAY),
    ("B22", "not in the quote", "product", "EXPRESS-PICKUP", SERVICE),
    ("B22", "duties paid at home", "product", "STANDARD-DDP-PICKUP", SERVICE),
    ("B22", "in lower case", "product", "standard-pickup", SERVICE),
    ("B22", "none", "product", "", "Choose a service."),
    ("B22", "1,000 characters", "product", "X" * 1000, "Choose one of the services."),
    ("B22", "with NUL", "product", "STANDARD-PICKUP\x00", HIDDEN),
    ("B30", "two services", "product", ["STANDARD-PICKUP", "EXPRESS-PICKUP"], TWICE),
    ("B30", "two days", "pickup_date", ["", "2026-11-24"], TWICE),
    ("B30", "two tokens", "form_token", [str(uuid.UUID(int=1)), str(uuid.UUID(int=2))], TWICE),
    ("B32", "no token", "form_token", "", AGAIN),
    ("B32", "an invalid token", "form_token", "1 OR 1=1", AGAIN),
)
def test_a_wrong_choice_shows_an_error_and_books_nothing(
    book: Callable[..., Any], listener: ListeningCarrier, name: str, typed: Any, message: str
) -> None:
    answer = book(**{name: typed})
    assert answer.status_code == 422
    assert answer.context["form"].errors == {name: [message]}
    assert message in text(answer)
    assert title(answer).startswith("Error: ")
    assert "Book parcel, $12.08" in text(answer)  # the offers are still there to choose from
    assert not Order.objects.exists()
    assert listener.asked == []


@rows("day", ("B14", "blank", ""), ("B14", "tomorrow", "2026-11-24"), ("B14", "third day", "2026-11-26"))
def test_a_day_on_offer_can_be_booked(book: Callable[..., Any], day: str) -> None:
    assert book(pickup_date=day).status_code == 302
    assert Order.objects.get().pickup_date == (dt.date.fromisoformat(day) if day else None)


@rows("", ("B22", "100 characters, as long as the carrier may name one"))
def test_the_longest_product_code_that_is_quoted_can_be_booked(
    quill: Sender, alice: User, book: Callable[..., Any], monday: Any
) -> None:
    longest = "X" * 93 + "-PICKUP"
    assert book(of=factories.quote(quill, alice, code=longest), product=longest).status_code == 302
    assert Order.objects.get().product_code == longest


@rows("", ("B27", "six minutes old"))
def test_an_old_price_has_no_book_button(monday: Any, quote: Quote, alices: Browser) -> None:
    monday.shift(dt.timedelta(minutes=6))
    page = text(alices.get(factories.prices_of(quote)))
    assert "These prices are over 3 minutes old." in page
    assert "Book parcel" not in page


@rows("", ("B27", "pressed on a page left open"))
def test_an_old_price_is_checked_again_before_anything_is_booked(
    monday: Any, quote: Quote, book: Callable[..., Any], alices: Browser, listener: ListeningCarrier
) -> None:
    """The worker checks it (docs/decisions/0003). A higher price waits for the sender to agree."""
    monday.shift(dt.timedelta(minutes=6))
    listener.price = Decimal("14.00")
    book()
    order = Order.objects.get()
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, order.attempts.count(), len(listener.asked)) == ("draft", 0, 1)
    page = text(alices.get(f"/parcels/{order.uuid}/booking/"))
    assert "The price is now $14.00 AUD (was $12.08 AUD)" in page


@rows(
    "forged",
    ("B28", "price", {"price": "0.01"}),
    ("B28", "currency", {"currency": "XXX"}),
    ("B28", "total and amount", {"total": "0", "amount": "0.01", "charged_price": "0"}),
    ("B29", "state", {"state": "BOOKED", "status": "booked"}),
    ("B29", "owner", {"owner": "1", "sender": "1", "sender_id": "1", "made_by": "1", "account": "1"}),
    ("B29", "carrier's reference", {"carrier_reference": "SX", "carrier_order_id": "1", "booked_at": "2026-01-01"}),
    ("B29", "receiver", {"receiver_name": "Mallory", "receiver_line1": "1 Other Street"}),
)
def test_extra_fields_in_the_post_change_nothing(
    book: Callable[..., Any], quill: Sender, alice: User, bob: User, forged: dict[str, str]
) -> None:
    assert book(**forged).status_code == 302
    order = Order.objects.get()
    assert (order.price, order.currency, order.charged_price) == (Decimal("12.08"), "AUD", None)
    assert (order.status, order.sender, order.made_by) == ("booking", quill, alice)
    assert (order.carrier_reference, order.carrier_order_id, order.booked_at) == (None, "", None)
    assert order.receiver_name == "Noor Tamsin"


@rows("", ("B32", "same payload"))
def test_sending_the_same_form_again_leads_to_the_same_order(book: Callable[..., Any]) -> None:
    first, second = book(), book()
    assert (first.status_code, first["Location"]) == (second.status_code, second["Location"])
    assert Order.objects.count() == 1


@rows("", ("B32", "other payload"))
def test_the_same_form_with_another_day_is_a_conflict(book: Callable[..., Any]) -> None:
    book()
    answer = book(pickup_date="2026-11-25")
    assert answer.status_code == 409
    assert "Nothing new was booked." in text(answer)
    assert Order.objects.get().pickup_date is None


@rows("", ("B32", "of another user"))
def test_somebody_elses_form_is_not_found(book: Callable[..., Any], bob: User, quote: Quote) -> None:
    book()
    assert book(Browser(bob)).status_code == 404
    theirs = factories.quote(bob.membership.sender, bob)
    own = book(Browser(bob), theirs, form_token=str(quote.uuid))  # a token means something to one account only
    assert own["Location"] != f"/parcels/{Order.objects.get(sender=quote.sender).uuid}/booking/"
    assert Order.objects.filter(sender=quote.sender).count() == 1
