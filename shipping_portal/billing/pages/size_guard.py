"""Warn before booking with a saved size whose parcels were measured heavier than declared.

The rule: a size's last 5 billed parcels count (booked, with a posted line). A parcel was measured
above if a posted size charge, neither reversed nor credited after a dispute, states more weight
than was declared. With 2 or more of these, the median of their weights (the heavier of two) is the
size's typical measured weight, and a parcel that declares less gets a warning. Weights that the
carrier doesn't state aren't guessed.
"""

import datetime as dt
from collections import defaultdict
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from statistics import median_high

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from orders.drafting.parcel_details import ParcelDetails, in_metric
from orders.models import Order
from orders.models.statuses import Status
from shipping_portal.accounts.models import ParcelSize, Sender
from shipping_portal.billing.models import SIZE_CHARGES, Charge, ChargeKind, Dispute
from shipping_portal.carrier.writing import KILOGRAMS

LAST = 5
FEWEST = 2
YEAR = dt.timedelta(weeks=52)


@dataclass(frozen=True)
class History:
    """The carrier's measures of a size's last billed parcels.

    `above` holds how many kilograms each was over the declared weight.
    """

    billed: int
    above: tuple[Decimal, ...]

    @property
    def typical(self) -> Decimal | None:
        return median_high(self.above) if len(self.above) >= FEWEST else None


@dataclass(frozen=True)
class Rate:
    """How many of a size's billed parcels had a size charge in the last 52 weeks."""

    billed: int = 0
    charged: int = 0
    under_declared: int = 0

    @property
    def percent(self) -> int:
        """Return the percentage of billed parcels that were under-declared."""
        return round(100 * self.under_declared / self.billed) if self.billed else 0


@dataclass(frozen=True)
class Advice:
    """The advice before booking. Weights are in the unit in which the parcel was entered."""

    size: ParcelSize
    history: History
    weight: Decimal
    declared: Decimal
    unit: str
    is_about: bool  # if they weren't all measured the same


def weight_advice(sender: Sender, details: ParcelDetails, *, kept: str = "") -> Advice | None:
    """Return the advice on this parcel's weight.

    There is none for a size (by uuid) whose declared weight was `kept`.
    """
    size = _size_of(sender, details)
    if size is None or str(size.uuid) == kept:
        return None
    history = _history_of(size)
    typical = history.typical
    if typical is None or in_metric(details.measures)["weight_kg"] >= typical:
        return None
    unit = details.measures.weight_units
    is_about = len({in_unit(weight, unit) for weight in history.above}) > 1
    return Advice(size, history, in_unit(typical, unit), details.measures.weight, unit, is_about)


def size_histories(sender: Sender) -> dict[int, History]:
    """Return the history of each of a sender's sizes, by key, in two queries."""
    turn = Window(RowNumber(), partition_by=F("size"), order_by=F("pk").desc())
    billed = _billed_orders(sender).filter(size__isnull=False)
    return _histories_of(billed.annotate(turn=turn).filter(turn__lte=LAST))


@dataclass(frozen=True)
class Suggestion:
    """Suggest a weight for a saved size.

    `count` of `total` size charges are for this size, and its parcels usually weigh `weight`.
    """

    size: ParcelSize
    count: int
    total: int
    weight: Decimal


def suggest_size(sender: Sender, lines: QuerySet[Charge]) -> Suggestion | None:
    """Return the size of most of these size charges, if its saved weight is too low.

    This takes at most four queries.
    """
    charged = lines.filter(kind__in=SIZE_CHARGES, amount__gt=0).order_by()
    counts = dict(charged.values_list("order__size").annotate(lines=Count("pk")))
    key = max(
        (size for size in counts if size), key=lambda size: (counts[size], size), default=None
    )
    if key is None or counts[key] < FEWEST:
        return None
    size = sender.sizes.get(pk=key)
    typical = _history_of(size).typical
    if typical is None or (weight := in_unit(typical, size.weight_units)) <= size.weight:
        return None
    return Suggestion(size, counts[key], sum(counts.values()), weight)


def size_rates(sender: Sender, today: dt.date) -> dict[int, Rate]:
    """Return the rate of each billed size of a sender, by key, in two queries."""
    year = Q(
        sender=sender,
        week__gte=today - YEAR,
        order__size__isnull=False,
        order__status=Status.BOOKED,
    )
    under = Q(kind=ChargeKind.UNDER_DECLARED)
    billed = _by_size(Charge.objects.posted().filter(year))
    charged = _size_charges().filter(year)
    parts = (billed, _by_size(charged), _by_size(charged.filter(under)))
    return {size: Rate(*(part.get(size, 0) for part in parts)) for size in billed}


def in_unit(kilograms: Decimal, unit: str) -> Decimal:
    """Convert to kg or lb, to 0.01, never below the measured weight."""
    return (kilograms / KILOGRAMS[unit]).quantize(Decimal("0.01"), rounding=ROUND_UP)


def _by_size(charges: QuerySet[Charge]) -> dict[int, int]:
    counts = (
        charges.order_by().values("order__size").annotate(parcels=Count("order", distinct=True))
    )
    return {row["order__size"]: row["parcels"] for row in counts}


def _size_of(sender: Sender, details: ParcelDetails) -> ParcelSize | None:
    """Return the order's saved size, or the only size with these sides if the weight differs."""
    if details.size:
        return sender.sizes.filter(uuid=details.size).first()
    sides = details.measures
    same = sender.sizes.filter(
        length=sides.length,
        width=sides.width,
        height=sides.height,
        dimension_units=sides.dimension_units,
    )
    found = list(same[:2])
    return found[0] if len(found) == 1 else None


def _billed_orders(sender: Sender) -> QuerySet[Order]:
    """Return booked orders with a posted line; a cancelled one was never measured."""
    lines = Charge.objects.posted().filter(order=OuterRef("pk"))
    return sender.orders.filter(Exists(lines), status=Status.BOOKED)


def _size_charges() -> QuerySet[Charge]:
    """Return posted size charges still in force."""
    lines = Charge.objects.posted().filter(kind__in=SIZE_CHARGES, amount__gt=0, reversed_by=None)
    return lines.exclude(disputes__state=Dispute.State.ACCEPTED)


def _history_of(size: ParcelSize) -> History:
    billed = _billed_orders(size.sender).filter(size=size).order_by("-pk")[:LAST]
    return _histories_of(billed).get(size.pk, History(0, ()))


def _histories_of(billed: QuerySet[Order]) -> dict[int, History]:
    orders = {
        pk: (size, declared) for pk, size, declared in billed.values_list("pk", "size", "weight_kg")
    }
    above = _measured_above(orders)
    found: dict[int, list[int]] = defaultdict(list)
    for pk, (size, _) in orders.items():
        found[size].append(pk)
    return {
        size: History(len(pks), tuple(above[pk] for pk in pks if pk in above))
        for size, pks in found.items()
    }


def _measured_above(orders: dict[int, tuple[int, Decimal]]) -> dict[int, Decimal]:
    """Return each order's heaviest measured weight, if it is above the declared weight."""
    lines = _size_charges().filter(order__in=orders)
    found: dict[int, Decimal] = {}
    for order, measured, declared in lines.values_list("order", "measured_kg", "declared_kg"):
        least = orders[order][1] if declared is None else declared
        if measured is not None and measured > max(least, found.get(order, least)):
            found[order] = measured
    return found
