"""Quotes, orders and their jobs at the carrier."""

from orders.models.account import CarrierAccount, CarrierCall, CarrierLine, DailySpend
from orders.models.attempts import BookingAttempt, CancelAttempt
from orders.models.changes import OrderChange
from orders.models.label_links import ReturnLink
from orders.models.labels import BucketFile, Label, LabelBytes
from orders.models.order import Order
from orders.models.quotes import Quote
from orders.models.restores import DatabaseMark, Restore
from orders.models.searches import OrderSearch
from orders.models.stations import PrintJob, PrintStation
from orders.models.statuses import MOVES
from orders.models.workbench import Draft, PriceWait, Replacement, SavedView
