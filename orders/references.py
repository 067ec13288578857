"""The carrier's reference: kept in the carrier's own letters, compared without regard to case, unique per account.

Interface §2.2 says only "letters and digits". A query compares by `…reference__upper=text.upper()`, which the unique
indexes of orders and parcels are for, on SQLite and PostgreSQL alike; `iexact` would read the whole table on SQLite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orders import carrier_settings

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from orders.models import Order


def is_same(one: str, other: str) -> bool:
    return one.upper() == other.upper()


def called(orders: QuerySet[Order], typed: str) -> QuerySet[Order]:
    """Those of this reference, newest first: one of each account at most."""
    if not any(told.contract.reference_typed(typed) for told in carrier_settings.every()):
        return orders.none()
    return orders.filter(carrier_reference__upper=typed.upper()).order_by("-pk")
