"""Ask for prices: one call to the carrier, one immutable Quote row.

An old price is asked for again (§8).
"""

import datetime as dt
from contextlib import nullcontext
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.utils import timezone

from orders.booking import answers, limits
from orders.booking.verdict import BackToDraft, Go, PriceVerdict, Retry, StopAccount
from orders.calling import gateway, waiting
from orders.calling.contract import current_contract
from orders.drafting.parcel_details import ParcelDetails
from orders.models import CarrierAccount, Order, Quote
from orders.models.account import QUOTES
from orders.models.quotes import bookable
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.errors import AccountStopped, CarrierError, NotSent, Rejected
from shipping_portal.carrier.messages import Money, Product


class TooManyQuotes(Exception):
    """Raised when this sender asked for more prices in a minute than the account allows."""


class Paused(Exception):
    """Raised when the operator paused prices for everybody. The text is for the sender."""


class UnreadablePrices(CarrierError):
    """Raised when none of the carrier's prices can be read.

    The log of calls shows it to operators.
    """


def needs_codes() -> str:
    """Return why duties can't be paid upfront without full HS codes."""
    return f"It needs a {current_contract().hs_code_duties_paid}-digit HS code for each item."


def ask_for_prices(
    sender: Sender,
    details: ParcelDetails,
    *,
    by: User,
    now: dt.datetime,
    fresh: bool = False,
    typed: bool = True,
) -> Quote:
    """Return prices for this parcel. Repeated inputs within the quote's life use the stored quote.

    `typed` requests are limited per minute, answered or not. An import's rows follow the carrier's
    rate instead, and raise NotYet when it is used up.

    Raises Paused, TooManyQuotes, waiting.Full, UnreadablePrices, or the carrier's Rejected,
    NotSent, AccountStopped or OutcomeUnknown. All are safe to retry: a quote books nothing.
    Interface §2.4, §4, §8.
    """
    account = gateway.current_account()
    if pause := account.pause_of(QUOTES, now):
        raise Paused(pause.text)
    kept = None if fresh else _fresh_quote(account, sender, details, now)
    if kept:
        return _require_readable(kept)
    try:
        with waiting.at_a_page(by) if typed else nullcontext():
            if typed and not limits.take_quote(sender, now):
                raise TooManyQuotes(f"{sender.quotes_a_minute} quotes a minute")
            client = gateway.carrier_client(
                account, first="" if typed else "quote", is_person=typed
            )
            quoted = client.quote(details.shipment())
    except (Rejected, AccountStopped) as error:
        answers.report_fault(error, account, now, operation="quote")
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
    return _require_readable(made)


def _require_readable(quote: Quote) -> Quote:
    """Return the quote.

    Raises UnreadablePrices if it has no products and isn't known to be empty.
    """
    if quote.unreadable and not quote.products:
        raise UnreadablePrices(f"none of {quote.unreadable} rows could be read")
    return quote


def _fresh_quote(
    account: CarrierAccount, sender: Sender, details: ParcelDetails, now: dt.datetime
) -> Quote | None:
    same = Quote.objects.filter(sender=sender, account=account, inputs_hash=details.hash())
    newest = same.order_by("-id").first()
    return newest if newest and newest.is_live(now) else None


def offer_from(product: Product, details: ParcelDetails) -> dict[str, Any]:
    """Return a product as the JSON that a Quote stores (see Quote).

    Marks what must fail as refused.
    """
    return {
        "code": product.code,
        "name": product.name,
        "first_mile": product.first_mile,
        "service": product.service,
        "amount": str(product.price.amount),
        "currency": product.price.currency,
        "breakdown": _breakdown_lines(product.breakdown),
        "taxes": _breakdown_lines(product.taxes),
        "plan": product.plan,
        "pickup": product.send_date.isoformat() if product.send_date else None,
        "eta_from": product.eta_from.isoformat() if product.eta_from else None,
        "eta_to": product.eta_to.isoformat() if product.eta_to else None,
        "duties_paid": product.duties_paid,
        "cover": str(product.cover_price.amount) if product.cover_price else None,
        "refused": needs_codes() if product.duties_paid and not details.may_prepay_duties else "",
    }


def first_pickup(offer: dict[str, Any]) -> dt.date | None:
    """Return the carrier's first pickup day (`eta.for_send_date`), or None for a drop-off."""
    day = offer.get("pickup")  # older quotes have none
    return dt.date.fromisoformat(day) if day and offer["first_mile"] != "drop-off" else None


def _breakdown_lines(members: tuple[tuple[str, Money], ...]) -> list[list[str]]:
    return [[name, str(money.amount), money.currency] for name, money in members]


def ask_again(order: Order, client: Carrier) -> PriceVerdict:
    """Check an old price; return whether the booking may go at the accepted one or less.

    Equal or lower goes on, higher or missing goes back to the sender, and an unreachable carrier
    only postpones. Nothing was sent in any of these cases.
    """
    try:
        quoted = client.quote(order.details().shipment())
    except AccountStopped as error:
        return StopAccount(error.reason)
    except Rejected as error:
        problem = answers.refusal_problem(
            error,
            order.sender,
            order.pickup["country"],
            to=order.receiver_country,
            operation="quote",
        )
        return BackToDraft({"kind": "gone", **problem}, error)
    except NotSent as error:
        return Retry(error.retry_after)
    except CarrierError:  # a quote books nothing, so an unclear answer is simply asked again
        return Retry()
    offers = [offer_from(product, order.details()) for product in quoted.products]
    offer = next((offer for offer in bookable(offers) if offer["code"] == order.product_code), None)
    if offer is None and quoted.unreadable:
        return Retry()  # it may be the one that could not be read
    return compare_offer(order, offer, timezone.now())


def compare_offer(order: Order, offer: dict[str, Any] | None, now: dt.datetime) -> Go | BackToDraft:
    """Return whether this offer of the accepted product is no dearer than was agreed."""
    if offer is None:
        text = f"{order.product_name} is not offered for this parcel any more. Nothing was booked."
        return BackToDraft({"kind": "gone", "text": text})
    agreed = offer_fields(offer)
    if offer["currency"] == order.currency and agreed["price"] <= order.price:
        return Go(agreed)
    return BackToDraft(
        {
            "kind": "price_rose",
            "text": (
                "The carrier changed its price before the booking was sent. Nothing was booked."
            ),
            "old": str(order.price),
            "new": str(agreed["price"]),
            "offer": offer,
            "quoted_at": now.isoformat(),
        }
    )


def offer_fields(offer: dict[str, Any]) -> dict[str, Any]:
    """Return the order's columns for an accepted offer."""
    return {
        "product_code": offer["code"],
        "product_name": offer["name"],
        "first_mile": offer["first_mile"],
        "duties_paid": offer["duties_paid"],
        "price": Decimal(offer["amount"]).quantize(limits.CENT, ROUND_HALF_UP),
        "currency": offer["currency"],
        "breakdown": offer["breakdown"],
        "plan": offer["plan"],
        "quoted_pickup_date": first_pickup(offer),
        "eta_from": offer["eta_from"] and dt.date.fromisoformat(offer["eta_from"]),
        "eta_to": offer["eta_to"] and dt.date.fromisoformat(offer["eta_to"]),
    }
