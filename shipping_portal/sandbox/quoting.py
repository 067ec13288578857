"""Price products: what this carrier sells on each lane, for how much and by when (2.3, 2.4)."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal

from shipping_portal.sandbox.asking import Asked, Party
from shipping_portal.sandbox.contract import Contract
from shipping_portal.sandbox.places import COUNTRIES, at_postcode, zone_of
from shipping_portal.sandbox.workdays import add_business_days

CURRENCIES = {"AU": "AUD", "CA": "CAD", "US": "USD"}
MAX_WEIGHT = {"AU": Decimal(25), "CA": Decimal(30), "US": Decimal("31.75")}
MAX_EXPORT_WEIGHT = {"AU": Decimal(20), "CA": Decimal(20), "US": Decimal("9.07")}
INCLUDED_COVER, COVER_STEP, COVER_STEP_PRICE = 100, 100, Decimal("1.95")
CUBIC_WEIGHT = Decimal("0.00025")  # kilograms per cubic centimetre
SERVICE_CHARGE = {"AU": Decimal("0.20"), "CA": Decimal("0.30"), "US": Decimal("0.25")}
EXPORT_SERVICE_CHARGE = Decimal("0.40")
DISCOUNT, FUEL, DUTY = Decimal("0.08"), Decimal("0.07"), Decimal("0.15")
ROUTE_FACTORS = {
    "same-city": Decimal("0.85"),
    "national": Decimal(1),
    "remote": Decimal("1.6"),
    "export": Decimal(1),
}
REMOTE_STATES = ("NT", "WA", "AK", "HI", "NU", "YT")
PLAN = "Pro"


@dataclass(frozen=True)
class Product:
    """A product on one lane: prices before discount, days after the send date."""

    code: str
    name: str
    service: str
    start: Decimal
    per_kilogram: Decimal
    days: tuple[int, int]

    @property
    def is_pickup(self) -> bool:
        return self.code.endswith("-PICKUP")

    @property
    def is_duties_paid(self) -> bool:
        return "-DDP-" in self.code

    @property
    def first_mile(self) -> str:
        return "pickup" if self.is_pickup else "drop off"


@dataclass(frozen=True)
class Quote:
    """A price that adds up: gross = net + tax = the sum of the breakdown."""

    product: Product
    currency: str
    breakdown: dict[str, Decimal]
    taxes: dict[str, tuple[Decimal, Decimal]]
    cover_price: tuple[Decimal, Decimal]
    route: str
    send_date: date
    dates: tuple[date, date]

    @property
    def gross(self) -> Decimal:
        return sum(self.breakdown.values(), Decimal())

    @property
    def tax(self) -> Decimal:
        return sum(
            (amount for name, amount in self.breakdown.items() if name.endswith("_tax")), Decimal()
        )

    @property
    def net(self) -> Decimal:
        return self.gross - self.tax


def _product(code: str, start: str, per_kilogram: str, days: tuple[int, int]) -> Product:
    *service, mile = code.split("-")
    name = " ".join(service).title().replace(" Ddp", "") + (
        " Pickup" if mile == "PICKUP" else " Drop Off"
    )
    paid = "DDP" in service
    word = "".join(part for part in service if part != "DDP").lower()
    return Product(
        code,
        f"{name} (duties paid)" if paid else name,
        word,
        Decimal(start),
        Decimal(per_kilogram),
        days,
    )


DOMESTIC = {
    "AU": (
        _product("STANDARD-DROPOFF", "8.40", "1.15", (2, 5)),
        _product("STANDARD-PICKUP", "9.60", "1.25", (2, 5)),
        _product("EXPRESS-PICKUP", "13.90", "2.10", (1, 2)),
    ),
    "US": (
        _product("SAVER-DROPOFF", "6.10", "1.35", (4, 8)),
        _product("STANDARD-DROPOFF", "7.30", "1.60", (2, 5)),
        _product("STANDARD-PICKUP", "9.80", "1.70", (2, 5)),
        _product("THREE-DAY-PICKUP", "15.40", "2.60", (1, 3)),
    ),
    "CA": (_product("STANDARD-PICKUP", "13.20", "1.90", (2, 6)),),
}
EXPORT = _product("STANDARD-PICKUP", "29.50", "11.40", (6, 12))
EXPORT_DUTIES_PAID = _product("STANDARD-DDP-PICKUP", "33.00", "11.40", (6, 12))


def products_for(asked: Asked, contract: Contract) -> tuple[Product, ...]:
    """Return what can be sold for this parcel.

    There is nothing if the lane isn't served or the parcel is too heavy.
    """
    origin = asked.sender.country
    if asked.weight is not None and asked.weight > max_weight(asked):
        return ()
    if not asked.is_international:
        return DOMESTIC.get(origin, ())
    if origin not in contract["export_origins"]:
        return ()
    return (
        (EXPORT, EXPORT_DUTIES_PAID) if asked.items and contract["duties_paid_word"] else (EXPORT,)
    )


def has_full_codes(asked: Asked, contract: Contract) -> bool:
    """Return whether every item has the digits needed to prepay duties."""
    needed = contract["hs_code_duties_paid"] if contract["item_hs_code"] else 0
    return all(sum(letter.isdigit() for letter in item.hs_code) == needed for item in asked.items)


def max_weight(asked: Asked) -> Decimal:
    """Return how many kilograms this carrier takes on a lane; 0 if it doesn't go there."""
    table = MAX_EXPORT_WEIGHT if asked.is_international else MAX_WEIGHT
    return table.get(asked.sender.country, Decimal())


