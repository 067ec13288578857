"""Sending a parcel back: two clicks, its own order at the carrier, linked both ways, and never twice without asking."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.booking import bookings
from orders.drafting import drafts, returning
from orders.models import BookingAttempt, Draft, Order, Quote
from shipping_portal.accounts.models import PickupAddress, Receiver, Sender, User
from tests import factories
from tests.pages.typed import text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]


@pytest.fixture
def page(alice: User, visit: Visit, localities: None, carrier: SandboxCarrier) -> Client:
    return visit(alice)


@pytest.fixture
def delivered(quill: Sender, alice: User) -> Order:
    return arrived(quill, alice)


def arrived(of: Sender, by: User, **fields: Any) -> Order:
    values = {"progress": "delivered", "progress_at": timezone.now()} | fields
    return factories.order(of, by, status="booked", **values)


def press(page: Client, order: Order) -> str:
    """Press “Send it back”, and return the address of the prices."""
    answer = page.post(f"/parcels/{order.uuid}/return/")
    assert answer.status_code == 302, text(answer)
    return str(answer["Location"])


def book(page: Client, prices: str, **more: str) -> Any:
    """Press the first Book button of a page of prices."""
    form = page.get(prices).content.decode().partition('action="' + prices + 'book/"')[2]
    chosen = {name: form.partition(f'name="{name}" value="')[2].partition('"')[0] for name in ("form_token", "product")}
    return page.post(f"{prices}book/", chosen | more)


def returned(page: Client, order: Order, **more: str) -> Order:
    """Send the parcel back, and let the worker book the return."""
    book(page, press(page, order), **more)
    made = order.sent_back.latest("pk")
    bookings.process_booking(made.pk)
    made.refresh_from_db()
    assert made.status == "booked", made.problem
    return made


def test_two_clicks_book_a_return_from_the_receiver_to_us(
    page: Client, delivered: Order, carrier: SandboxCarrier
) -> None:
    assert "Send it back" in text(page.get(f"/parcels/{delivered.uuid}/"))
    prices = press(page, delivered)
    words = text(page.get(prices))
    assert "Return from Noor Tamsin, HOBART 7000" in words
    answer = book(page, prices)
    made = Order.objects.get(returns=delivered)
    assert answer["Location"] == f"/parcels/{made.uuid}/booking/"
    bookings.process_booking(made.pk)
    body = json.loads(bytes(BookingAttempt.objects.get(order=made).body))
    assert body["sender"]["contact"]["email"] == "noor.tamsin@example.net"
    assert body["receiver"]["contact"]["email"] == "alice@quill.example"
    assert (made.pickup["postcode"], made.receiver_postcode) == ("7000", "3065")
    assert (made.pickup["instructions"], made.receiver_instructions) == ("", "")
    assert len(carrier.ledger("booked")) == 1
    delivered.refresh_from_db()
    assert (delivered.status, delivered.progress) == ("booked", "delivered")


def test_both_pages_link_to_each_other(page: Client, delivered: Order) -> None:
    made = returned(page, delivered)
    there, back = page.get(f"/parcels/{delivered.uuid}/"), page.get(f"/parcels/{made.uuid}/")
    assert f"Sent back with {made} : booked." in text(there)
    assert f'href="/parcels/{made.uuid}/"' in there.content.decode()
    assert f"This is a return of {delivered} , a separate booking with its own price." in text(back)
    assert f'href="/parcels/{delivered.uuid}/"' in back.content.decode()
    assert "Send it back" not in text(back)


def test_the_list_marks_a_return_and_names_who_sends_it(page: Client, delivered: Order) -> None:
    made = returned(page, delivered)
    row = text(page.get("/parcels/")).partition(str(made))[0][-60:]
    assert "Noor Tamsin Return · HOBART TAS" in row
    assert page.get("/parcels/?q=noor").content.decode().count('name="order"') == 2


def test_two_presses_of_one_form_or_in_two_tabs_are_one_return(
    page: Client, delivered: Order, carrier: SandboxCarrier
) -> None:
    tabs = [press(page, delivered), press(page, delivered)]
    answers = [book(page, tabs[0]), page.post(*again(page, tabs[0])), page.post(*again(page, tabs[1]))]
    assert [answer.status_code for answer in answers] == [302, 302, 302]
    assert Order.objects.filter(returns=delivered).count() == 1


def again(page: Client, prices: str) -> tuple[str, dict[str, str]]:
    """Press what this page of prices showed before anything was booked."""
    quote = Draft.objects.get(uuid=prices.split("/")[3]).quote
    assert quote
    return f"{prices}book/", {"form_token": str(quote.uuid), "product": quote.products[0]["code"]}


def test_a_second_return_needs_one_more_click(page: Client, delivered: Order) -> None:
    first = returned(page, delivered)
    Order.objects.filter(pk=first.pk).update(submitted_at=timezone.now() - timezone.timedelta(days=9))
    prices = press(page, delivered)
    assert f"There is a return of this parcel already: {first} ." in text(page.get(prices))
    answer = book(page, prices)
    assert answer.status_code == 409
    assert "Book another?" in text(answer)
    assert book(page, prices, another="yes").status_code == 302
    assert delivered.sent_back.count() == 2


def test_two_presses_at_once_with_different_prices_book_one(
    page: Client, delivered: Order, quill: Sender, alice: User
) -> None:
    """Neither press saw the other's order yet when it checked: the sender's lock decides."""
    details = returning.return_of(delivered, quill)
    quotes = [factories.quote(quill, alice, parcel=details) for _ in range(2)]
    chosen: dict[str, Any] = {"code": "STANDARD-PICKUP", "by": alice, "pickup_date": None, "now": timezone.now()}
    bookings.submit(quote=quotes[0], form_token=quotes[0].uuid, **chosen)
    with pytest.raises(Order.Duplicate):
        bookings.submit(quote=quotes[1], form_token=quotes[1].uuid, **chosen)
    assert delivered.sent_back.count() == 1


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"progress": "in_transit"}, returning.NOT_YET),
        ({"progress": ""}, returning.NOT_YET),
        ({"erased_at": timezone.now()}, returning.ERASED),
    ],
)
def test_a_parcel_that_cant_be_sent_back_says_why(
    page: Client, quill: Sender, alice: User, fields: dict[str, Any], why: str
) -> None:
    order = arrived(quill, alice, **fields)
    answer = page.post(f"/parcels/{order.uuid}/return/")
    assert answer.status_code == 409
    assert why in text(answer).replace("&#x27;", "'")
    assert "Send it back" not in text(page.get(f"/parcels/{order.uuid}/"))
    assert Draft.objects.count() == 0


@pytest.mark.parametrize("status", ["draft", "rejected", "not_booked", "cancelled", "unconfirmed", "cancelling"])
def test_a_parcel_that_isnt_booked_isnt_sent_back(page: Client, quill: Sender, alice: User, status: str) -> None:
    order = factories.order(quill, alice, status=status)
    assert page.post(f"/parcels/{order.uuid}/return/").status_code == 409


def test_a_parcel_returned_by_the_carrier_can_be_sent_back_too(page: Client, quill: Sender, alice: User) -> None:
    assert press(page, arrived(quill, alice, progress="returning"))


def test_another_accounts_parcel_isnt_found(visit: Visit, bob: User, delivered: Order) -> None:
    assert visit(bob).post(f"/parcels/{delivered.uuid}/return/").status_code == 404


def test_a_suspended_sender_books_no_return(page: Client, delivered: Order, quill: Sender, sam: User) -> None:
    quill.suspend(by=sam, category="terms", text="See our terms.", note="", now=timezone.now())
    assert page.post(f"/parcels/{delivered.uuid}/return/").status_code == 403
    assert "Send it back" not in text(page.get(f"/parcels/{delivered.uuid}/"))


def test_a_place_where_no_carrier_collects_says_so(page: Client, quill: Sender, alice: User) -> None:
    order = arrived(quill, alice, receiver_country="FR")
    assert "takes parcels from France" in text(page.post(f"/parcels/{order.uuid}/return/"))


def test_a_return_across_the_border_has_the_same_contents(
    page: Client, quill: Sender, alice: User, carrier: SandboxCarrier
) -> None:
    there = factories.abroad(quill)
    order = arrived(quill, alice, contents=there.to_json()["contents"], contents_type="Merchandise")
    for part, value in vars(there.receiver).items():
        setattr(order, f"receiver_{part}", value)
    order.save()
    press(page, order)
    quote = Quote.objects.latest("pk")
    assert quote.details["contents"] == there.to_json()["contents"]
    made = returned(page, order)
    assert (made.pickup["country"], made.receiver_country) == ("US", "AU")


def test_the_address_book_doesnt_get_our_own_address(page: Client, delivered: Order) -> None:
    returned(page, delivered)
    assert not Receiver.objects.filter(postcode="3065").exists()


def test_the_form_of_a_return_keeps_where_it_starts(page: Client, delivered: Order) -> None:
    draft = Draft.objects.get(uuid=press(page, delivered).split("/")[3])
    form = page.get(f"/parcels/drafts/{draft.uuid}/")
    assert "From: Noor Tamsin, 4 Sample Street, HOBART" in text(form)
    typed = {name: str(value) for name, value in draft.values.items()} | {"weight_kg": "3"}
    answer = page.post(f"/parcels/drafts/{draft.uuid}/", typed)
    assert answer.status_code == 302, text(answer)
    made = returned_from(page, answer["Location"])
    assert (made.returns, made.pickup["line1"]) == (delivered, "4 Sample Street")
    assert str(made.entered["weight"]) == "3"


def returned_from(page: Client, prices: str) -> Order:
    book(page, prices)
    return Order.objects.latest("pk")


def test_the_copy_of_a_return_is_a_return(page: Client, delivered: Order) -> None:
    made = returned(page, delivered)
    page.get(f"/parcels/new/?again={made.uuid}")
    draft = Draft.objects.latest("pk")
    assert (draft.source, draft.origin) == ("returned", delivered)
    assert "Return" in text(page.get(f"/parcels/drafts/{draft.uuid}/"))


def test_a_return_is_cancelled_like_any_parcel_and_the_parcel_stays(page: Client, delivered: Order) -> None:
    made = returned(page, delivered)
    page.post(f"/parcels/{made.uuid}/cancel/", {"need": "not_sending"})
    made.refresh_from_db()
    delivered.refresh_from_db()
    assert made.status == "cancelling"
    assert delivered.status == "booked"


def test_a_mistake_in_a_return_is_fixed_into_a_return(page: Client, delivered: Order, alice: User) -> None:
    made = returned(page, delivered)
    page.get(f"/parcels/{made.uuid}/replace/")
    draft = Draft.objects.get(source="corrected")
    form = drafts.parcel_form(made.sender, {**draft.values, "weight_kg": "1"}, draft=draft)
    assert form.is_valid(), form.errors
    details = form.details()
    assert (details.returns, details.pickup.name) == (delivered.pk, "Noor Tamsin")


def test_a_viewer_and_a_bookkeeper_see_a_return_without_its_senders_contact(
    page: Client, visit: Visit, delivered: Order, vic: User, bea: User
) -> None:
    made = returned(page, delivered)
    for person in (vic, bea):
        body = visit(person).get(f"/parcels/{made.uuid}/").content.decode()
        assert not re.search("noor.tamsin@|4 Sample Street|0491 570 156", body), person
    assert "Noor Tamsin" not in visit(bea).get(f"/parcels/{made.uuid}/").content.decode()


# -- The pickup address changes, which is where a return ends -----------------------------------------


def move() -> None:
    PickupAddress.objects.update(line1="99 New Road")


def draft_at(prices: str) -> Draft:
    return Draft.objects.get(uuid=prices.split("/")[3])


def test_a_return_priced_before_the_pickup_address_changed_is_priced_to_the_new_one(
    page: Client, delivered: Order
) -> None:
    prices = press(page, delivered)
    move()
    assert book(page, prices)["Location"] == prices
    assert "Your pickup address has changed since the price you saw" in text(page.get(prices))
    assert not delivered.sent_back.exists()
    book(page, prices)
    assert delivered.sent_back.get().receiver_line1 == "99 New Road"
    draft = draft_at(press(page, delivered))
    assert draft.values["receiver_line1"] == "99 New Road"


def test_a_return_is_booked_at_the_price_shown_while_the_pickup_address_stays(page: Client, delivered: Order) -> None:
    """Also one with words for the driver, which the pickup address doesn't have."""
    draft = draft_at(press(page, delivered))
    typed = draft.values | {"delivery_choice": "signature", "delivery_place": "back door"}
    answer = page.post(f"/parcels/drafts/{draft.uuid}/", {name: str(value) for name, value in typed.items()})
    made = returned_from(page, answer["Location"])
    assert (made.receiver_line1, made.receiver_instructions[-9:]) == ("12 Example Lane", "back door")


