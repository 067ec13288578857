"""Fix a mistake: the form as booked, what changes, one button, and the outcome."""

import datetime as dt
from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from orders.booking import booking_rules
from orders.models import Draft, Order, Quote, Replacement
from shipping_portal.accounts.models import PickupAddress, Sender, User
from tests import factories
from tests.pages.typed import text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(alice: User, visit: Callable[[User], Client], localities: None, carrier: SandboxCarrier) -> Client:
    return visit(alice)


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked")


@pytest.fixture
def quote(quill: Sender, alice: User) -> Quote:
    parcel = factories.details(quill, receiver=factories.receiver(line1="44 Sample Street"))
    return factories.quote(quill, alice, parcel=parcel)


def prices(order: Order, quote: Quote) -> str:
    """Return the URL of the prices of a draft that corrects this parcel."""
    made = Draft.objects.filter(origin=order, quote=quote).first() or Draft.objects.create(
        sender=order.sender, made_by=order.made_by, source="corrected", origin=order, quote=quote,
        updated_at=timezone.now(),
    )  # fmt: skip
    return f"/parcels/drafts/{made.uuid}/prices/"


@pytest.fixture
def replacement(order: Order, quote: Quote, alice: User) -> Replacement:
    return Replacement.objects.create(
        order=order, quote=quote, product_code="-", form_token=quote.uuid, asked_by=alice, asked_at=timezone.now()
    )


def typed_as_booked(page: Client, order: Order) -> dict[str, str]:
    form = page.get(f"/parcels/{order.uuid}/replace/", follow=True).context["form"]
    return {name: str(value) for name in form.fields if (value := form[name].value()) not in (None, "")}


def test_every_field_is_filled_in_as_it_was_booked(page: Client, order: Order) -> None:
    typed = typed_as_booked(page, order)
    receiver = order.receiver()
    assert typed["receiver_line1"] == receiver.line1
    assert (typed["receiver_suburb"], typed["receiver_postcode"]) == (receiver.suburb, receiver.postcode)
    assert (typed["weight_kg"], typed["description"]) == ("2.4", order.description)
    assert typed["delivery_choice"] == "authority_to_leave"


def test_the_corrected_form_leads_to_what_changes_and_one_button_with_the_price(page: Client, order: Order) -> None:
    mended = typed_as_booked(page, order) | {"receiver_line1": "44 Sample Street"}
    answer = page.post(f"/parcels/{order.uuid}/replace/", mended)
    words = text(page.get(answer["Location"]))
    assert "Address 44 Sample Street was 4 Sample Street" in words
    assert f"Cancel {order} and book again, $" in words


def test_the_button_queues_the_cancellation_and_waits(page: Client, order: Order, quote: Quote) -> None:
    chosen = {"form_token": str(quote.uuid), "product": factories.OFFER["code"]}
    answer = page.post(f"{prices(order, quote)}book/", chosen)
    assert answer["Location"] == f"/parcels/{order.uuid}/replacing/"
    order.refresh_from_db()
    assert (order.status, Order.objects.count()) == ("cancelling", 1)
    assert "Nothing new is booked until the carrier confirms." in text(page.get(answer["Location"]))


def test_a_refused_cancellation_says_that_one_parcel_is_booked_and_paid(
    page: Client, order: Order, replacement: Replacement
) -> None:
    Replacement.objects.update(ended_at=timezone.now(), problem=f"The carrier didn't cancel {order}.")
    words = text(page.get(f"/parcels/{order.uuid}/replacing/"))
    assert f"{order} stays booked" in words
    assert "Nothing new was booked, and you pay once." in words


def test_a_booking_that_fails_afterwards_keeps_everything_typed(
    page: Client, order: Order, replacement: Replacement
) -> None:
    now = timezone.now()
    Replacement.objects.update(ended_at=now, problem="Bookings are paused.")
    Order.objects.update(status="cancelled", cancelled_at=now)
    answer = page.get(f"/parcels/{order.uuid}/replacing/")
    assert f"{order} is cancelled, but the new parcel isn't booked" in text(answer)
    assert f"/parcels/new/?quote={replacement.quote.uuid}" in answer.content.decode()


def test_once_the_new_one_is_due_the_page_leads_to_it(
    page: Client, order: Order, replacement: Replacement, quill: Sender, alice: User
) -> None:
    new = factories.order(quill, alice, status="booking", replaces=order)
    Replacement.objects.update(ended_at=timezone.now(), booked=new)
    address = f"/parcels/{order.uuid}/replacing/"
    assert page.get(address)["Location"] == f"/parcels/{new.uuid}/booking/"
    assert page.get(address, headers={"HX-Request": "true"})["HX-Redirect"] == f"/parcels/{new.uuid}/booking/"


