"""Show a stored quote: offers by price with badges, expiry, pickup days and warnings."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from django.conf import settings

from orders.booking import booking_rules
from orders.calling import gateway
from orders.drafting import contents_form
from orders.drafting.parcel_details import ParcelDetails, describe_doubt
from orders.models import Order, Quote
from orders.models.quotes import Offered, by_price, key_of
from orders.quoting import asking
from shipping_portal.accounts.address.addresses import LINE_ADVISED, is_long
from shipping_portal.accounts.formatting import money
from shipping_portal.carrier.messages import Party

PriceLine = tuple[str, Decimal, str]  # name, amount, currency
Titles = Mapping[int, str]  # carriers' names, by account
NO_TITLES: Titles = MappingProxyType({})


@dataclass(frozen=True)
class Offer:
    """One product as quoted. Days are expected, never promised.

    `key` identifies it. `carrier` is blank unless two carriers take new orders.
    """

    key: str
    carrier: str
    code: str
    name: str
    first_mile: str
    total: Decimal
    currency: str
    lines: list[PriceLine]
    taxes: list[PriceLine]
    cover: Decimal | None
    eta_from: dt.date | None
    eta_to: dt.date | None
    duties_paid: bool
    is_cheapest: bool
    is_fastest: bool
    pickup_days: list[dt.date]  # the first is the next business day; empty for a drop-off

    @property
    def is_dropped_off(self) -> bool:
        return self.first_mile == "drop-off"

    @property
    def tax_words(self) -> str:
        """The currency of the total and what tax is in it: `AUD, incl. $1.10 GST`."""
        taxes = ", ".join(
            f"{money(amount, currency)} {name}" for name, amount, currency in self.taxes
        )
        return f"{self.currency}, {f'incl. {taxes}' if taxes else 'tax included'}"


@dataclass(frozen=True)
class Closed:
    """A service that can't be chosen for this parcel, and why."""

    name: str
    why: str
    carrier: str = ""


@dataclass(frozen=True)
class Missing:
    """A carrier that gave no prices while another did. `is_refused`: it won't take the parcel."""

    carrier: str
    is_refused: bool
    why: str


@dataclass(frozen=True)
class QuotesPage:
    details: ParcelDetails
    offers: list[Offer]
    closed: list[Closed]
    missing: list[Missing]
    seconds_old: int
    seconds_left: int
    warnings: list[str]
    goods: list[contents_form.Question]
    order: Order | None  # made from this quote
    duplicate: Order | None  # the same box to the same person, booked a moment ago
    duplicate_seconds: int
    lacks_contents: bool

    @property
    def parcels(self) -> int:
        return len(self.details.more) + 1

    @property
    def is_live(self) -> bool:
        return self.seconds_left > 0

    @property
    def minutes_kept(self) -> int:
        return settings.QUOTE_SECONDS // 60

    @property
    def pickup_days(self) -> list[dt.date]:
        """Return the pickup days of all services.

        If their first days differ, each service shows its own.
        """
        return sorted({day for offer in self.offers for day in offer.pickup_days})

    @property
    def first_pickup(self) -> dt.date | None:
        """Return the next business day if all services agree on it, else None."""
        first = {offer.pickup_days[0] for offer in self.offers if offer.pickup_days}
        return first.pop() if len(first) == 1 else None

    @property
    def is_abroad(self) -> bool:
        return self.details.pickup.country != self.details.receiver.country


def for_page(quote: Quote, *, now: dt.datetime, follows: Order | None = None) -> QuotesPage:
    """Return what a page shows of a quote, whose draft may follow a parcel booked before it."""
    details = ParcelDetails.from_json(quote.details)
    age = int((now - quote.made_at).total_seconds())
    order = Order.objects.filter(sender=quote.sender, form_token=quote.uuid).first()
    duplicate = (
        None if order else follows or booking_rules.booked_lately(quote, now, but=[quote.uuid])
    )
    titles = gateway.carrier_titles()
    return QuotesPage(
        details=details,
        offers=_sorted_offers(quote, details, now, titles),
        closed=_closed_offers(quote, details, titles),
        missing=[
            Missing(titles[one["account"]], one["is_refused"], one["why"])
            for one in quote.missing
            if one["account"] in titles
        ],
        seconds_old=age,
        seconds_left=settings.QUOTE_SECONDS - age if quote.is_live(now) else 0,
        warnings=quote_warnings(details),
        goods=contents_form.contents_questions(
            [details.description, *(item.description for item in details.contents)]
        ),
        order=order,
        duplicate=duplicate,
        duplicate_seconds=int((now - duplicate.submitted_at).total_seconds()) if duplicate else 0,
        lacks_contents=booking_rules.lacks_contents(details),
    )


