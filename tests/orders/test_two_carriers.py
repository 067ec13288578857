"""Two carriers take new orders: their offers are side by side, and each order stays with its carrier."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import pytest
from django.utils import timezone

from orders.booking import booking_rules, bookings
from orders.calling import gateway
from orders.models import CarrierAccount, CarrierCall, Order, Quote
from orders.models.quotes import by_price
from orders.quoting import asking
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.errors import OutcomeUnknown, Rejected
from tests import factories
from tests import second as other
from tests.sandbox.client import Client
from tests.sandbox_carrier import SandboxCarrier
from tests.second import second  # noqa: F401  (a fixture)

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(carrier: SandboxCarrier, second: Client, quill: Sender, alice: User) -> Any:  # noqa: F811
    def asked(**changes: Any) -> Quote:
        more = {name: changes.pop(name) for name in ("fresh", "typed") if name in changes}
        details = factories.details(quill, **changes)
        return asking.ask_for_prices(quill, details, by=alice, now=timezone.now(), **more)

    return asked


def book(quote: Quote, key: str, token: uuid.UUID | None = None) -> Order:
    chosen = {"form_token": token or uuid.uuid4(), "pickup_date": None}
    return bookings.submit(quote=quote, code=key, by=quote.made_by, now=timezone.now(), **chosen)


def accounts(quote: Quote) -> set[int]:
    return {quote.account_of(offer) for offer in quote.products}


def calls(operation: str) -> list[int | None]:
    return list(CarrierCall.objects.filter(operation=operation).values_list("account", flat=True))


def test_the_offers_of_both_are_in_one_quote(ask):
    quote = ask()
    default = gateway.current_account()
    assert (quote.account, quote.missing) == (default, [])
    assert accounts(quote) == {default.pk, other.account().pk}
    assert sorted(calls("quote")) == sorted([default.pk, other.account().pk])


def test_a_parcel_is_booked_only_with_its_own_carriers_calls_and_key(ask, carrier, second):  # noqa: F811
    order = book(ask(), other.key())
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, order.account, order.product_code) == ("booked", other.account(), other.CODE)
    assert (len(second.effects("bought")), carrier.ledger("booked")) == (1, [])
    assert calls("book") == [other.account().pk]
    assert [asked for asked in carrier.requests() if asked["path"].startswith("/orders")] == []


def test_an_order_of_the_default_carrier_is_booked_there(ask, carrier, second):  # noqa: F811
    order = book(ask(), "STANDARD-PICKUP")
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, order.account) == ("booked", gateway.current_account())
    assert (second.effects("bought"), len(carrier.ledger("booked"))) == ([], 1)


def test_one_form_books_one_parcel_whichever_carriers_button_is_pressed(ask, carrier, second):  # noqa: F811
    quote = ask()
    order = book(quote, "STANDARD-PICKUP", quote.uuid)
    with pytest.raises(bookings.TokenReused):
        book(quote, other.key(), quote.uuid)
    bookings.process_booking(order.pk)
    assert (len(carrier.ledger("booked")), second.effects("bought"), Order.objects.count()) == (1, [], 1)


def test_equal_codes_of_two_carriers_are_two_offers(quill, alice, settings):
    account = other.named(settings)
    quote = factories.quote(quill, alice)
    quote.products += [{**factories.OFFER, "account": account.pk, "amount": "9.00"}]
    quote.save()
    code = factories.OFFER["code"]
    assert [quote.offer(key)["amount"] for key in (code, other.key(code))] == ["12.08", "9.00"]
    first, cheaper = book(quote, code), book(quote, other.key(code))
    assert [(order.account, order.price) for order in (first, cheaper)] == [
        (quote.account, first.price),
        (account, cheaper.price),
    ]
    assert (str(first.price), str(cheaper.price)) == ("12.08", "9.00")


def trouble(where: Any, verb: str = "503", count: int = 1) -> None:
    if isinstance(where, SandboxCarrier):
        where.trouble("quote", verb, count=count)
    else:
        where.control("trouble", operation="quote", verb=verb, count=count)


@pytest.mark.parametrize("which", ["first", "second"])
def test_a_carrier_that_does_not_reply_leaves_the_others_offers(ask, carrier, second, which):  # noqa: F811
    default, two = gateway.current_account(), other.account()
    down, up = (default, two) if which == "first" else (two, default)
    trouble(carrier if which == "first" else second)
    quote = ask()
    assert (quote.account, accounts(quote)) == (default, {up.pk})
    assert [(one["account"], one["is_refused"], bool(one["why"])) for one in quote.missing] == [(down.pk, False, True)]
    again = ask()  # without `fresh`: a quote that lacks a carrier is not cached
    assert (again.missing, accounts(again)) == ([], {default.pk, two.pk})
    assert ask() == again


def test_a_carrier_that_refuses_the_parcel_says_why_and_the_others_offers_stay(ask, carrier):
    trouble(carrier, "400")
    quote = ask()
    assert accounts(quote) == {other.account().pk}
    [missing] = quote.missing
    assert (missing["account"], bool(missing["why"])) == (gateway.current_account().pk, True)


def test_the_defaults_error_is_raised_if_both_fail(ask, carrier, second):  # noqa: F811
    trouble(carrier, "503")
    trouble(second, "422")
    with pytest.raises(Exception) as failed:  # noqa: PT011
        ask()
    assert not isinstance(failed.value, Rejected)
    assert not Quote.objects.exists()


HOLDS = {
    "paused": {"paused_at": timezone.now(), "pause_text": "Closed."},
    "prices paused": {"quotes_paused_at": timezone.now(), "quotes_pause_text": "Closed."},
    "stopped": {"stopped_at": timezone.now(), "probe_due_at": timezone.now() + dt.timedelta(days=1)},
    "resting": {"resting_until": timezone.now() + dt.timedelta(days=1)},
}


@pytest.mark.parametrize("held", HOLDS)
@pytest.mark.parametrize("which", ["first", "second"])
def test_a_carrier_on_hold_is_not_called_and_the_other_is(ask, held, which):
    default, two = gateway.current_account(), other.account()
    down, up = (default, two) if which == "first" else (two, default)
    CarrierAccount.objects.filter(pk=down.pk).update(**HOLDS[held])
    quote = ask()
    assert (accounts(quote), [one["account"] for one in quote.missing]) == ({up.pk}, [down.pk])
    assert calls("quote") == [up.pk]
    order = book(quote, "STANDARD-PICKUP" if up == default else other.key())
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert order.status == "booked"


def test_a_stopped_carrier_is_called_again_when_its_probe_is_due(ask):
    now = timezone.now()
    CarrierAccount.objects.filter(pk=other.account().pk).update(stopped_at=now, probe_due_at=now)
    assert accounts(ask()) == {gateway.current_account().pk, other.account().pk}


def test_prices_are_paused_only_if_both_carriers_are(ask):
    assert gateway.accounts_for_new_orders()
    CarrierAccount.objects.update(**HOLDS["prices paused"])
    with pytest.raises(asking.Paused):
        ask()


def test_a_booking_for_a_paused_carrier_is_refused_and_the_others_is_not(ask):
    quote = ask()
    CarrierAccount.objects.filter(pk=other.account().pk).update(**HOLDS["paused"])
    with pytest.raises(booking_rules.Paused):
        book(quote, other.key())
    assert book(quote, "STANDARD-PICKUP").status == "booking"


def test_five_lost_bookings_hold_back_only_their_own_account(ask, second):  # noqa: F811
    quote = ask()
    second.control("trouble", operation="book", verb="503", count=5)
    for _ in range(5):
        bookings.process_booking(book(quote, other.key()).pk)
    rests = dict(CarrierAccount.objects.values_list("pk", "resting_until"))
    assert (rests[other.account().pk] is None, rests[gateway.current_account().pk]) == (False, None)


def test_an_offer_of_an_account_that_no_longer_takes_orders_is_not_booked(ask, settings):
    quote, key = ask(), other.key()
    settings.SECOND_CARRIER = {}
    with pytest.raises(booking_rules.CarrierChanged):
        book(quote, key)
    assert book(quote, "STANDARD-PICKUP").account == gateway.current_account()


def test_an_old_price_is_checked_again_at_its_own_carrier(ask, second):  # noqa: F811
    order = book(ask(), other.key())
    Order.objects.filter(pk=order.pk).update(quoted_at=timezone.now() - dt.timedelta(hours=1))
    second.control("settings", price_change=5.0)
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, order.problem["kind"], order.account) == ("draft", "price_rose", other.account())
    bookings.confirm(order, by=order.made_by, now=timezone.now())
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert (order.status, len(second.effects("bought"))) == ("booked", 1)


def test_a_carrier_whose_contract_does_not_cover_the_parcel_is_left_out(ask):
    """EasyPost's insurance is in US dollars, so its class sells no cover from Australia."""
    quote = ask(cover=factories.Decimal(200))
    assert (accounts(quote), quote.missing) == ({gateway.current_account().pk}, [])