def quotes_for(
    asked: Asked, contract: Contract, *, now: datetime, raised: Decimal, withdrawn: set[str]
) -> list[Quote]:
    """Return every product on offer with its price.

    ``raised`` is a percentage put on all base prices.
    """
    offered = [
        product for product in products_for(asked, contract) if product.code not in withdrawn
    ]
    offered = [
        product
        for product in offered
        if not product.is_duties_paid or has_full_codes(asked, contract)
    ]
    return [quote_for(asked, product, now=now, raised=raised) for product in offered]


def quote_for(
    asked: Asked, product: Product, *, now: datetime, raised: Decimal, send_date: date | None = None
) -> Quote:
    """Return the price and delivery dates of ``product`` for this parcel.

    ``now`` is an aware time.
    """
    origin = asked.sender.country
    send = send_date or first_send_date(asked, product, now)
    route = route_type(asked)
    breakdown = _charges(asked, product, route, raised)
    rates = _tax_rates(asked)
    for name in ("base", "discount", "cover", "fuel_surcharge"):
        breakdown[f"{name}_tax"] = _cents(breakdown[name] * sum(rates.values(), Decimal()))
    # the price is fixed with its tax
    breakdown["cover_tax"] = cover_charge(asked.cover) - breakdown["cover"]
    breakdown["service"] = (
        EXPORT_SERVICE_CHARGE if asked.is_international else SERVICE_CHARGE[origin]
    )
    if product.is_duties_paid:
        breakdown["duties"] = _cents(
            DUTY * sum((item.quantity * (item.value or 0) for item in asked.items), Decimal())
        )
    tax = sum((amount for name, amount in breakdown.items() if name.endswith("_tax")), Decimal())
    dates = tuple(add_business_days(send, days, origin) for days in product.days)
    cover_price = (breakdown["cover"], breakdown["cover_tax"])
    taxes = _split_tax(tax, rates)
    return Quote(
        product,
        CURRENCIES[origin],
        breakdown,
        taxes,
        cover_price,
        route,
        send,
        (dates[0], dates[1]),
    )


def first_send_date(asked: Asked, product: Product, now: datetime) -> date:
    """Return what a blank pickup date means.

    It is the next business day in the sender's zone, or today for a drop-off.
    """
    today = now.astimezone(
        zone_of(asked.sender.country, asked.sender.state, asked.sender.postcode)
    ).date()
    return add_business_days(today, 1, asked.sender.country) if product.is_pickup else today


def route_type(asked: Asked) -> str:
    """same-city, national, remote or export."""
    if asked.is_international:
        return "export"
    sender, receiver = asked.sender, asked.receiver
    regions = {_region(sender), _region(receiver)}
    if len(regions) == 2 and regions & set(REMOTE_STATES):
        return "remote"
    return (
        "same-city" if sender.postcode[:2].upper() == receiver.postcode[:2].upper() else "national"
    )


def route_description(asked: Asked) -> str:
    """Return the lane in words, as the reply shows it."""
    places = [
        f"{party.suburb.title()}, {COUNTRIES[party.country]}"
        for party in (asked.sender, asked.receiver)
    ]
    return " to ".join(places)


def cover_charge(cover: Decimal | None) -> Decimal:
    """Return the price of Extra Cover with tax.

    100 is included, each further 100 or part of it costs 1.95.
    """
    beyond = max((cover or Decimal()) - INCLUDED_COVER, Decimal())
    return (beyond / COVER_STEP).to_integral_value(ROUND_CEILING) * COVER_STEP_PRICE


def _charges(asked: Asked, product: Product, route: str, raised: Decimal) -> dict[str, Decimal]:
    start = product.start + product.per_kilogram * _chargeable(asked)
    base = _cents(start * ROUTE_FACTORS[route] * (1 + raised / 100))
    discount = -_cents(base * DISCOUNT)
    rate = sum(_tax_rates(asked).values(), Decimal())
    cover = _cents(cover_charge(asked.cover) / (1 + rate))
    return {
        "base": base,
        "discount": discount,
        "cover": cover,
        "fuel_surcharge": _cents((base + discount) * FUEL),
        "surcharge": Decimal("0.00"),
    }


def _chargeable(asked: Asked) -> Decimal:
    cubic = Decimal()
    if asked.size:
        cubic = asked.size[0] * asked.size[1] * asked.size[2] * CUBIC_WEIGHT
    return max(asked.weight or Decimal(), cubic)


def _tax_rates(asked: Asked) -> dict[str, Decimal]:
    if asked.is_international or asked.sender.country == "US":
        return {}
    if asked.sender.country == "AU":
        return {"gst": Decimal("0.1")}
    province = _region(asked.receiver)
    if province == "QC":
        return {"gst": Decimal("0.05"), "qst": Decimal("0.09975")}
    harmonised = {"ON": "0.13", "NS": "0.14", "NB": "0.15", "NL": "0.15", "PE": "0.15"}.get(
        province
    )
    return {"hst": Decimal(harmonised)} if harmonised else {"gst": Decimal("0.05")}


def _split_tax(tax: Decimal, rates: dict[str, Decimal]) -> dict[str, tuple[Decimal, Decimal]]:
    """Return each tax's share and rate; the last takes the odd cent so that the shares add up."""
    shares: dict[str, tuple[Decimal, Decimal]] = {}
    left = tax
    for place, (name, rate) in enumerate(rates.items(), start=1):
        share = left if place == len(rates) else _cents(tax * rate / sum(rates.values()))
        shares[name] = (share, rate)
        left -= share
    return shares


def _region(party: Party) -> str:
    places = at_postcode(party.country, party.postcode)
    return places[0].state if places else party.state.strip().upper()


def _cents(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
