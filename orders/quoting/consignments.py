"""Price several parcels of a consignment together: one question for each different size.

Offers are added up, but each parcel is booked at its own price.
"""

from collections.abc import Sequence
from decimal import Decimal

from orders.drafting.parcel_details import ParcelDetails
from orders.models import Quote
from orders.models.quotes import Offered, key_of

Line = list[str]  # name, amount, currency


def quote_of(details: ParcelDetails, quotes: Sequence[Quote]) -> Quote:
    """Make one quote for several parcels from the quote of each. It is as old as the oldest."""
    first = quotes[0]
    missing = {one["account"]: one for quote in quotes for one in quote.missing}
    return Quote.objects.create(
        sender=first.sender,
        account=first.account,
        made_by=first.made_by,
        details=details.to_json(),
        inputs_hash=details.hash(),
        question_hash=details.question(by_street=False),
        products=_summed_products(quotes),
        missing=list(missing.values()),
        unreadable=max(quote.unreadable for quote in quotes),
        made_at=min(quote.made_at for quote in quotes),
    )


def _summed_products(quotes: Sequence[Quote]) -> list[Offered]:
    """Return each service's offer for all parcels; it is refused if one of them can't have it."""
    # An offer without an account belongs to its quote's account, which may change by the next
    # request.
    offered = [
        {(key_of(offer), quote.account_of(offer)): offer for offer in quote.products}
        for quote in quotes
    ]
    keys = dict.fromkeys(key for offers in offered for key in offers)
    return [_sum_of([offers.get(key) for offers in offered]) for key in keys]


def _sum_of(offers: Sequence[Offered | None]) -> Offered:
    found = [offer for offer in offers if offer]
    first, last_days = found[0], [offer["eta_to"] for offer in found]
    first_days = [offer["eta_from"] for offer in found]
    covers = [Decimal(offer["cover"]) for offer in found if offer["cover"]]
    return first | {
        "amount": str(sum(Decimal(offer["amount"]) for offer in found)),
        "breakdown": _summed_lines([offer["breakdown"] for offer in found]),
        "taxes": _summed_lines([offer["taxes"] for offer in found]),
        # A driver who collects all of them comes on the last of these days.
        "pickup": max((offer.get("pickup") or "" for offer in found), default="") or None,
        "eta_from": min(first_days) if all(first_days) else None,
        "eta_to": max(last_days) if all(last_days) else None,
        "cover": str(sum(covers)) if covers else None,
        "refused": _why_refused(offers),
        "parcels": found,
    }


def _why_refused(offers: Sequence[Offered | None]) -> str:
    """Return why not every parcel can have this service, or ""."""
    for number, offer in enumerate(offers, start=1):
        if offer is None:
            return f"It isn't offered for parcel {number}."
        if offer.get("refused"):
            return str(offer["refused"])
    currencies = {offer["currency"] for offer in offers if offer}
    return "" if len(currencies) == 1 else "Its prices are in different currencies."


def _summed_lines(all_lines: Sequence[list[Line]]) -> list[Line]:
    sums: dict[tuple[str, str], Decimal] = {}
    for name, amount, currency in (line for lines in all_lines for line in lines):
        sums[name, currency] = sums.get((name, currency), Decimal(0)) + Decimal(amount)
    return [[name, str(amount), currency] for (name, currency), amount in sums.items()]
