"""The modules of orders whose functions are jobs, chores or retention terms."""

from orders import erasing, retention
from orders.booking import recounting, resolving
from orders.cancelling import replacing
from orders.notices import reminders
from orders.quoting import awaiting_prices
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
