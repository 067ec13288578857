"""The modules of orders whose functions are jobs, chores or retention terms."""

from orders import (
    awaiting_prices,
    booking,
    cancelling,
    labels,
    recounting,
    reminders,
    replacing,
    resolving,
    retention,
)
from orders.billing import checking as billing
from orders.billing import matching
from orders.importing import booking as importing
from orders.importing import checking, finishing
from orders.restoring import comparing

__all__ = [
    "awaiting_prices",
    "billing",
    "booking",
    "cancelling",
    "checking",
    "comparing",
    "finishing",
    "importing",
    "labels",
    "matching",
    "recounting",
    "reminders",
    "replacing",
    "resolving",
    "retention",
]
