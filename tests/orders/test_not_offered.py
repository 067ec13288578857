"""A service that would fail isn't offered. The form, the import and the price share one rule, besides the carrier's own."""

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.booking import bookings
from orders.drafting.parcel_details import ParcelDetails
from orders.models import Order, Quote
from orders.quoting import asking, choosing
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import checking
from tests import factories
from tests.carrier.conftest import SocketCarrier, reply
from tests.carrier.products import product
from tests.orders.test_importing import GOOD, checked
from tests.pages.typed import ABROAD, beside, text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

DDP = {**factories.OFFER, "code": "STANDARD-DDP-PICKUP", "name": "Standard (duties paid)", "duties_paid": True}
QUOTED = product(eta=None, product={"code": "STANDARD-DDP-PICKUP"})
NEEDED = "Can't be chosen yet. It needs a 10-digit HS code for each item."


@pytest.fixture
def page(localities: None, alice: User, visit: Callable[[User], Client]) -> Client:
    return visit(alice)


@pytest.fixture
def marked(quill: Sender, alice: User) -> Quote:
    """A cheap product that would fail, and a more expensive one that can be booked."""
    cheap = {**DDP, "amount": "1.00", "refused": "It needs a 10-digit HS code for each item."}
    quote = factories.quote(quill, alice, parcel=coded(quill, "6109.10"))
    Quote.objects.filter(pk=quote.pk).update(products=[cheap, *quote.products])
    quote.refresh_from_db()
    return quote


def coded(sender: Sender, code: str) -> ParcelDetails:
    """A parcel abroad with two items. The second one has this HS code."""
    whole = factories.abroad(sender)
    return replace(whole, contents=(*whole.contents, replace(whole.contents[0], hs_code=code)))


def abroad(code: str) -> dict[str, Any]:
    return {**ABROAD, "item_1_hs_code": code}


@pytest.mark.parametrize("rule", [choosing.Rule.CHEAPEST, choosing.Rule.CHEAPEST_PICKUP])
def test_the_cheapest_is_compared_as_a_number(rule: str) -> None:
    offers = [{**factories.OFFER, "code": amount, "amount": amount} for amount in ("10.00", "9.40", "105.00")]
    assert (choosing.choose_offer(offers, rule) or {})["code"] == "9.40"


@pytest.mark.parametrize("code", ["", "6109.10", "6109.10.001"])
def test_duties_paid_upfront_is_disabled_with_what_it_needs(carrier: SandboxCarrier, page: Client, code: str) -> None:
    answer = page.post("/parcels/new/", abroad(code), follow=True)
    assert f"Duties and taxes paid upfront {NEEDED} Edit this parcel" in text(answer)
    assert "STANDARD-DDP-PICKUP" not in answer.content.decode()
    assert [(offer["code"], offer["refused"]) for offer in Quote.objects.get().products] == [("STANDARD-PICKUP", "")]
    live = beside(page, abroad(code))
    assert f"Duties and taxes paid upfront {NEEDED[0].lower()}{NEEDED[1:]}" in text(live)


def test_duties_paid_upfront_is_offered_if_every_item_has_a_code(carrier: SandboxCarrier, page: Client) -> None:
    answer = page.post("/parcels/new/", ABROAD, follow=True)
    assert 'value="STANDARD-DDP-PICKUP"' in answer.content.decode()
    assert "Can't be chosen yet" not in text(answer)


def test_a_domestic_parcel_mentions_no_duties(page: Client, quill: Sender, alice: User) -> None:
    answer = page.get(factories.prices_of(factories.quote(quill, alice)))
    assert "Can't be chosen yet" not in text(answer)


def test_a_product_quoted_despite_its_codes_is_disabled_and_not_the_cheapest(page: Client, marked: Quote) -> None:
    answer = page.get(factories.prices_of(marked))
    assert f"Standard (duties paid) {NEEDED}" in text(answer)
    assert "Cheapest" not in text(answer)
    assert "Duties and taxes paid upfront" not in text(answer)
    assert 'value="STANDARD-DDP-PICKUP"' not in answer.content.decode()


