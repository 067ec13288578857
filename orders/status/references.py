"""Handle the carrier's reference: kept as it spells it, compared in any case, unique by account.

Interface §2.2 says only "letters and digits". Queries compare by `…reference__upper=text.upper()`,
for which orders and parcels have unique indexes on SQLite and PostgreSQL. `iexact` would read the
whole table on SQLite.
"""

import re

from django.db.models import QuerySet

from orders.calling import carrier_settings
from orders.models import Order

# What a reference looks like for an account without settings: one word with a digit in it.
NUMBERED = re.compile(r"(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{6,100}", re.ASCII)


def is_same(one: str, other: str) -> bool:
    return one.upper() == other.upper()


def with_reference(orders: QuerySet[Order], typed: str) -> QuerySet[Order]:
    """Return the orders with this reference, newest first: at most one per account."""
    typed = without_sign(typed)
    if not _may_be_one(typed):
        return orders.none()
    # By key: with a sender added, SQLite would read all of that sender's orders instead of the
    # index.
    named = Order.objects.filter(carrier_reference__upper=typed.upper())
    return orders.filter(pk__in=named.values("pk")).order_by("-pk")


def without_sign(typed: str) -> str:
    """Return a reference typed as `#S12345` without the sign, and other text as it is."""
    bare = typed.removeprefix("#")
    return bare if _may_be_one(bare) else typed


def _may_be_one(typed: str) -> bool:
    """Return whether the text can be a reference, so that names and places cost no query."""
    described = any(
        configured.contract.reference_typed(typed) for configured in carrier_settings.all_settings()
    )
    return described or bool(NUMBERED.fullmatch(typed))
