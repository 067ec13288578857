"""Which order counts for what: counted while it may cost something, for what it costs, and given back exactly once.

`move_to` (orders/status/transitions.py) calls `counted` in its own transaction, before it writes the order: a move that
was made by somebody else is rolled back with what it counted. Locks go Sender, DailySpend, Order.
"""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Case, F, QuerySet, Value, When
from django.db.models.functions import Coalesce, Least, Round

from orders.models import Order
from orders.models.account import DailySpend
from orders.models.statuses import MAY_COST, Status
from shipping_portal.accounts import limits
from shipping_portal.accounts.limits import LimitReached
from shipping_portal.accounts.models import Sender
from shipping_portal.ops.starting import end_if_restored

NOT_COUNTED: dict[str, Any] = {"reserved_on": None, "reserved": Decimal(0), "unbilled": Decimal(0)}
EVERYBODY = (
    "Bookings rest until tomorrow: all accounts of this portal together have reached its limit for today. "
    f"{limits.NOTHING_HAPPENED} They open again at midnight, on {{tomorrow}}; contact us and quote {{number}} "
    "if it can't wait."
)


class DailyLimitReached(LimitReached):
    """DAILY_MONEY_LIMIT, of all senders together, leaves no room for `price` on `day`."""

    def __init__(self, words: str, day: dt.date, price: Decimal) -> None:
        super().__init__(words)
        self.day, self.price = day, price


@contextmanager
def owing(now: dt.datetime) -> Iterator[None]:
    """Hold the transaction that owes a booking; notify the operators when the limit of all senders refuses it."""
    try:
        with transaction.atomic():
            end_if_restored()
            yield
    except DailyLimitReached as refusal:
        _note_refusal(refusal, now)
        raise


def _note_refusal(refusal: DailyLimitReached, now: dt.datetime) -> None:
    """Keep since when bookings are refused, however many are, as the operators' alert counts from that."""
    since = Coalesce("refused_at", Value(now))
    lowest = Least(Coalesce("refused_price", refusal.price), Value(refusal.price, output_field=limits.MONEY))
    row, _ = DailySpend.objects.get_or_create(day=refusal.day)
    DailySpend.objects.filter(pk=row.pk).update(refused_at=since, refused_price=lowest)


def counted(order: Order, new: str, changes: dict[str, Any], at: dt.datetime) -> dict[str, Any]:
    """Count this move of the order; the fields to be written into it. Raises LimitReached when it becomes owed.

    A late yes to what was given back is counted whatever the limits say.
    """
    if new == Status.BOOKING or (new == Status.CONFLICT and order.reserved_on is None):
        price = changes.get("price", order.price)
        return _reserve(order.sender, price, at, is_binding=new == Status.BOOKING)
    if order.reserved_on is None:
        return {}
    if new not in MAY_COST:
        return _give_back(order)
    return _charged(order, changes["charged_price"]) if changes.get("charged_price") is not None else {}


def _reserve(sender: Sender, price: Decimal, at: dt.datetime, *, is_binding: bool) -> dict[str, Any]:
    day = limits.reserve(sender, price, at, is_binding=is_binding)
    if not _spend(day, price, most=settings.DAILY_MONEY_LIMIT if is_binding else None):
        words = EVERYBODY.format(tomorrow=limits.tomorrow(sender, at), number=sender.number)
        raise DailyLimitReached(words, day, price)
    return {"reserved_on": day, "reserved": price, "unbilled": price}


def _give_back(order: Order) -> dict[str, Any]:
    """Give back what was reserved to its day. What is still unbilled is read under the sender's lock."""
    if counts := _locked_counts(order):
        day, reserved, unbilled = counts
        limits.change(order.sender_id, day, parcels=-1, money=-reserved, unbilled=-unbilled)
        _spend(day, -reserved)
    return NOT_COUNTED


def _charged(order: Order, price: Decimal) -> dict[str, Any]:
    """Count another price than was reserved, dearer or cheaper, on the day it was reserved."""
    if price == order.reserved or not (counts := _locked_counts(order)):
        return {}
    day, reserved, unbilled = counts
    more = price - reserved
    limits.change(order.sender_id, day, money=more, unbilled=more)
    _spend(day, more)
    return {"reserved": price, "unbilled": unbilled + more}


def billed(order: Order, total: Decimal) -> None:
    """Count what posted bills charge beyond what was reserved, on its day. Its sender is locked."""
    more = total - order.reserved
    if order.reserved_on:
        limits.change(order.sender_id, order.reserved_on, money=more)
        _spend(order.reserved_on, more)
        type(order)._default_manager.filter(pk=order.pk).update(reserved=total)


def unbilled_again(order: Order) -> None:
    """Count an order at its own price again, as not billed: its bills were another order's. Its sender is locked."""
    if counts := _locked_counts(order):
        day, reserved, unbilled = counts
        limits.change(order.sender_id, day, money=order.price - reserved, unbilled=order.price - unbilled)
        _spend(day, order.price - reserved)
        type(order)._default_manager.filter(pk=order.pk).update(reserved=order.price, unbilled=order.price)


def _locked_counts(order: Order) -> tuple[dt.date, Decimal, Decimal] | None:
    """Return what it counts for; None when it was given back since it was read, so that this move comes too late."""
    Sender.objects.select_for_update(no_key=True).get(pk=order.sender_id)
    own: QuerySet[Any, Any] = type(order)._default_manager.filter(pk=order.pk, reserved_on__isnull=False)
    return own.values_list("reserved_on", "reserved", "unbilled").first()


def _spend(day: dt.date, amount: Decimal, *, most: Decimal | None = None) -> bool:
    """Count it for all senders together, by one conditional UPDATE of the day's row; False when it does not fit.

    A refusal is over once another as dear fits: cheaper ones that still do are no sign of that.
    """
    rows = DailySpend.objects.filter(day=day)
    fitting = rows if most is None else rows.filter(spent__lte=most - amount)
    added = Round(F("spent") + Value(amount, output_field=limits.MONEY), 2)
    still = When(refused_price__gt=settings.DAILY_MONEY_LIMIT - added, then=F("refused_at"))
    counted = {"spent": added, "refused_at": Case(still, default=None)}
    if fitting.update(**counted):
        return True
    DailySpend.objects.bulk_create([DailySpend(day=day)], ignore_conflicts=True)  # the first booking of a day
    return bool(fitting.update(**counted))
