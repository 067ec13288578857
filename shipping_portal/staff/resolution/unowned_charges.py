"""What the carrier charges for references that nobody owns: evidence for a booking that nobody knows the end of."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import DecimalField, F, Max, Min, Q, Sum, Value
from django.db.models.functions import Abs

from orders.models import Order
from shipping_portal.billing.models import Charge, Kind, cents

MOST = 20
MONEY = DecimalField(max_digits=16, decimal_places=2)
MAY_BE_ITS_COST = (Kind.ORDER, Kind.COVER, Kind.UNKNOWN)


@dataclass(frozen=True)
class Billed:
    """What is charged for one reference, in words, and the customer reference on its line, if any."""

    reference: str
    words: str
    customer_reference: str


def billed(order: Order, early: dt.datetime, late: dt.datetime, *, read_from: dt.datetime) -> list[Billed]:
    """Charged on this order's account in this time, in reports taken since `read_from`.

    Those in its own currency come first, the nearest price before the others.
    """
    days = (early.date(), late.date())
    lines = Charge.objects.unmatched().filter(
        Q(day__range=days) | Q(day=None, week__range=days),
        account=order.account_id,
        kind__in=MAY_BE_ITS_COST,
    )
    grouped = lines.exclude(reference="").order_by().values("reference", "currency")
    found = grouped.annotate(
        total=Sum("amount"), on=Min("day"), kg=Max("declared_kg"), file=Min("report__name"),
        customer=Max("customer_reference"), read_at=Min("report__uploaded_at"),
    )  # fmt: skip
    away = Abs(F("total") - Value(order.total or Decimal(0), output_field=MONEY))
    ranked = found.filter(read_at__gte=read_from).annotate(away=away, is_foreign=~Q(currency=order.currency))
    nearest = ranked.order_by("is_foreign", "away", "reference")[:MOST]
    return [Billed(row["reference"], ", ".join(_told(row, order)), row["customer"]) for row in nearest]


def _told(row: Any, order: Order) -> Iterator[str]:
    total = cents(row["total"])
    is_its_price = (total, row["currency"]) == (order.total, order.currency)
    yield f"Charged {total} {row['currency']} in {row['file']}"
    yield "the price of this order" if is_its_price else f"where this order is {order.total} {order.currency}"
    if row["on"]:
        yield f"for an order of {row['on']:%Y-%m-%d}"
    if row["kg"]:
        yield f"declared {row['kg'].normalize():f} kg, this one {order.weight_kg.normalize():f} kg"