@pytest.mark.parametrize(("code", "is_refused"), [("6109.10.0012", False), ("6109.10", True), ("", True)])
def test_a_price_is_flagged_when_it_is_stored(
    far_side: SocketCarrier, quill: Sender, alice: User, code: str, *, is_refused: bool
) -> None:
    far_side.answers(reply(200, [QUOTED]))
    quote = asking.ask_for_prices(quill, coded(quill, code), by=alice, now=timezone.now())
    assert bool(quote.products[0]["refused"]) == is_refused
    assert (quote.offer("STANDARD-DDP-PICKUP") is None) == is_refused


def test_a_product_that_would_fail_is_refused_at_booking_too(page: Client, marked: Quote) -> None:
    form = {"product": "STANDARD-DDP-PICKUP", "pickup_date": "", "form_token": str(marked.uuid)}
    answer = page.post(f"{factories.prices_of(marked)}book/", form)
    assert "That service is not among the offers for this parcel. Nothing was booked." in text(answer)
    assert not Order.objects.exists()


@pytest.mark.parametrize("rule", ["cheapest", "cheapest_pickup", "fastest", "last"])
def test_no_rule_chooses_a_product_that_would_fail(marked: Quote, rule: str) -> None:
    chosen = choosing.choose_offer(marked.products, rule, last="STANDARD-DDP-PICKUP")
    assert chosen is not None
    assert chosen["code"] == "STANDARD-PICKUP"
    assert choosing.choose_offer(marked.products[:1], rule) is None


def test_a_booking_that_would_now_fail_is_not_sent(far_side: SocketCarrier, quill: Sender, alice: User) -> None:
    """It was booked before this rule existed; its price is checked again."""
    quote = factories.quote(quill, alice, parcel=coded(quill, "6109.10"), **DDP)
    order = bookings.submit(
        quote=quote, code=DDP["code"], by=alice, form_token=quote.uuid, pickup_date=None, now=timezone.now()
    )
    Order.objects.update(quoted_at=timezone.now() - dt.timedelta(hours=1))
    far_side.answers(reply(200, [QUOTED]))
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, order.problem["kind"]) == ("draft", "gone")
    assert not order.attempts.exists()


# -- Imports ------------------------------------------------------------------------------------------


def test_a_row_too_heavy_for_every_service_says_so_at_its_weight(
    carrier: SandboxCarrier, localities: None, quill: Sender, alice: User
) -> None:
    row = checked(quill, alice, GOOD.replace("2.4", "32")).rows.get()
    said = ["The carrier offers no service for 32 kg from 3065 to 3056. Check weight and size."]
    assert row.state == "fix"
    assert row.problems == dict.fromkeys(("weight_kg", "length_cm", "width_cm", "height_cm"), said)


def test_a_row_whose_only_service_would_fail_says_so_at_its_code(
    localities: None, quill: Sender, alice: User, marked: Quote, monkeypatch: pytest.MonkeyPatch
) -> None:
    Quote.objects.update(products=marked.products[:1])
    marked.refresh_from_db()
    monkeypatch.setattr(checking.asking, "ask_for_prices", lambda *_, **__: marked)
    row = checked(quill, alice, GOOD).rows.get()
    assert (row.state, row.problems) == ("fix", {"item_1_hs_code": ["It needs a 10-digit HS code for each item."]})


def test_a_row_without_the_requested_pickup_names_the_service_it_would_use(
    carrier: SandboxCarrier, localities: None, quill: Sender, alice: User
) -> None:
    for code in ("STANDARD-PICKUP", "EXPRESS-PICKUP"):
        carrier._control("POST", "withdraw", {"code": code})
    Sender.objects.filter(pk=quill.pk).update(service_rule="cheapest_pickup")
    quill.refresh_from_db()
    row = checked(quill, alice, GOOD).rows.get()
    said = "No pickup is offered for this parcel. It would go by Standard Drop Off."
    assert (row.state, row.problems) == ("warning", {"": [said]})


def test_totals_in_two_currencies_are_two_sums(quill: Sender) -> None:
    offered = [[factories.OFFER], [{**factories.OFFER, "currency": "USD", "amount": "2.00"}], [factories.OFFER]]
    assert {total.price for total in choosing.totals_by_rule(offered, quill)} == {"$24.16 AUD + $2.00 USD"}