def quote_warnings(details: ParcelDetails) -> list[str]:
    """Return warnings about values that are allowed but worth checking (interface §2.1, §8)."""
    found = [
        f"Address line {number} is {len(line)} of {LINE_ADVISED} characters. The end may not fit on"
        " the label."
        for number, line in enumerate((details.receiver.line1, details.receiver.line2), start=1)
        if is_long(line)
    ]
    if _place_of(details.receiver) == _place_of(details.pickup):
        found.append(
            "This parcel goes to the address it starts from. Book it only if you mean that."
        )
    if odd := describe_doubt(details.measures):
        found.append(odd)
    return found


def _place_of(party: Party) -> tuple[str, ...]:
    parts = (party.line1, party.line2, party.suburb, party.postcode, party.country)
    return tuple(" ".join(part.casefold().split()) for part in parts)


def _sorted_offers(
    quote: Quote, details: ParcelDetails, now: dt.datetime, titles: Titles = NO_TITLES
) -> list[Offer]:
    ordered = by_price(quote.products)
    last_days = [offer["eta_to"] for offer in ordered if offer["eta_to"]]
    fastest = min(last_days, default=None)
    is_a_choice = len(ordered) > 1 and len({offer["currency"] for offer in ordered}) == 1
    return [
        _make_offer(
            offer,
            carrier=_carrier(quote, offer, titles),
            is_cheapest=is_a_choice and place == 0,
            is_fastest=len(set(last_days)) > 1 and offer["eta_to"] == fastest,
            pickup_days=booking_rules.pickup_days(
                quote.sender, details.pickup, now, first=asking.first_pickup(offer)
            ),
        )
        for place, offer in enumerate(ordered)
    ]


def _closed_offers(
    quote: Quote, details: ParcelDetails, titles: Titles = NO_TITLES
) -> list[Closed]:
    """Return services that can't be booked, and prepaid duties if codes are missing."""
    found = [
        Closed(offer["name"], offer["refused"], _carrier(quote, offer, titles))
        for offer in quote.products
        if offer.get("refused")
    ]
    is_quoted = any(offer["duties_paid"] for offer in quote.products)
    if not is_quoted and not details.may_prepay_duties:
        found.append(Closed("Duties and taxes paid upfront", asking.needs_codes()))
    return found


def _carrier(quote: Quote, offer: Offered, titles: Titles) -> str:
    return titles.get(quote.account_of(offer), "") if titles else ""


def _make_offer(
    plain: Offered,
    *,
    carrier: str,
    is_cheapest: bool,
    is_fastest: bool,
    pickup_days: list[dt.date],
) -> Offer:
    return Offer(
        key=key_of(plain),
        carrier=carrier,
        code=plain["code"],
        name=plain["name"],
        first_mile=plain["first_mile"],
        total=Decimal(plain["amount"]),
        currency=plain["currency"],
        lines=money_lines(plain["breakdown"]),
        taxes=money_lines(plain["taxes"]),
        cover=Decimal(plain["cover"]) if plain["cover"] else None,
        eta_from=_parse_day(plain["eta_from"]),
        eta_to=_parse_day(plain["eta_to"]),
        duties_paid=plain["duties_paid"],
        is_cheapest=is_cheapest,
        is_fastest=is_fastest,
        pickup_days=[] if plain["first_mile"] == "drop-off" else pickup_days,
    )


def money_lines(members: list[list[str]]) -> list[PriceLine]:
    """Return every member of a breakdown under a readable name, known or not (interface §2.3)."""
    return [(_readable_name(name), Decimal(amount), currency) for name, amount, currency in members]


KNOWN = {
    "base": "Delivery",
    "service": "Service charge",
    "service_charge": "Service charge",
    "gst": "GST",
    "hst": "HST",
}


def is_tax(name: str) -> bool:
    """Return whether a readable name is that of a tax. The interface lists no taxes (§2.3)."""
    return not {"tax", "gst", "hst", "pst", "qst", "vat"}.isdisjoint(name.casefold().split())


def _readable_name(name: str) -> str:
    last = name.rpartition(".")[2]
    return KNOWN.get(last.casefold()) or last.replace("_", " ").strip().capitalize()


def _parse_day(text: str | None) -> dt.date | None:
    return dt.date.fromisoformat(text) if text else None
