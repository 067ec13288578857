"""Dismiss parcels: once their sender has dealt with them, they leave the to-do lists."""

import datetime as dt

from django.db.models import QuerySet

from orders.models import Order
from orders.status.status_labels import NEEDS_SENDER, NOT_DISMISSED


def dismiss(orders: QuerySet[Order], now: dt.datetime) -> int:
    """Dismiss those of these orders that need their sender, and return how many there were.

    They come back with the next change of their status or progress. A refused cancellation isn't
    shown any more: the parcel is kept. Orders that are unclear stay where they are.
    """
    return orders.filter(NEEDS_SENDER, NOT_DISMISSED).update(
        dismissed_at=now, cancel_refused_at=None
    )


def undo(orders: QuerySet[Order]) -> None:
    """Put dismissed orders back among those that need their sender."""
    orders.update(dismissed_at=None)
