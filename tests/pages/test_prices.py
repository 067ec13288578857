"""The quotes page and the Book button: honest prices, one form is one booking."""

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.calling import gateway
from orders.models import CarrierAccount, Order, Quote
from orders.quoting import asking
from shipping_portal.accounts.models import PickupAddress, Sender, User
from tests import factories
from tests.pages.parcel_form import form
from tests.pages.typed import ABROAD, AT_HOME, text, title
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


@pytest.fixture
def quote(quill: Sender, alice: User) -> Quote:
    return factories.quote(quill, alice)


def book(page: Client, quote: Quote, **changes: Any) -> Any:
    return page.post(f"{factories.prices_of(quote)}book/", form(quote, **changes))


def test_offers_are_listed_from_cheapest_to_most_expensive(
    carrier: SandboxCarrier, localities: None, page: Client
) -> None:
    answer = page.post("/parcels/new/", AT_HOME, follow=True)
    prices = [Decimal(offer["amount"]) for offer in Quote.objects.get().products]
    shown = [answer.content.decode().index(f"${price}") for price in sorted(prices)]
    assert len(prices) > 1
    assert shown == sorted(shown)
    words = text(answer)
    for badge in ("Cheapest", "Fastest", "Drop-off", "Pickup", "Arrives", "Service charge", "tax included"):
        assert badge in words


def test_the_cheapest_is_found_by_number_not_by_text(page: Client, quill: Sender, alice: User) -> None:
    quote = factories.quote(quill, alice)
    [offer] = quote.products
    quote.products = [{**offer, "amount": "12.00"}, {**offer, "code": "ECONOMY", "amount": "9.50"}]
    quote.save()
    cheapest, dearest = page.get(factories.prices_of(quote)).context["page"].offers
    assert (cheapest.code, cheapest.is_cheapest, dearest.is_cheapest) == ("ECONOMY", True, False)


def test_every_part_of_the_breakdown_is_listed_known_or_not(page: Client, quill: Sender, alice: User) -> None:
    lines = [["base", "11.20", "AUD"], ["service_charge", "0.20", "AUD"], ["moon_phase_fee", "0.68", "AUD"]]
    words = text(page.get(factories.prices_of(factories.quote(quill, alice, breakdown=lines))))
    assert "Delivery $11.20" in words
    assert "Service charge $0.20" in words
    assert "Moon phase fee $0.68" in words
    assert "Total $12.08 AUD" in words


def test_duties_are_shown_separately(carrier: SandboxCarrier, localities: None, page: Client) -> None:
    words = text(page.post("/parcels/new/", ABROAD, follow=True))
    assert "Duties and taxes included – guaranteed total" in words
    assert "Receiver may be asked for duties and taxes." in words


def test_without_an_offer_the_page_says_what_to_try(page: Client, quill: Sender, alice: User) -> None:
    nothing = factories.quote(quill, alice)
    Quote.objects.filter(pk=nothing.pk).update(products=[])
    words = text(page.get(factories.prices_of(nothing)))
    assert "No service takes this parcel" in words
    assert "The carrier offers nothing for 2.4 kg from 3065 to 7000." in words


def test_the_button_carries_the_price_and_pickup_days_are_business_days(page: Client, quote: Quote) -> None:
    body = " ".join(page.get(factories.prices_of(quote)).content.decode().split())
    assert "Book parcel, $12.08" in body
    assert body.count('name="pickup_date"') == 3
    assert 'name="pickup_date" value="" checked' in body


def test_a_drop_off_asks_for_no_day(page: Client, quill: Sender, alice: User) -> None:
    quote = factories.quote(quill, alice, code="STANDARD-DROPOFF", first_mile="drop-off")
    answer = page.get(factories.prices_of(quote))
    assert 'name="pickup_date"' not in answer.content.decode()
    assert "No pickup day is needed." in text(answer)