def test_a_row_of_an_import_waits_for_both_carriers_turns(ask, monkeypatch):
    from orders.calling import turns  # noqa: PLC0415
    from shipping_portal.jobs.registry import NotYet  # noqa: PLC0415

    def crowded(account: CarrierAccount, operation: str, **more: Any) -> float:
        if account == other.account():
            raise NotYet(timezone.now())
        return turns._now()

    monkeypatch.setattr(turns, "take_turn", crowded)
    with pytest.raises(NotYet):
        ask(typed=False)
    assert [one["account"] for one in ask().missing] == [other.account().pk]


def test_at_the_same_price_the_earlier_arrival_comes_first():
    offers = [
        {"code": code, "currency": "USD", "amount": amount, "eta_to": eta}
        for code, amount, eta in [
            ("LATE", "9.36", "2026-12-03"), ("UNKNOWN", "9.36", None), ("SOON", "9.36", "2026-12-01"),
            ("CHEAP", "9.35", None),
        ]
    ]  # fmt: skip
    assert [offer["code"] for offer in by_price(offers)] == ["CHEAP", "SOON", "LATE", "UNKNOWN"]


def test_with_one_account_no_carrier_name_is_shown(carrier, quill, alice):
    now = timezone.now()
    quote = asking.ask_for_prices(quill, factories.details(quill), by=alice, now=now)
    assert (gateway.carrier_titles(), gateway.second_account(), quote.missing) == ({}, None, [])
    assert all("account" not in offer for offer in quote.products)
    carrier.trouble("quote", "503")
    with pytest.raises(OutcomeUnknown):
        asking.ask_for_prices(quill, factories.details(quill), by=alice, now=now, fresh=True)
