"""The modules of orders whose functions are jobs, chores or retention terms."""

from orders import erasing, retention
from orders.booking import bookings, recounting, resolving
from orders.cancelling import cancels, replacing
from orders.labels import fetching
from orders.notices import reminders
from orders.quoting import awaiting_prices
from orders.restoring import comparing

__all__ = [
    "awaiting_prices",
    "bookings",
    "cancels",
    "comparing",
    "erasing",
    "fetching",
    "recounting",
    "reminders",
    "replacing",
    "resolving",
    "retention",
]