def test_a_return_to_another_place_doesnt_follow_the_pickup_address(page: Client, delivered: Order) -> None:
    draft = draft_at(press(page, delivered))
    typed = {name: str(value) for name, value in draft.values.items()} | {"receiver_line1": "8 Repair Street"}
    prices = page.post(f"/parcels/drafts/{draft.uuid}/", typed)["Location"]
    move()
    assert returned_from(page, prices).receiver_line1 == "8 Repair Street"


def test_the_form_of_a_return_left_open_follows_the_pickup_address(page: Client, delivered: Order) -> None:
    draft = draft_at(press(page, delivered))
    typed = {name: str(value) for name, value in draft.values.items()} | {"weight_kg": "3"}
    move()
    assert "99 New Road" in page.get(f"/parcels/drafts/{draft.uuid}/").content.decode()
    prices = page.post(f"/parcels/drafts/{draft.uuid}/", typed)["Location"]
    assert returned_from(page, prices).receiver_line1 == "99 New Road"


def test_a_return_goes_to_an_earlier_address_if_its_sender_insists(page: Client, delivered: Order) -> None:
    draft = draft_at(press(page, delivered))
    typed = {name: str(value) for name, value in draft.values.items()}
    move()
    for _ in range(2):  # the first post may be of a page from before the change
        prices = page.post(f"/parcels/drafts/{draft.uuid}/", typed)["Location"]
    assert returned_from(page, prices).receiver_line1 == "12 Example Lane"


