"""The carrier's reference as people type it: its own case is kept (interface §2.2 only says letters and digits)."""

from django.db.models import Case, QuerySet, When

from orders import carrier_settings
from orders.models import Order


def called(orders: QuerySet[Order], typed: str) -> QuerySet[Order]:
    """Those of this reference in whatever case, the one that is written just so first.

    `search` holds every reference in small letters, and has the index that a comparison of any case needs.
    """
    if not any(told.contract.reference_typed(typed) for told in carrier_settings.every()):
        return orders.none()
    named = orders.filter(search__contains=typed.lower(), carrier_reference__iexact=typed)
    return named.order_by(Case(When(carrier_reference=typed, then=0), default=1), "-pk")
