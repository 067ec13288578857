"""The carrier's reference: kept in the carrier's own letters, compared without regard to case, unique per account.

Interface §2.2 says only "letters and digits". A query compares by `…reference__upper=text.upper()`, which the unique
indexes of orders and parcels are for, on SQLite and PostgreSQL alike; `iexact` would read the whole table on SQLite.
"""

from __future__ import annotations

import re

from django.db.models import QuerySet

from orders.calling import carrier_settings
from orders.models import Order

# What may be the reference of an account that no settings describe any more: one word, with a digit in it.
NUMBERED = re.compile(r"(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{6,100}", re.ASCII)


def is_same(one: str, other: str) -> bool:
    return one.upper() == other.upper()


def with_reference(orders: QuerySet[Order], typed: str) -> QuerySet[Order]:
    """Return the orders of this reference, newest first: one of each account at most."""
    if not _may_be_one(typed):
        return orders.none()
    # By key: side by side with a sender, SQLite would read all orders of that sender instead of the index.
    named = Order.objects.filter(carrier_reference__upper=typed.upper())
    return orders.filter(pk__in=named.values("pk")).order_by("-pk")


def _may_be_one(typed: str) -> bool:
    """Return whether the text can be a reference, so that names and places, searched for all day, cost no query."""
    described = any(configured.contract.reference_typed(typed) for configured in carrier_settings.every())
    return described or bool(NUMBERED.fullmatch(typed))