@pytest.mark.parametrize("status", ["draft", "not_booked"])
def test_agreeing_to_a_return_that_would_end_at_an_earlier_address_begins_it_again(
    page: Client, delivered: Order, status: str
) -> None:
    made = returned_from(page, press(page, delivered))
    not_booked = {"status": status, "due_at": None, "reserved_on": None, "reserved": 0, "unbilled": 0}
    Order.objects.filter(pk=made.pk).update(**not_booked)
    agreed = {"agreed": str(made.price_to_confirm)}
    move()
    answer = page.post(f"/parcels/{made.uuid}/confirm/", agreed)
    assert answer["Location"] == f"/parcels/new/?again={made.uuid}"
    assert Order.objects.get(pk=made.pk).status == status
    page.get(answer["Location"])
    assert Draft.objects.latest("pk").values["receiver_line1"] == "99 New Road"
    PickupAddress.objects.update(line1="12 Example Lane")
    page.post(f"/parcels/{made.uuid}/confirm/", agreed)
    assert Order.objects.get(pk=made.pk).status == "booking"


def test_the_correction_of_a_return_ends_at_the_pickup_address_as_it_is_now(page: Client, delivered: Order) -> None:
    made = returned(page, delivered)
    move()
    page.get(f"/parcels/{made.uuid}/replace/")
    draft = Draft.objects.get(source="corrected")
    assert draft.values["receiver_line1"] == "99 New Road"
    typed = {name: str(value) for name, value in draft.values.items()}
    prices = page.post(f"/parcels/drafts/{draft.uuid}/", typed)["Location"]
    assert "12 Example Lane" in text(page.get(prices))
    assert "99 New Road" in text(page.get(prices))
