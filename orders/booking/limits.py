"""Count what a sender books in a day and asks in a minute, and what all spend in a day.

`move_to` (orders/status/transitions.py) writes the order within `counting`, in one transaction: an
order counts at its cost while it may cost something, and is released exactly once. If somebody else
made the move first, this one is rolled back together with what it counted. A sender's row is locked
first, and a booking locks the day's row of all senders last.

A limit is checked by the UPDATE that counts, so simultaneous presses can't exceed it. It must stay
one statement without a subquery: PostgreSQL would read a subquery as it was before the statement
waited for the row. The sentences about limits are in orders/booking/limit_words.py.
"""

import datetime as dt
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import (
    BigIntegerField,
    Case,
    DateField,
    DateTimeField,
    DecimalField,
    F,
    Q,
    QuerySet,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Least, Round
from django.db.models.lookups import LessThanOrEqual

from orders.models import Order
from orders.models.account import DailySpend
from orders.models.statuses import MAY_COST, Status
from shipping_portal.accounts.models import Sender
from shipping_portal.db.planned_statements import Given, PlannedUpdate
from shipping_portal.ops.starting import end_if_restored

Columns = dict[str, Any]  # values by column name

MONEY = DecimalField(max_digits=16, decimal_places=2)
CENT = Decimal("0.01")
MINUTE = dt.timedelta(minutes=1)
NOT_COUNTED: Columns = {"reserved_on": None, "reserved": Decimal(0), "unbilled": Decimal(0)}


class Limit(NamedTuple):
    """One limit of a sender: the attribute that sets it, and the counter it limits."""

    most: str
    used: str


LIMITS = (
    Limit("own_bookings_a_day", "booked_today"),
    Limit("bookings_a_day", "booked_today"),
    Limit("own_money_a_day", "spent_today"),
    Limit("money_a_day", "spent_today"),
    Limit("unbilled_limit", "unbilled"),
)
# For an account without approval. SIGN_UP decides how much it may book, so it is in no column.
FIRST_LIMITS = (Limit("first_parcels", "booked_in_all"), Limit("first_money", "spent_in_all"))
COUNTERS = (
    "counted_on",
    "booked_today",
    "spent_today",
    "unbilled",
    "booked_in_all",
    "spent_in_all",
)
COLUMNS = ("zone", "approved_at", *COUNTERS, *(limit.most for limit in LIMITS))


@dataclass(eq=False)
class LimitReached(Exception):
    """Raised when a booking exceeds a limit: which one, how much is used, when there is room again.

    `price` is None if it isn't known yet.
    """

    limit: str
    most: int | Decimal
    used: int | Decimal
    price: Decimal | None
    opens_on: dt.date


class DailyLimitReached(LimitReached):
    """Raised when DAILY_MONEY_LIMIT, which all senders share, has no room for the price on `day`.

    `day` is in the sender's time zone.
    """

    def __init__(self, day: dt.date, price: Decimal, opens_on: dt.date) -> None:
        super().__init__(
            "all_senders", settings.DAILY_MONEY_LIMIT, settings.DAILY_MONEY_LIMIT, price, opens_on
        )
        self.day = day


@contextmanager
def noting_refusals(now: dt.datetime) -> Iterator[None]:
    """Wrap the transaction that makes a booking due.

    If the limit of all senders refuses the booking, the refusal is recorded.
    """
    try:
        with transaction.atomic():
            end_if_restored()
            yield
    except DailyLimitReached as refusal:
        # The time of the first refusal, however many follow: the operators' alert counts from it.
        since = Coalesce("refused_at", Value(now))
        price = Value(refusal.price, output_field=MONEY)
        lowest = Least(Coalesce("refused_price", price), price)
        row, _ = DailySpend.objects.get_or_create(day=refusal.day)
        DailySpend.objects.filter(pk=row.pk).update(refused_at=since, refused_price=lowest)
        raise


def day_of(sender: Sender, now: dt.datetime) -> dt.date:
    """Return the sender's day.

    A day that has begun continues, so a change of time zone never starts it again.
    """
    today = now.astimezone(sender.tzinfo).date()
    return max(today, sender.counted_on or today)


def next_day(sender: Sender, now: dt.datetime) -> dt.date:
    """Return the day on which a day's limits have room again."""
    return day_of(sender, now) + dt.timedelta(days=1)


def count_used(sender: Sender, now: dt.datetime) -> Columns:
    """Return what counts now, by counter name."""
    counters = {name: getattr(sender, name) for name in COUNTERS}
    if sender.counted_on != day_of(sender, now):
        counters |= {"booked_today": 0, "spent_today": Decimal(0)}
    return counters


def refuse_unless_room(
    sender: Sender,
    now: dt.datetime,
    price: Decimal | None = None,
    *,
    is_booking: bool = True,
    parcels: int = 1,
) -> None:
    """Check the counters as they were read, to refuse early. A price of None is unknown.

    `price` is the total of all `parcels`.

    Raises LimitReached. Only `reserve` is safe under simultaneous requests. An account that isn't
    approved may still see prices.
    """
    counts = count_used(sender, now)
    for limit in (*FIRST_LIMITS, *LIMITS) if is_booking else LIMITS:
        most, count = getattr(sender, limit.most), counts[limit.used]
        more = parcels if limit.used.startswith("booked") else CENT if price is None else price
        if most is not None and count + more > most:
            raise LimitReached(limit.most, most, count, price, next_day(sender, now))


@contextmanager
def counting(order: Order, new: str, changes: Columns, at: dt.datetime) -> Iterator[Columns]:
    """Count this move of the order around its writes; yield the fields to write into the order.

    Raises LimitReached if the move makes the order due.
    """
    counted = _count_move(order, new, changes, at)
    yield counted.fields
    # Last, because all bookings of the day wait for this row until the transaction ends.
    day, money, is_limited = counted.day, counted.money, new == Status.BOOKING
    if day and not _spend(day, money, is_limited=is_limited):
        raise DailyLimitReached(day, money, next_day(order.sender, at))


class _Counted(NamedTuple):
    """What a move writes into the order, and what it adds to the day's spend of all senders."""

    fields: Columns
    day: dt.date | None = None
    money: Decimal = Decimal(0)


def _count_move(order: Order, new: str, changes: Columns, at: dt.datetime) -> _Counted:
    """Count a move for the order's sender.

    If an order was released and the carrier accepts it late, it is counted whatever the limits say.
    """
    if new == Status.BOOKING or (new == Status.CONFLICT and order.reserved_on is None):
        price = changes.get("price", order.price)
        fields = reserve(order.sender, price, at, is_binding=new == Status.BOOKING)
        return _Counted(fields, fields["reserved_on"], price)
    if order.reserved_on is None:
        return _Counted({})
    if new not in MAY_COST:
        return _release(order)
    price = changes.get("charged_price")
    if price is None or price == order.reserved or not (counts := _locked_counts(order)):
        return _Counted({})
    more = price - counts.reserved  # a higher or lower price, on the day it was reserved
    add(order.sender_id, counts.day, money=more, unbilled=more)
    fields = {"reserved": price, "unbilled": counts.unbilled + more}
    return _Counted(fields, counts.day, more)


def reserve(sender: Sender, price: Decimal, at: dt.datetime, *, is_binding: bool = True) -> Columns:
    """Count one parcel of the sender at this price; return what the order stores about it.

    Raises LimitReached, and counts nothing.

    If the limits aren't binding, it is counted anyway: it may have been booked already.
    """
    for _ in range(10):
        day = day_of(sender, at)
        if _count(sender, price, day, is_binding=is_binding):
            break
        # a limit was reached, or the next day has begun, or there is room again
        sender.refresh_from_db(fields=COLUMNS)
        if is_binding:
            refuse_unless_room(sender, at, price)
    else:
        raise RuntimeError("the sender's counters say neither yes nor no")
    return {"reserved_on": day, "reserved": price, "unbilled": price}


def _plan_count(limits: Iterable[Limit], *, is_first: bool = False) -> PlannedUpdate:
    """Return the UPDATE that counts a parcel on `day` at `price` if the limits allow it.

    `is_first` uses the limits of an account without approval.
    """

    def of_the_day(counter: str) -> Case:
        return Case(When(counted_on=day, then=F(counter)), default=Value(0), output_field=MONEY)

    day, price = Given("day", DateField()), Given("price", MONEY)
    after = {
        "booked_today": of_the_day("booked_today") + 1,
        # SQLite adds as floating point
        "spent_today": Round(of_the_day("spent_today") + price, 2),
        "unbilled": Round(F("unbilled") + price, 2),
        "booked_in_all": F("booked_in_all") + 1,
        "spent_in_all": Round(F("spent_in_all") + price, 2),
    }
    own = Given("sender", BigIntegerField())
    rows = Sender.objects.filter(Q(counted_on=None) | Q(counted_on__lte=day), pk=own)
    for limit in limits:
        fits = LessThanOrEqual(after[limit.used], F(limit.most))
        rows = rows.filter(Q((f"{limit.most}__isnull", True)) | Q(fits))
    for limit in FIRST_LIMITS if is_first else ():
        rows = rows.filter(LessThanOrEqual(after[limit.used], Given(limit.most, MONEY)))
    return PlannedUpdate(rows, counted_on=day, **after)


COUNT, COUNT_IN_LIMITS = _plan_count(()), _plan_count(LIMITS)
COUNT_BEFORE_APPROVAL = _plan_count(LIMITS, is_first=True)


def _count(sender: Sender, price: Decimal, day: dt.date, *, is_binding: bool) -> bool:
    values = {"sender": sender.pk, "price": price, "day": day}
    if not is_binding:
        return bool(COUNT.run(**values))
    if sender.first_parcels is None:
        return bool(COUNT_IN_LIMITS.run(**values))
    # it was approved after it was read, so `reserve` tries again
    first = {limit.most: getattr(sender, limit.most) for limit in FIRST_LIMITS}
    return bool(COUNT_BEFORE_APPROVAL.run(**values, **first))


def _release(order: Order) -> _Counted:
    """Give back what an order reserved. A second call releases nothing."""
    counts = _locked_counts(order)
    if counts is None:
        return _Counted(NOT_COUNTED)
    add(
        order.sender_id,
        counts.day,
        parcels=-1,
        money=-counts.reserved,
        unbilled=-counts.unbilled,
    )
    return _Counted(NOT_COUNTED, counts.day, -counts.reserved)


def count_bills(order: Order, total: Decimal) -> None:
    """Count what posted bills charge above the reserved amount, on the order's day.

    The caller has locked its sender.
    """
    if order.reserved_on:
        more = total - order.reserved
        add(order.sender_id, order.reserved_on, money=more)
        Order.objects.filter(pk=order.pk).update(reserved=total)
        _spend(order.reserved_on, more)


def count_as_billed(orders: QuerySet[Order]) -> None:
    """Stop counting these orders as unbilled. The caller has locked their senders."""
    sums = orders.order_by().values("sender").annotate(billed=Round(Sum("unbilled"), 2))
    for sender, billed in sums.values_list("sender", "billed"):
        add(sender, unbilled=-billed)
    orders.update(unbilled=0)


def count_as_unbilled(orders: QuerySet[Order]) -> None:
    """Count orders at their own prices again: their bills were another order's or were reversed."""
    counted, price = orders.filter(reserved_on__isnull=False), Coalesce("charged_price", "price")
    Sender.lock_all(counted.values("sender"))
    sums = counted.values_list("reserved_on", "sender").annotate(
        money_more=Round(Sum(price - F("reserved")), 2),
        unbilled_more=Round(Sum(price - F("unbilled")), 2),
    )
    found = list(sums.order_by("reserved_on", "sender"))
    counted.update(reserved=price, unbilled=price)
    for day, sender, money, unbilled in found:
        add(sender, day, money=money, unbilled=unbilled)
        _spend(day, money)


class _Counts(NamedTuple):
    day: dt.date
    reserved: Decimal
    unbilled: Decimal


def _locked_counts(order: Order) -> _Counts | None:
    """Lock the sender; return what the order counts, or None if it has been released."""
    Sender.locked(order.sender_id)
    own: QuerySet[Any, Any] = Order.objects.filter(pk=order.pk, reserved_on__isnull=False)
    found = own.values_list("reserved_on", "reserved", "unbilled").first()
    return _Counts(*found) if found else None


def add(
    sender_id: int,
    day: dt.date | None = None,
    *,
    parcels: int = 0,
    money: Decimal = Decimal(0),
    unbilled: Decimal = Decimal(0),
) -> None:
    """Add to a sender's counters. Negative values reduce them.

    A day's counters change only while that day is current. `parcels` and `money` also change the
    totals.
    """
    same = Q(counted_on=day)
    Sender.objects.filter(pk=sender_id).update(
        booked_today=Case(When(same, then=F("booked_today") + parcels), default=F("booked_today")),
        spent_today=Case(
            When(same, then=Round(F("spent_today") + _money_value(money), 2)),
            default=F("spent_today"),
        ),
        unbilled=Round(F("unbilled") + _money_value(unbilled), 2),
        booked_in_all=F("booked_in_all") + parcels,
        spent_in_all=Round(F("spent_in_all") + _money_value(money), 2),
    )


def _plan_spend(*, is_limited: bool) -> PlannedUpdate:
    """Return the UPDATE that counts an amount for all senders together.

    A refusal is over once a booking at least as expensive fits. Cheaper ones that fit prove
    nothing.
    """
    most = Given("most", MONEY)
    added = Round(F("spent") + Given("amount", MONEY), 2)
    rows = DailySpend.objects.filter(day=Given("day", DateField()))
    if is_limited:
        rows = rows.filter(LessThanOrEqual(added, most))
    still = When(refused_price__gt=most - added, then=F("refused_at"))
    return PlannedUpdate(rows, spent=added, refused_at=Case(still, default=None))


SPEND, SPEND_IN_LIMIT = _plan_spend(is_limited=False), _plan_spend(is_limited=True)


def _spend(day: dt.date, amount: Decimal, *, is_limited: bool = False) -> bool:
    """Count an amount for all senders together; return False if it doesn't fit."""
    planned = SPEND_IN_LIMIT if is_limited else SPEND
    values = {"day": day, "amount": amount, "most": Decimal(settings.DAILY_MONEY_LIMIT)}
    if planned.run(**values):
        return True
    # the day's first booking
    DailySpend.objects.bulk_create([DailySpend(day=day)], ignore_conflicts=True)
    return bool(planned.run(**values))


def take_quote(sender: Sender, now: dt.datetime) -> bool:
    """Count one more request for prices; return False if this minute's allowance is used up."""
    same = Q(minute_began_at__gt=now - MINUTE)
    count = Case(When(same, then=F("quotes_this_minute") + 1), default=Value(1))
    began = Case(
        When(same, then=F("minute_began_at")), default=Value(now), output_field=DateTimeField()
    )
    rows = Sender.objects.filter(Q(LessThanOrEqual(count, F("quotes_a_minute"))), pk=sender.pk)
    return bool(rows.update(minute_began_at=began, quotes_this_minute=count))


def _money_value(amount: Decimal) -> Value:
    return Value(amount, output_field=MONEY)