def test_a_parcel_that_is_not_being_replaced_has_no_such_page(page: Client, order: Order) -> None:
    assert page.get(f"/parcels/{order.uuid}/replacing/").status_code == 404


def test_while_it_is_replaced_its_page_links_to_the_wait(
    page: Client, order: Order, replacement: Replacement, quote: Quote
) -> None:
    answer = page.get(prices(order, quote))
    assert answer["Location"] == f"/parcels/{order.uuid}/replacing/"


def test_once_it_is_cancelled_the_wait_is_for_the_new_one(page: Client, order: Order, replacement: Replacement) -> None:
    Order.objects.update(status="cancelled", cancelled_at=timezone.now())
    words = text(page.get(f"/parcels/{order.uuid}/replacing/"))
    assert f"{order} is cancelled. Booking the new parcel." in words
    assert "Asking the carrier" not in words


@pytest.mark.parametrize("status", ["cancelling", "cancel_unconfirmed", "cancelled"])
def test_a_cancellation_after_the_replacement_ended_shows_on_the_parcel(
    page: Client, order: Order, replacement: Replacement, status: str
) -> None:
    now = timezone.now()
    Replacement.objects.update(ended_at=now, problem="The carrier didn't cancel it.")
    later = now + dt.timedelta(minutes=1) if status == "cancelled" else None
    Order.objects.update(status=status, cancelled_at=later)
    assert page.get(f"/parcels/{order.uuid}/replacing/")["Location"] == f"/parcels/{order.uuid}/"


def test_without_its_quote_the_page_does_not_claim_to_keep_anything(
    page: Client, order: Order, replacement: Replacement
) -> None:
    now = timezone.now()
    Replacement.objects.update(ended_at=now, problem="It took so long that the price is gone.", quote=None)
    Order.objects.update(status="cancelled", cancelled_at=now)
    words = text(page.get(f"/parcels/{order.uuid}/replacing/"))
    assert f"What you changed isn't kept; the form starts from {order} as it was." in words
    assert "Everything you typed is kept" not in words


def test_a_price_that_is_too_old_is_checked_again_before_anything_is_cancelled(
    page: Client, order: Order, quote: Quote
) -> None:
    Quote.objects.update(made_at=timezone.now() - dt.timedelta(hours=1))
    chosen = {"form_token": str(quote.uuid), "product": factories.OFFER["code"]}
    answer = page.post(f"{prices(order, quote)}book/", chosen)
    newest = Quote.objects.latest("pk")
    assert answer["Location"] == prices(order, newest)
    assert newest.details == quote.details
    assert "nothing was cancelled or booked" in text(page.get(answer["Location"]))
    assert Order.objects.get(pk=order.pk).status == "booked"


def test_a_price_from_an_earlier_pickup_address_is_checked_again_before_anything_is_cancelled(
    page: Client, order: Order, quote: Quote
) -> None:
    PickupAddress.objects.update(line1="99 New Road")
    chosen = {"form_token": str(quote.uuid), "product": factories.OFFER["code"]}
    answer = page.post(f"{prices(order, quote)}book/", chosen)
    newest = Quote.objects.latest("pk")
    assert answer["Location"] == prices(order, newest)
    assert newest.details["pickup"]["line1"] == "99 New Road"
    assert Order.objects.get(pk=order.pk).status == "booked"


def test_a_cancelled_parcel_whose_new_one_is_on_its_way_is_not_offered_again(
    page: Client, order: Order, replacement: Replacement
) -> None:
    Order.objects.update(status="cancelled", cancelled_at=timezone.now())
    address = f"/parcels/{order.uuid}/"
    assert "Book again" not in text(page.get(address))
    assert f"{address}replacing/" in page.get(address).content.decode()
    Replacement.objects.update(ended_at=timezone.now(), problem="Bookings are paused.")
    assert "Book again" in text(page.get(address))


def test_the_pickup_day_that_was_chosen_stays_chosen(page: Client, order: Order, quote: Quote) -> None:
    days = booking_rules.pickup_days(order.sender, order.details().pickup, timezone.now())
    Order.objects.update(pickup_date=days[2])
    address = prices(order, quote)
    shown = " ".join(page.get(address).content.decode().split())
    assert f'value="{days[2]:%Y-%m-%d}" checked' in shown
    assert "Pickup day" not in what_changes(page, address)
    Order.objects.update(pickup_date=days[-1] + dt.timedelta(days=30))
    assert 'value="" checked' in page.get(address).content.decode()
    assert "Pickup day" in what_changes(page, address)