def test_the_age_of_prices_is_shown_and_old_ones_cannot_be_booked_from_the_page(
    page: Client, quill: Sender, alice: User
) -> None:
    young = factories.quote(quill, alice, at=timezone.now() - dt.timedelta(seconds=40))
    assert "Prices are current. They refresh every 3 minutes." in text(page.get(factories.prices_of(young)))
    old = factories.quote(quill, alice, at=timezone.now() - dt.timedelta(minutes=6))
    answer = page.get(factories.prices_of(old))
    assert "These prices are over 3 minutes old." in text(answer)
    assert "Book parcel" not in text(answer)


def test_prices_can_be_checked_again_with_one_click(
    carrier: SandboxCarrier, localities: None, page: Client, quill: Sender, alice: User
) -> None:
    old = factories.quote(quill, alice, at=timezone.now() - dt.timedelta(minutes=6))
    answer = page.post(factories.prices_of(old))
    assert answer["Location"] == factories.prices_of(Quote.objects.latest("pk"))
    assert Quote.objects.count() == 2


def test_a_carrier_in_trouble_keeps_the_old_prices_and_says_so(page: Client, quote: Quote) -> None:
    answer = page.post(factories.prices_of(quote), follow=True)
    assert "The carrier didn't answer" in text(answer)
    assert answer.redirect_chain[-1][0] == factories.prices_of(quote)


def test_booking_makes_one_order_and_leads_to_its_progress(page: Client, quote: Quote) -> None:
    answer = book(page, quote)
    order = Order.objects.get()
    assert answer["Location"] == f"/parcels/{order.uuid}/booking/"
    assert (order.status, order.price, order.pickup_date) == ("booking", Decimal("12.08"), None)


def test_the_same_form_sent_twice_is_one_booking(page: Client, quote: Quote) -> None:
    assert book(page, quote)["Location"] == book(page, quote)["Location"]
    assert Order.objects.count() == 1


def test_prices_from_an_earlier_pickup_address_are_checked_again(
    carrier: SandboxCarrier, localities: None, page: Client, quote: Quote
) -> None:
    """Otherwise the driver goes to where the business was when the page was opened."""
    PickupAddress.objects.update(line1="99 New Road")
    answer = book(page, quote)
    newest = Quote.objects.latest("pk")
    assert (answer["Location"], Order.objects.count()) == (factories.prices_of(newest), 0)
    assert "Your pickup address has changed since the price you saw" in text(page.get(answer["Location"]))
    book(page, newest, product=newest.products[0]["code"])
    assert Order.objects.get().pickup["line1"] == "99 New Road"


def test_a_parcel_booked_before_the_pickup_address_changed_is_not_booked_again(page: Client, quote: Quote) -> None:
    first = book(page, quote)
    PickupAddress.objects.update(line1="99 New Road")
    assert book(page, quote)["Location"] == first["Location"]
    assert Order.objects.count() == 1


def test_going_back_and_booking_another_day_books_nothing_new(page: Client, quote: Quote) -> None:
    book(page, quote)
    body = page.get(factories.prices_of(quote)).content.decode()
    assert "You booked this parcel." in body
    assert "Book parcel" not in body
    Quote.objects.filter(pk=quote.pk).update(products=[*quote.products, {**factories.OFFER, "code": "EXPRESS-PICKUP"}])
    answer = book(page, quote, product="EXPRESS-PICKUP")
    assert answer.status_code == 409
    assert "Nothing new was booked." in text(answer)
    assert Order.objects.count() == 1


def test_price_and_owner_in_the_post_are_ignored(page: Client, quote: Quote, quill: Sender) -> None:
    book(page, quote, price="0.01", amount="0.01", currency="XXX", status="booked", carrier_reference="SX")
    order = Order.objects.get()
    assert (order.price, order.currency, order.status, order.sender) == (Decimal("12.08"), "AUD", "booking", quill)
    assert order.carrier_reference is None


