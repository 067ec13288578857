"""Ask for prices: one call to each carrier that takes new orders, one immutable Quote row.

A price that is too old is requested again (§8).
"""

import datetime as dt
from collections.abc import Callable
from contextlib import nullcontext
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.conf import settings
from django.db.models import Case, When
from django.utils import timezone

from orders.booking import answers, limits
from orders.booking.verdict import PICKUP_MOVED, BackToDraft, Go, PriceVerdict, Retry, StopAccount
from orders.calling import carrier_settings, gateway, turns, waiting
from orders.calling.contract import contract_of, current_contract, takes_parcel
from orders.drafting.parcel_details import ParcelDetails
from orders.models import CarrierAccount, Order, Quote
from orders.models.account import QUOTES
from orders.models.quotes import Offered, bookable, key_of
from orders.quoting import consignments
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import AccountStopped, CarrierError, NotSent, Rejected
from shipping_portal.carrier.messages import Amounts, Product, Quoted

LONGEST_KEY = 100  # as long as the columns that hold it


class TooManyQuotes(Exception):
    """Raised when this sender requested prices more often in a minute than the account allows."""


class Paused(Exception):
    """Raised when the operator paused prices for everybody. The text is for the sender."""


class UnreadablePrices(CarrierError):
    """Raised when none of the carrier's prices can be read.

    The log of calls shows it to operators.
    """


