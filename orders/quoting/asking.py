"""Asking for prices: one call to the carrier, one immutable Quote row."""

import datetime as dt
from contextlib import nullcontext
from typing import Any

from orders.booking import answers
from orders.calling import gateway, waiting
from orders.calling.contract import contract
from orders.drafting.parcel_details import ParcelDetails
from orders.models import CarrierAccount, Quote
from orders.models.account import QUOTES
from shipping_portal.accounts import limits
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.errors import AccountStopped, CarrierError, Rejected
from shipping_portal.carrier.messages import Money, Product


class TooManyQuotes(Exception):
    """This sender asked for more prices in a minute than the account allows."""


class Paused(Exception):
    """The operator paused prices for everybody; the text is for the sender."""


class UnreadablePrices(CarrierError):
    """The carrier gave prices, and none that can be read. The operator is told by the log of calls."""


def needs_codes() -> str:
    """Return why duties can't be paid upfront without full HS codes."""
    return f"It needs a {contract().hs_code_duties_paid}-digit HS code for each item."


def ask(
    sender: Sender, details: ParcelDetails, *, by: User, now: dt.datetime, fresh: bool = False, typed: bool = True
) -> Quote:
    """Return prices for this parcel; the same inputs within the quote's life answer from the stored one.

    A minute holds so many `typed` requests, answered or not; those of an import's rows go at the carrier's rate and
    count for nobody, and raise NotYet when that is used up.

    Raises Paused, TooManyQuotes, waiting.Full, UnreadablePrices or the carrier's Rejected, NotSent, AccountStopped or
    OutcomeUnknown (all of them safe to ask again: a quote books nothing). Interface §2.4, §4, §8.
    """
    account = gateway.account()
    if pause := account.pause_of(QUOTES, now):
        raise Paused(pause.text)
    kept = None if fresh else _kept(account, sender, details, now)
    if kept:
        return _readable(kept)
    try:
        with waiting.at_a_page(by) if typed else nullcontext():
            if typed and not limits.take_quote(sender, now):
                raise TooManyQuotes(f"{sender.quotes_a_minute} quotes a minute")
            client = gateway.carrier(account, first="" if typed else "quote", is_person=typed)
            quoted = client.quote(details.shipment())
    except (Rejected, AccountStopped) as error:
        answers.report(error, account, now, operation="quote")
        raise
    made = Quote.objects.create(
        sender=sender,
        account=account,
        made_by=by,
        details=details.to_json(),
        inputs_hash=details.hash(),
        products=[offer_from(product, details) for product in quoted.products],
        unreadable=len(quoted.unreadable),
        made_at=now,
    )
    return _readable(made)


def _readable(quote: Quote) -> Quote:
    """Return the quote; raise UnreadablePrices for one without products that is not known to be empty."""
    if quote.unreadable and not quote.products:
        raise UnreadablePrices(f"none of {quote.unreadable} rows could be read")
    return quote


def _kept(account: CarrierAccount, sender: Sender, details: ParcelDetails, now: dt.datetime) -> Quote | None:
    same = Quote.objects.filter(sender=sender, account=account, inputs_hash=details.hash())
    newest = same.order_by("-id").first()
    return newest if newest and newest.is_live(now) else None


def offer_from(product: Product, details: ParcelDetails) -> dict[str, Any]:
    """Return a product as the JSON a Quote keeps; the form is written on Quote. What must fail is marked as refused."""
    return {
        "code": product.code,
        "name": product.name,
        "first_mile": product.first_mile,
        "service": product.service,
        "amount": str(product.price.amount),
        "currency": product.price.currency,
        "breakdown": _lines(product.breakdown),
        "taxes": _lines(product.taxes),
        "plan": product.plan,
        "pickup": product.send_date.isoformat() if product.send_date else None,
        "eta_from": product.eta_from.isoformat() if product.eta_from else None,
        "eta_to": product.eta_to.isoformat() if product.eta_to else None,
        "duties_paid": product.duties_paid,
        "cover": str(product.cover_price.amount) if product.cover_price else None,
        "refused": needs_codes() if product.duties_paid and not details.may_prepay_duties else "",
    }


def first_pickup(offer: dict[str, Any]) -> dt.date | None:
    """Return the first pickup day by the carrier's own calendar (`eta.for_send_date`); None for a drop-off."""
    day = offer.get("pickup")  # quotes kept from before have none
    return dt.date.fromisoformat(day) if day and offer["first_mile"] != "drop-off" else None


def _lines(members: tuple[tuple[str, Money], ...]) -> list[list[str]]:
    return [[name, str(money.amount), money.currency] for name, money in members]
