"""Waiting for the carrier, and agreeing to a new price."""

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import Order
from orders.status.transitions import move_to
from shipping_portal.accounts.models import PickupAddress, Sender, User
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
ROSE = {
    "kind": "price_rose",
    "text": "It rose.",
    "old": "8.95",
    "new": "9.40",
    "offer": {**factories.OFFER, "amount": "9.40"},
}


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


@pytest.fixture
def order(quill: Sender, alice: User) -> Callable[..., Order]:
    return lambda **fields: factories.order(quill, alice, **fields)


SAID = [
    ({"status": "booking"}, "Asking the carrier for a label. This usually takes a few seconds."),
    ({"status": "booking", "tries": 2}, "Nothing is booked yet and nothing is charged. We keep trying"),
    ({"status": "unconfirmed"}, "the parcel may or may not be booked. Don't book it again"),
    ({"status": "conflict"}, "Its answers don't agree, so a person is looking at it. Don't book it again"),
    ({"status": "not_booked"}, "It wasn't booked and you weren't charged. Book it now, $12.08"),
    (
        {"status": "rejected", "problem": {"text": "Too heavy.", "said": ["Too heavy.", "Postcode: is unknown."]}},
        "Too heavy. Postcode: is unknown. You weren't charged. Everything you typed is kept. Fix and book",
    ),
    ({"status": "draft", "problem": ROSE}, "The price is now $9.40 AUD (was $8.95 AUD)"),
    ({"status": "draft", "problem": {"kind": "gone", "text": "Withdrawn."}}, "Withdrawn. Nothing was sent"),
]


@pytest.mark.parametrize(("fields", "said"), SAID, ids=[f"{f['status']}-{i}" for i, (f, _) in enumerate(SAID)])
def test_each_state_says_what_happened_to_parcel_and_money(
    page: Client, order: Callable[..., Order], fields: dict[str, Any], said: str
) -> None:
    assert said in text(page.get(f"/parcels/{order(**fields).uuid}/booking/"))


def test_an_unclear_booking_offers_no_second_one(page: Client, order: Callable[..., Order]) -> None:
    body = page.get(f"/parcels/{order(status='unconfirmed').uuid}/booking/").content.decode()
    main = body[body.index("<main") : body.index("</main>")]
    assert "<button" not in main
    assert "/parcels/new/" not in main


def test_the_page_refreshes_with_and_without_javascript(page: Client, order: Callable[..., Order]) -> None:
    body = page.get(f"/parcels/{order(status='booking').uuid}/booking/").content.decode()
    assert re.search(r'<noscript>\s*<meta http-equiv="refresh"\s+content="2">\s*</noscript>', body)
    assert 'hx-trigger="every 500ms"' in body
    resolved = page.get(f"/parcels/{order(status='rejected').uuid}/booking/").content.decode()
    assert "refresh" not in resolved
    assert "hx-get" not in resolved


def test_nothing_new_is_an_empty_reply_and_news_is_a_fragment(page: Client, order: Callable[..., Order]) -> None:
    made = order(status="booking")
    assert page.get(f"/parcels/{made.uuid}/booking/?seen=booking.quick.False").status_code == 204
    move_to(made, "unconfirmed", reason="-", at=timezone.now())
    news = page.get(f"/parcels/{made.uuid}/booking/?seen=booking.quick.False").content.decode()
    assert "We're checking with the carrier." in news
    assert "<html" not in news


def test_a_booked_parcel_leads_to_its_page(page: Client, order: Callable[..., Order]) -> None:
    made = order(status="booked")
    assert page.get(f"/parcels/{made.uuid}/booking/")["Location"] == f"/parcels/{made.uuid}/"
    assert page.get(f"/parcels/{made.uuid}/booking/?seen=x")["HX-Redirect"] == f"/parcels/{made.uuid}/"


def test_agreeing_to_the_new_price_books_at_that_price(page: Client, order: Callable[..., Order]) -> None:
    made = order(status="draft", problem=ROSE)
    answer = page.post(f"/parcels/{made.uuid}/confirm/", {"agreed": "9.40 AUD"})
    made.refresh_from_db()
    assert answer["Location"] == f"/parcels/{made.uuid}/booking/"
    assert (made.status, str(made.price)) == ("booking", "9.40")


@pytest.mark.parametrize("agreed", ["8.95 AUD", "", "9.4 AUD", "9.40"])
def test_agreeing_to_a_price_not_shown_books_nothing(page: Client, order: Callable[..., Order], agreed: str) -> None:
    made = order(status="draft", problem=ROSE)
    answer = page.post(f"/parcels/{made.uuid}/confirm/", {"agreed": agreed}, follow=True)
    made.refresh_from_db()
    assert made.status == "draft"
    assert "The price changed again. Nothing was booked" in text(answer)


