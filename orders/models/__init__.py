"""Quotes, orders and everything owed to the carrier about them."""

from orders.models.account import CarrierAccount, CarrierCall
from orders.models.attempts import BookingAttempt, CancelAttempt
from orders.models.imports import ColumnMapping, Import, ImportRow
from orders.models.labels import Label, LabelBytes
from orders.models.order import Order, OrderChange
from orders.models.quotes import Quote
from orders.models.statuses import MOVES
from orders.models.stuck import StuckWork
from orders.models.workbench import Draft, Replacement, SavedView

__all__ = [
    "MOVES",
    "BookingAttempt",
    "CancelAttempt",
    "CarrierAccount",
    "CarrierCall",
    "ColumnMapping",
    "Draft",
    "Import",
    "ImportRow",
    "Label",
    "LabelBytes",
    "Order",
    "OrderChange",
    "Quote",
    "Replacement",
    "SavedView",
    "StuckWork",
]
