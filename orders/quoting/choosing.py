"""Choose a quote's product by a rule, and add up a whole file's prices by each rule."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from orders.calling import gateway
from orders.models import Order, Quote
from orders.models.quotes import Offered, by_price, key_of, offer_key, offers_at
from shipping_portal.accounts.formatting import money_in
from shipping_portal.accounts.models import Sender
from shipping_portal.carrier.messages import Measures

Rule = Sender.ServiceRule


@dataclass(frozen=True)
class Ready:
    """A row that can be booked now: its quote, that quote's offers and the parcel's measures."""

    pk: int
    quote: int
    products: list[Offered]
    measures: Measures


@dataclass(frozen=True)
class Choice:
    """A row with the product that a rule chooses, or None if nothing is offered."""

    row: Ready
    offer: Offered | None

    @property
    def code(self) -> str:
        return key_of(self.offer) if self.offer else ""

    @property
    def price(self) -> Decimal:
        return Decimal(self.offer["amount"]) if self.offer else Decimal(0)


@dataclass(frozen=True)
class Total:
    """The total of all ready rows by one rule, at current prices."""

    rule: str
    label: str
    price: str  # one sum per currency
    has_pickup: bool


def last_product(sender: Sender) -> str:
    """Return the current key of the newest parcel's product, or "" before the first parcel."""
    newest = Order.objects.filter(sender=sender, returns=None).order_by("-id")
    found = newest.values_list("product_code", "account_id").first()
    return current_key(*found) if found else ""


def carrier_choices() -> list[tuple[str, str]]:
    """Return the carriers to choose from, by account, the default first; none if there is one."""
    return [(str(account), title) for account, title in gateway.carrier_titles().items()][:2]


def default_carrier(sender: Sender) -> int | None:
    """Return the account of the carrier that the sender prefers, while it takes new orders."""
    if not sender.default_carrier:
        return None
    named = (account for account, name in carrier_choices() if name == sender.default_carrier)
    return next(map(int, named), None)


def preset_offer(quote: Quote, sender: Sender) -> Offered | None:
    """Return the offer that is chosen when the prices appear.

    The sender's rule chooses it, among those of their preferred carrier if there are any.
    """
    own = offers_at(quote.products, default_carrier(sender), own=quote.account_id)
    last = last_product(sender)
    return choose_offer(own, sender.service_rule, last) or choose_offer(
        quote.products, sender.service_rule, last
    )


def current_key(code: str, account: int) -> str:
    """Return the key that an account's product has in current quotes."""
    second = gateway.second_account()
    return offer_key(code, account if second and second.pk == account else None)


def choose_offer(products: list[Offered], rule: str, last: str = "") -> Offered | None:
    """Return the offer that a rule chooses, else the cheapest, or None if nothing is offered."""
    ordered = by_price(products)
    wanted = ordered
    if rule == Rule.CHEAPEST_PICKUP:
        wanted = [offer for offer in ordered if offer["first_mile"] == "pickup"]
    elif rule == Rule.FASTEST:
        wanted = sorted(
            (offer for offer in ordered if offer["eta_to"]), key=lambda offer: offer["eta_to"]
        )
    elif rule == Rule.LAST:
        wanted = [offer for offer in ordered if key_of(offer) == last]
    return next(iter(wanted or ordered), None)


def unmet_rule(products: list[Offered], rule: str) -> list[str]:
    """Return what the rule asks for, if that isn't offered and something else is used."""
    found = choose_offer(products, rule)
    if rule != Rule.CHEAPEST_PICKUP or found is None or found["first_mile"] == "pickup":
        return []
    return [f"No pickup is offered for this parcel. It would go by {found['name']}."]


def choices_by_rule(rows: Sequence[Ready], rule: str, last: str) -> list[Choice]:
    return [Choice(row, choose_offer(row.products, rule, last)) for row in rows]


def totals_by_rule(offered: Sequence[list[Offered]], last: str) -> list[Total]:
    """Return one total for each usable rule. "Same as last time" needs an earlier parcel."""
    rules = [rule for rule in Rule if rule != Rule.LAST or last]
    return [
        total_of(rule, [choose_offer(products, rule, last) for products in offered])
        for rule in rules
    ]


def total_of(rule: str, chosen: Sequence[Offered | None]) -> Total:
    found = [offer for offer in chosen if offer]
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for offer in found:
        sums[offer["currency"]] += Decimal(offer["amount"])
    return Total(
        rule=rule,
        label=str(Rule(rule).label),
        price=" + ".join(money_in(amount, currency) for currency, amount in sums.items()),
        has_pickup=any(offer["first_mile"] == "pickup" for offer in found),
    )