def what_changes(page: Client, address: str) -> str:
    return text(page.get(address)).partition("What changes")[2].partition("Change something else")[0]


def test_the_saved_size_it_was_typed_with_stays(page: Client, order: Order, quill: Sender) -> None:
    size = factories.size(quill, weight="2.4", length=32, width=24, height=11)
    Order.objects.update(size=size)
    answer = page.post(f"/parcels/{order.uuid}/replace/", typed_as_booked(page, order))
    newest = Quote.objects.order_by("-pk")[0]
    assert answer["Location"] == prices(order, newest)
    assert newest.details["size"] == str(size.uuid)


def test_without_a_script_a_pasted_address_fills_the_form_in(page: Client, order: Order) -> None:
    pasted = "Ada Brook\n9 Other Street\nHOBART TAS 7000\nada@example.net"
    typed = typed_as_booked(page, order) | {"unpaste": "1", "pasted": pasted}
    answer = page.post(f"/parcels/{order.uuid}/replace/", typed, follow=True)
    assert answer.status_code == 200
    assert f"Fix {order.carrier_reference}" in text(answer)
    filled = answer.context["form"]
    assert filled["receiver_line1"].value() == "9 Other Street"
    assert filled["description"].value() == order.description


def test_another_pickup_contact_counts_as_a_change(page: Client, order: Order, quote: Quote) -> None:
    quote.details["pickup"]["phone"] = "0400 000 111"
    quote.save()
    words = text(page.get(prices(order, quote)))
    assert "Pickup contact" in words
    assert "0400 000 111" in words


def test_a_parcel_that_cannot_be_cancelled_leads_to_what_is_possible(page: Client, order: Order, quote: Quote) -> None:
    Order.objects.update(progress="in_transit")
    assert page.get(f"/parcels/{order.uuid}/replace/")["Location"] == f"/parcels/{order.uuid}/cancel/"
    chosen = {"form_token": str(quote.uuid), "product": factories.OFFER["code"]}
    answer = page.post(f"{prices(order, quote)}book/", chosen)
    assert answer["Location"] == prices(order, quote)
    prices_page = page.get(answer["Location"])
    assert f'href="/parcels/{order.uuid}/cancel/"' in prices_page.content.decode()
    assert "Book it as a new parcel" not in text(prices_page)
    assert Order.objects.get().status == "booked"


def test_what_was_typed_is_booked_as_a_new_parcel_if_somebody_cancelled_the_old_one(
    page: Client, order: Order, quote: Quote
) -> None:
    Order.objects.update(status="cancelled", cancelled_at=timezone.now())
    url = prices(order, quote)
    answer = page.post(f"{url}book/", {"form_token": str(quote.uuid), "product": factories.OFFER["code"]})
    assert answer["Location"] == url
    words = text(page.get(url))
    assert f"{order} is cancelled already. Nothing was booked." in words
    assert "Book it as a new parcel" in words
    answer = page.post(url, {"anew": "yes"})
    new = Draft.objects.latest("pk")
    assert (answer["Location"], new.corrects) == (f"/parcels/drafts/{new.uuid}/prices/", None)
    assert new.quote is not None
    assert new.quote.details["receiver"]["line1"] == "44 Sample Street"
    assert "Book" in text(page.get(answer["Location"]))
    assert Order.objects.count() == 1


def test_a_suspended_sender_books_nothing_this_way(page: Client, order: Order, quill: Sender, sam: User) -> None:
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="", now=timezone.now())
    assert page.post(f"/parcels/{order.uuid}/replace/", {}).status_code == 403


@pytest.mark.parametrize("status", ["cancel_asked", "booked"])
def test_the_new_parcels_page_says_if_the_old_one_isnt_cancelled(
    page: Client, order: Order, quill: Sender, alice: User, status: str
) -> None:
    new = factories.order(quill, alice, status="booked", replaces=order)
    Order.objects.filter(pk=order.pk).update(status=status)
    words = text(page.get(f"/parcels/{new.uuid}/"))
    assert f"{new} replaces {order}. The carrier hasn't cancelled that one, so both may be charged. Throw" in words
    assert "Fixed." not in words


def test_the_new_parcels_page_says_what_it_replaces(page: Client, order: Order, quill: Sender, alice: User) -> None:
    new = factories.order(quill, alice, status="booked", replaces=order)
    Order.objects.filter(pk=order.pk).update(status="cancelled", cancelled_at=timezone.now())
    words = text(page.get(f"/parcels/{new.uuid}/"))
    assert f"Fixed. {order} is cancelled and {new} replaces it. Throw away the old label and print" in words