def test_agreeing_after_the_pickup_day_leads_to_another_day(page: Client, order: Callable[..., Order]) -> None:
    made = order(status="draft", problem=ROSE, pickup_date=dt.date(2026, 1, 5))
    answer = page.post(f"/parcels/{made.uuid}/confirm/", {"agreed": "9.40 AUD"})
    assert answer["Location"] == f"/parcels/new/?again={made.uuid}"
    assert "That pickup day is no longer on offer. Nothing was booked." in text(
        page.get(answer["Location"], follow=True)
    )
    assert Order.objects.get().status == "draft"


@pytest.mark.parametrize(
    ("status", "problem", "agreed"), [("draft", ROSE, "9.40 AUD"), ("not_booked", {}, "12.08 AUD")]
)
def test_agreeing_after_the_pickup_address_changed_leads_to_prices_from_there(
    page: Client, order: Callable[..., Order], status: str, problem: dict[str, str], agreed: str
) -> None:
    """Otherwise the driver goes to where the business was when the parcel was made."""
    made = order(status=status, problem=problem)
    PickupAddress.objects.update(line1="99 New Road")
    answer = page.post(f"/parcels/{made.uuid}/confirm/", {"agreed": agreed})
    assert answer["Location"] == f"/parcels/new/?again={made.uuid}"
    form = text(page.get(answer["Location"], follow=True))
    assert "Your pickup address has changed since this price. Nothing was booked. Check prices again." in form
    assert "From: 99 New Road" in form
    made.refresh_from_db()
    assert (made.status, made.due_at) == (status, None)


PICKUP_PASSED = {"kind": "pickup_passed", "text": "Its pickup day came before the booking could be sent."}


@pytest.mark.parametrize(
    ("status", "problem", "agreed"),
    [("draft", PICKUP_PASSED, "12.08 AUD"), ("draft", ROSE, "9.40 AUD"), ("not_booked", {}, "12.08 AUD")],
)
def test_one_click_replaces_a_pickup_day_that_has_come(
    page: Client, order: Callable[..., Order], status: str, problem: dict[str, str], agreed: str
) -> None:
    made = order(status=status, problem=problem, pickup_date=dt.date(2026, 1, 5))
    shown = page.get(f"/parcels/{made.uuid}/booking/").content.decode()
    assert 'name="next_day" value="yes"' in shown
    page.post(f"/parcels/{made.uuid}/confirm/", {"agreed": agreed, "next_day": "yes"})
    made.refresh_from_db()
    assert (made.status, made.pickup_date) == ("booking", None)


def test_an_order_that_was_not_booked_can_be_booked_now(page: Client, order: Callable[..., Order]) -> None:
    made = order(status="not_booked")
    page.post(f"/parcels/{made.uuid}/confirm/", {"agreed": "12.08 AUD"})
    made.refresh_from_db()
    assert (made.status, made.generation) == ("booking", 2)


@pytest.mark.parametrize("status", ["booking", "unconfirmed", "booked", "rejected", "cancelled"])
def test_agreeing_when_nothing_was_asked_is_refused(page: Client, order: Callable[..., Order], status: str) -> None:
    made = order(status=status)
    answer = page.post(f"/parcels/{made.uuid}/confirm/", {"agreed": "12.08 AUD"})
    assert answer.status_code == 409
    assert Order.objects.get().status == status


def test_a_booking_stopped_by_a_suspension_says_why_and_later_that_it_is_lifted(
    page: Client, order: Callable[..., Order], quill: Sender, sam: User
) -> None:
    made = order(status="draft", problem={"kind": "suspended", "text": "Unpaid bill."})
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="", now=timezone.now())
    during = text(page.get(f"/parcels/{made.uuid}/booking/"))
    assert "Unpaid bill. Nothing was sent to the carrier" in during
    assert "Choose again" not in during
    quill.reinstate(by=sam, reason="the bill is paid", now=timezone.now())
    after = text(page.get(f"/parcels/{made.uuid}/booking/"))
    assert "Booking is on again for this account. Nothing was sent to the carrier" in after
    assert "Choose again" in after
    assert "Unpaid" not in after


def test_a_suspended_sender_who_agrees_books_nothing(
    page: Client, order: Callable[..., Order], quill: Sender, sam: User
) -> None:
    made = order(status="draft", problem=ROSE)
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="-", now=timezone.now())
    assert page.post(f"/parcels/{made.uuid}/confirm/", {"agreed": "9.40 AUD"}).status_code == 403
    assert Order.objects.get().status == "draft"