def needs_codes(contract: Contract | None = None) -> str:
    """Return why duties can't be paid upfront without full HS codes."""
    digits = (contract or current_contract()).hs_code_duties_paid
    return f"It needs a {digits}-digit HS code for each item."


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

    So does the same question about another receiver, who gets a quote with the same answer and age.

    Requests that are `typed` by a person are limited per minute, answered or not. An import's rows
    follow the carrier's rate instead, and raise NotYet when it is used up.

    If two carriers take new orders, the quote's `missing` names one that gives no prices.

    Raises Paused, TooManyQuotes, waiting.Full, UnreadablePrices, or the carrier's Rejected,
    NotSent, AccountStopped or OutcomeUnknown; the default carrier's, if both give none. All are
    safe to retry: a quote books nothing.
    Interface §2.4, §4, §8.
    """
    if details.more:
        return _ask_for_several(sender, details, by=by, now=now, fresh=fresh, typed=typed)
    accounts = gateway.accounts_for_new_orders()
    asked, held = _accounts_to_ask(accounts, details, now)
    kept = None if fresh else _fresh_quote(accounts[0], sender, details, now)
    if kept:
        return _require_readable(_quote_for(kept, details, by))
    with waiting.at_a_page(by) if typed else nullcontext():
        if typed and not limits.take_quote(sender, now):
            raise TooManyQuotes(f"{sender.quotes_a_minute} quotes a minute")
        answered = _ask_each(
            asked,
            details,
            now,
            typed=typed,
            is_known=lambda: (
                not fresh and bool(_fresh_quote(accounts[0], sender, details, timezone.now()))
            ),
        )
    if not answered:
        return ask_for_prices(sender, details, by=by, now=timezone.now(), typed=typed)
    read = {pk: quoted for pk, quoted in answered.items() if isinstance(quoted, Quoted)}
    errors = {pk: error for pk, error in answered.items() if isinstance(error, CarrierError)}
    if not read:
        raise errors[asked[0].pk]
    offers = [
        offer_from(product, details, account, is_second=account != accounts[0])
        for account in accounts
        if account.pk in read
        for product in read[account.pk].products
    ]
    fitting = [offer for offer in offers if len(key_of(offer)) <= LONGEST_KEY]
    empty = {pk: one for pk, one in read.items() if fitting and not one.products}
    made = Quote.objects.create(
        sender=sender,
        account=accounts[0],
        made_by=by,
        details=details.to_json(),
        inputs_hash=details.hash(),
        question_hash=_question(details),
        products=fitting,
        missing=[
            *({"account": account.pk, "is_refused": False, "why": ""} for account in held),
            *(_missing(pk, error, sender, details) for pk, error in errors.items()),
            *(_without_offers(pk, quoted) for pk, quoted in empty.items()),
        ],
        unreadable=sum(len(quoted.unreadable) for quoted in read.values())
        + len(offers)
        - len(fitting),
        made_at=now,
    )
    return _require_readable(made)


def _ask_for_several(
    sender: Sender, details: ParcelDetails, *, now: dt.datetime, fresh: bool, **asked: Any
) -> Quote:
    """Return the prices of several parcels together. Equal parcels share one question."""
    account = gateway.accounts_for_new_orders()[0]
    if not fresh and (kept := _fresh_quote(account, sender, details, now)):
        return kept
    quotes: dict[str, Quote] = {}
    parcels = {parcel.hash(): parcel for parcel in details.parcels()}
    for key, parcel in parcels.items():
        quotes[key] = ask_for_prices(sender, parcel, now=timezone.now(), fresh=fresh, **asked)
    return consignments.quote_of(details, [quotes[one.hash()] for one in details.parcels()])


def _accounts_to_ask(
    accounts: list[CarrierAccount], details: ParcelDetails, now: dt.datetime
) -> tuple[list[CarrierAccount], list[CarrierAccount]]:
    """Return the accounts to ask, and those that would be if their carrier took bookings now.

    A carrier whose contract doesn't cover the parcel is in neither. If there is only one carrier,
    it is asked anyway: it may have prices while bookings wait. Raises Paused.
    """
    way = details.pickup.country, details.receiver.country, details.cover
    covering = [one for one in accounts if takes_parcel(contract_of(one), *way)] or accounts[:1]
    on = [one for one in covering if not one.pause_of(QUOTES, now)]
    if not on:
        pause = covering[0].pause_of(QUOTES, now)
        raise Paused(pause.text if pause else "")
    asked = [one for one in on if not one.holds_until(now)] or on
    return asked, [one for one in covering if one not in asked]


def _ask_each(
    asked: list[CarrierAccount],
    details: ParcelDetails,
    now: dt.datetime,
    *,
    typed: bool,
    is_known: Callable[[], bool],
) -> dict[int, Quoted | CarrierError]:
    """Return what each carrier answered, by account.

    Returns nothing if the same question was answered for another row while this one waited.
    """
    answered: dict[int, Quoted | CarrierError] = {}
    if not typed:
        for account in asked:
            turns.wait_for_short_queue(account)
    # The slowest first: an import row that has to wait for it then doesn't use a slot of the other.
    for account in sorted(asked, key=lambda one: contract_of(one).requests_per_second):
        client = gateway.carrier_client(account, first="" if typed else "quote", is_person=typed)
        if not typed and not answered and is_known():
            return {}
        try:
            answered[account.pk] = client.quote(details.shipment())
        except CarrierError as error:
            if isinstance(error, Rejected | AccountStopped):
                answers.report_fault(error, account, now, operation="quote")
            answered[account.pk] = error
    return answered


def _missing(
    account: int, error: CarrierError, sender: Sender, details: ParcelDetails
) -> dict[str, Any]:
    """Return why a carrier gave no prices while another did, as a Quote stores it."""
    if isinstance(error, Rejected):
        ends = {"country": details.pickup.country, "to": details.receiver.country}
        problem = answers.refusal_problem(error, sender, operation="quote", **ends)
        is_refused = problem.get("kind") != "ours"
        return {"account": account, "is_refused": is_refused, "why": problem["text"]}
    why = "" if isinstance(error, AccountStopped) else f"{answers.why_silent(error)}."
    return {"account": account, "is_refused": False, "why": why}


def _without_offers(account: int, quoted: Quoted) -> dict[str, Any]:
    """Return that a carrier has no offers for this parcel, or none that can be read."""
    why = f"{answers.UNREADABLE}." if quoted.unreadable else ""
    return {"account": account, "is_refused": not quoted.unreadable, "why": why}


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
    """Return a usable quote for the same question, preferably for this very parcel."""
    same = Quote.objects.filter(
        sender=sender,
        account=account,
        question_hash=_question(details),
        made_at__gte=now - dt.timedelta(seconds=settings.QUOTE_SECONDS),
    )
    its_own = Case(When(inputs_hash=details.hash(), then=1), default=0)
    newest = same.order_by(its_own.desc(), "-id").first()
    if newest is None:
        return None
    # A carrier that didn't answer then may answer now.
    return newest if all(one["is_refused"] for one in newest.missing) else None


def _quote_for(kept: Quote, details: ParcelDetails, by: User) -> Quote:
    """Return this quote if it is for exactly these details, or else a copy of it for them."""
    if kept.inputs_hash == details.hash():
        return kept
    return Quote.objects.create(
        sender=kept.sender,
        account=kept.account,
        made_by=by,
        details=details.to_json(),
        inputs_hash=details.hash(),
        question_hash=kept.question_hash,
        products=kept.products,
        missing=kept.missing,
        unreadable=kept.unreadable,
        made_at=kept.made_at,
    )


def _question(details: ParcelDetails) -> str:
    by_street = any(
        configured.client_class.prices_by_street
        for configured in carrier_settings.settings_for_new_orders()
    )
    return details.question(by_street=by_street)


def offer_from(
    product: Product, details: ParcelDetails, account: CarrierAccount, *, is_second: bool = False
) -> Offered:
    """Return a product as the JSON that a Quote stores (see Quote).

    An offer whose booking must fail is marked as refused.
    """
    contract = contract_of(account)
    is_refused = product.duties_paid and not details.has_codes_for(contract)
    return {
        **({"account": account.pk} if is_second else {}),
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
        "refused": needs_codes(contract) if is_refused else "",
    }


def first_pickup(offer: Offered) -> dt.date | None:
    """Return the carrier's first pickup day (`eta.for_send_date`), or None for a drop-off."""
    day = offer.get("pickup")  # older quotes have none
    return dt.date.fromisoformat(day) if day and offer["first_mile"] != "drop-off" else None


def _breakdown_lines(members: Amounts) -> list[list[str]]:
    return [[name, str(money.amount), money.currency] for name, money in members]


def ask_again(order: Order, client: Carrier) -> PriceVerdict:
    """Check an old price; return whether the booking may go at the accepted one or less.

    An equal or lower price may go on; a higher or missing one goes back to the sender; an
    unreachable carrier only postpones. If the pickup address has changed, the sender chooses again.
    Nothing was sent in any of these cases.
    """
    details = order.details()
    if details.has_moved(order.sender.pickup_address()):
        return BackToDraft({"kind": "pickup_moved", "text": PICKUP_MOVED})
    try:
        quoted = client.quote(details.shipment())
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
    except CarrierError:  # a quote books nothing, so after an unclear answer we simply ask again
        return Retry()
    offers = [offer_from(product, details, order.account) for product in quoted.products]
    offer = next((offer for offer in bookable(offers) if offer["code"] == order.product_code), None)
    if offer is None and quoted.unreadable:
        return Retry()  # it may be the offer that we couldn't read
    return compare_offer(order, offer, timezone.now())


def compare_offer(order: Order, offer: Offered | None, now: dt.datetime) -> Go | BackToDraft:
    """Return whether this offer of the accepted product costs no more than agreed."""
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


def offer_fields(offer: Offered) -> dict[str, Any]:
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
