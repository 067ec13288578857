"""Find the tax in a charge, as the carrier stated it when booking. Its reports don't."""

from collections.abc import Iterable
from decimal import Decimal

from orders.quoting.offers import is_tax, money_lines
from shipping_portal.billing.models import Charge, ChargeKind
from shipping_portal.billing.pages.statements import PRICES

Part = tuple[str, Decimal]


def line_tax(charge: Charge) -> Decimal | None:
    """Return the tax in an order cost or Extra Cover, or None if the carrier didn't state it.

    The parts of the booked price must add up to the line: the tax in a line at any other price is
    unknown.
    """
    if charge.order is None or charge.kind not in PRICES:
        return None
    parts = [
        (name, amount)
        for name, amount, currency in money_lines(charge.order.breakdown)
        if currency == charge.currency
    ]
    cover = [part for part in parts if _is_cover(part)]
    rest = [part for part in parts if not _is_cover(part)]
    for priced in [parts, rest] if charge.kind == ChargeKind.ORDER else [cover]:
        if priced and _total(priced) == charge.amount:
            return _tax_of(priced)
    return None


def _is_cover(part: Part) -> bool:
    return part[0].casefold().startswith(("cover", "extra cover"))


def _total(parts: Iterable[Part]) -> Decimal:
    return sum((amount for _, amount in parts), Decimal())


def _tax_of(parts: list[Part]) -> Decimal | None:
    taxes = [part for part in parts if is_tax(part[0])]
    return _total(taxes) if taxes else None
