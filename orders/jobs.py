"""The modules of orders whose functions are jobs, chores or retention terms."""

from orders import (
    awaiting_prices,
    booking,
    cancelling,
    erasing,
    labels,
    recounting,
    reminders,
    replacing,
    resolving,
    retention,
)
from orders.restoring import comparing

__all__ = [
    "awaiting_prices",
    "booking",
    "cancelling",
    "comparing",
    "erasing",
    "labels",
    "recounting",
    "reminders",
    "replacing",
    "resolving",
    "retention",
]
