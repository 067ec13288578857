"""The kinds of lines, and the week in which a line counts."""

import datetime as dt
from decimal import Decimal

from django.db import models


class ChargeKind(models.TextChoices):
    """A line's kind, named as in interface §2.5; the last two are ours."""

    ORDER = "order", "Order cost"
    COVER = "cover", "Extra Cover"
    UNDER_DECLARED = "under-declared", "Size or weight adjustment"
    OVERSIZE = "oversize", "Oversize penalty adjustment"
    UN_CANCELLATION = "un-cancellation", "Used after cancelling"
    CANCEL_REFUND = "cancel-refund", "Cancellation refund in the same billing cycle"
    CANCEL_REFUND_LATER = "cancel-refund-later", "Cancellation refund after invoicing"
    DELAY_REFUND = "delay-refund", "Refund for delay"
    LOSS_REFUND = "loss-refund", "Refund for loss"
    OTHER_REFUND = "other-refund", "Other refund"
    CREDIT = "credit", "Credit or correction"
    UNKNOWN = "unknown", "Not known yet"


class Hold(models.TextChoices):
    """Why a line waits for an operator before it counts."""

    BILLED_TWICE = "twice", "Billed twice?"
    OVER_REFUNDED = "refund", "Refunded more than charged?"


# an order is charged for one of these once, unless it was cancelled and its label used
COSTS = (ChargeKind.ORDER, ChargeKind.UN_CANCELLATION)
SIZE_CHARGES = (ChargeKind.UNDER_DECLARED, ChargeKind.OVERSIZE)
CANCEL_REFUNDS = (ChargeKind.CANCEL_REFUND, ChargeKind.CANCEL_REFUND_LATER)
STALE = ""  # the key of a line being read again: as a repeat it says nothing about its order
# for something that went wrong
GIVEN_BACK = (ChargeKind.DELAY_REFUND, ChargeKind.LOSS_REFUND, ChargeKind.OTHER_REFUND)
REFUNDS = (*CANCEL_REFUNDS, *GIVEN_BACK)


def week_of(day: dt.date) -> dt.date:
    """Return the Monday of a day's week."""
    return day - dt.timedelta(days=day.weekday())


def round_cents(amount: Decimal) -> Decimal:
    """Round to the cent: SQLite adds in floating point, which leaves a fraction."""
    return round(amount, 2)