@pytest.mark.parametrize(
    ("field", "value", "found"),
    [
        ("product", "", "Choose a service."),
        ("product", "STANDARD-DDP-PICKUP", "That service is not among the offers for this parcel."),
        ("pickup_date", "2026-02-30", "Choose one of the pickup days."),
        ("pickup_date", "10000-01-01", "Choose one of the pickup days."),
        ("pickup_date", "2026-12-25T00:00", "Choose one of the pickup days."),
        ("pickup_date", "25/12/2026", "Choose one of the pickup days."),
        ("pickup_date", "2001-01-01", "That pickup day is no longer on offer."),
        ("form_token", "", "Open this page again, then book."),
        ("form_token", "nonsense", "Open this page again, then book."),
    ],
)
def test_an_invalid_choice_shows_an_error_and_books_nothing(
    page: Client, quote: Quote, field: str, value: str, found: str
) -> None:
    answer = book(page, quote, **{field: value})
    assert answer.status_code == 422
    assert found in text(answer)
    assert title(answer).startswith("Error: ")
    assert not Order.objects.exists()


def test_a_day_too_far_ahead_is_refused(page: Client, quote: Quote) -> None:
    far = (timezone.now() + dt.timedelta(days=14)).date().isoformat()
    assert "That pickup day is no longer on offer." in text(book(page, quote, pickup_date=far))


def test_a_choice_sent_twice_is_refused(page: Client, quote: Quote) -> None:
    assert "This was sent twice." in text(book(page, quote, product=["STANDARD-PICKUP", "EXPRESS-PICKUP"]))
    assert not Order.objects.exists()


def test_a_stranger_gets_404_and_a_get_books_nothing(page: Client, quote: Quote, bob: User, visit: Visit) -> None:
    stranger = visit(bob)
    assert stranger.get(factories.prices_of(quote)).status_code == 404
    assert book(stranger, quote).status_code == 404
    assert page.get(f"{factories.prices_of(quote)}book/").status_code == 405
    assert not Order.objects.exists()


def test_another_accounts_token_books_nothing_of_theirs(page: Client, quote: Quote, bob: User, visit: Visit) -> None:
    book(page, quote)
    theirs = factories.quote(bob.membership.sender, bob)
    assert book(visit(bob), theirs, form_token=str(quote.uuid)).status_code == 302
    assert Order.objects.filter(sender=bob.membership.sender).count() == 1
    assert Order.objects.get(form_token=quote.uuid, sender=quote.sender).quote == quote


def test_two_senders_have_their_own_prices_of_the_same_parcel(
    carrier: SandboxCarrier, quill: Sender, alice: User, bob: User
) -> None:
    parcel, now = factories.details(quill), timezone.now()
    alices = asking.ask_for_prices(quill, parcel, by=alice, now=now)
    bobs = asking.ask_for_prices(bob.membership.sender, parcel, by=bob, now=now)
    assert (alices.sender, bobs.sender) == (quill, bob.membership.sender)
    assert asking.ask_for_prices(quill, parcel, by=alice, now=now) == alices


def test_a_suspended_sender_books_nothing(page: Client, quote: Quote, quill: Sender, sam: User) -> None:
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="-", now=timezone.now())
    for answer in (book(page, quote), page.post(factories.prices_of(quote))):
        assert answer.status_code == 403
        assert "Unpaid bill." in text(answer)
    assert not Order.objects.exists()


def test_a_paused_carrier_is_announced_everywhere_and_books_nothing(page: Client, quote: Quote) -> None:
    row = gateway.current_account()
    CarrierAccount.objects.filter(pk=row.pk).update(paused_at=timezone.now(), pause_text="The depot is flooded.")
    answer = book(page, quote)
    assert "The depot is flooded. Nothing was booked." in text(answer)
    assert "The carrier isn't taking bookings since" in text(page.get("/parcels/"))
    assert not Order.objects.exists()


def test_the_daily_limit_is_explained(page: Client, quote: Quote, quill: Sender) -> None:
    Sender.objects.filter(pk=quill.pk).update(bookings_a_day=0)
    found = text(book(page, quote))
    assert "This account books at most 0 parcels a day; 0 are booked today. Nothing was booked" in found


def test_the_limit_of_all_senders_is_explained(page: Client, quote: Quote, settings: Any) -> None:
    settings.DAILY_MONEY_LIMIT = 0
    answer = book(page, quote)
    assert answer.status_code == 422
    assert "Bookings rest until tomorrow" in text(answer)
    assert not Order.objects.exists()


def test_an_unknown_quote_is_404(page: Client) -> None:
    assert page.get(f"/parcels/drafts/{uuid.uuid4()}/prices/").status_code == 404
