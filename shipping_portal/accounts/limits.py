"""What a sender may book in a day and ask for in a minute: refused or counted by one UPDATE of the sender's row.

Such an UPDATE sees the newest version of the row and changes it in one step, so any number of presses at once never
pass a limit. It must stay one statement without a subquery: PostgreSQL would read that as it was before it waited.
"""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Case, DateTimeField, DecimalField, F, Q, Value, When
from django.db.models.functions import Round
from django.db.models.lookups import LessThanOrEqual

from shipping_portal.accounts.models import Sender
from shipping_portal.accounts.templatetags.words import local_date, money_in

MONEY = DecimalField(max_digits=16, decimal_places=2)
CENT = Decimal("0.01")
MINUTE = dt.timedelta(minutes=1)
NOTHING_HAPPENED = "Nothing was booked and you weren't charged."


class LimitReached(Exception):
    """A booking does not fit. The text is for the sender: which limit, what is used, when it opens, who raises it."""


@dataclass(frozen=True)
class Limit:
    """One limit: its column, that of what is used of it, and its words."""

    most: str
    used: str
    words: str
    opens: str
    raised_by: str


AT_MIDNIGHT = "Bookings open again at midnight, on {tomorrow}."
AS_IT_IS_BILLED = "Room comes back when the carrier's weekly bills are posted or a parcel is cancelled."
ONCE_APPROVED = "We check every new account, and email you then."
IF_URGENT = "Contact us and quote {number} if it can't wait."
ASK_US = "Contact us and quote {number} if you need more."
ASK_AN_OWNER = "An owner of the account can raise it under Settings."
LIMITS = (
    Limit("own_bookings_a_day", "booked_today", "Your own limit is {most} parcels a day; {used} are booked today.",
          AT_MIDNIGHT, ASK_AN_OWNER),
    Limit("bookings_a_day", "booked_today", "This account books at most {most} parcels a day; {used} are booked today.",
          AT_MIDNIGHT, ASK_US),
    Limit("own_money_a_day", "spent_today", "Your own limit is {most} a day; {used} is used today{this}.",
          AT_MIDNIGHT, ASK_AN_OWNER),
    Limit("money_a_day", "spent_today", "This account books for at most {most} a day; {used} is used today{this}.",
          AT_MIDNIGHT, ASK_US),
    Limit("unbilled_limit", "unbilled",
          "This account may have {most} booked that is not billed yet; {used} is{this}.", AS_IT_IS_BILLED, ASK_US),
)  # fmt: skip
# Of an account that no operator approved yet. What they allow is SIGN_UP's to say, so it is in no column.
FIRST_LIMITS = (
    Limit("first_parcels", "booked_in_all",
          "Until we have approved this new account it may book {most} parcels in all; it has booked {used}.",
          ONCE_APPROVED, IF_URGENT),
    Limit("first_money", "spent_in_all",
          "Until we have approved this new account it may book for {most} in all; {used} is used{this}.",
          ONCE_APPROVED, IF_URGENT),
)  # fmt: skip
WAITING = "Booking opens once we have approved this new account."
COUNTERS = ("counted_on", "booked_today", "spent_today", "unbilled", "booked_in_all", "spent_in_all")
COLUMNS = ("zone", "approved_at", *COUNTERS, *(limit.most for limit in LIMITS))


def day_of(sender: Sender, now: dt.datetime) -> dt.date:
    """Return the sender's day. One that was begun is gone on with, so a change of zone never begins it anew."""
    today = now.astimezone(sender.tzinfo).date()
    return max(today, sender.counted_on or today)


def used(sender: Sender, now: dt.datetime) -> dict[str, Any]:
    """Return what counts at this moment, by the name of the counter."""
    counters: dict[str, Any] = {name: getattr(sender, name) for name in COUNTERS}
    counters |= {"booked_today": 0, "spent_today": Decimal(0)}
    if sender.counted_on == day_of(sender, now):
        counters |= {"booked_today": sender.booked_today, "spent_today": sender.spent_today}
    return counters


def refuse_unless_room(
    sender: Sender, now: dt.datetime, amount: Decimal | None = None, *, is_booking: bool = True
) -> None:
    """Compare with the counters as they were read, to say so early. None is a price that is not known yet.

    Raises LimitReached. What holds when many press at once is `reserve`. An account that no operator approved yet may
    still see prices.
    """
    counts = used(sender, now)
    for limit in (*FIRST_LIMITS, *LIMITS) if is_booking else LIMITS:
        most, count = getattr(sender, limit.most), counts[limit.used]
        one_more = 1 if limit.used.startswith("booked") else CENT if amount is None else amount
        if most is not None and count + one_more > most:
            raise LimitReached(_sentence(limit, sender, count, amount, now))


def reserve(sender: Sender, amount: Decimal, now: dt.datetime, *, is_binding: bool = True) -> dt.date:
    """Count one parcel at this price, and give the day it counts for. Raises LimitReached, and counts nothing.

    Not binding, it is counted in any case: it may have been booked already.
    """
    for _ in range(10):
        day = day_of(sender, now)
        if _count(sender, amount, day, is_binding=is_binding):
            return day
        sender.refresh_from_db(fields=COLUMNS)  # a limit, then; or the next day has begun, or room came back
        if is_binding:
            refuse_unless_room(sender, now, amount)
    raise RuntimeError("the sender's counters say neither yes nor no")


def _count(sender: Sender, amount: Decimal, day: dt.date, *, is_binding: bool) -> bool:
    def of_the_day(counter: str) -> Case:
        return Case(When(counted_on=day, then=F(counter)), default=Value(0), output_field=MONEY)

    after: dict[str, Any] = {
        "booked_today": of_the_day("booked_today") + 1,
        "spent_today": Round(of_the_day("spent_today") + _value(amount), 2),  # SQLite adds as floating point
        "unbilled": Round(F("unbilled") + _value(amount), 2),
        "booked_in_all": F("booked_in_all") + 1,
        "spent_in_all": Round(F("spent_in_all") + _value(amount), 2),
    }
    rows = Sender.objects.filter(Q(counted_on=None) | Q(counted_on__lte=day), pk=sender.pk)
    if is_binding and sender.first_parcels is not None:
        few = LessThanOrEqual(after["booked_in_all"], Value(sender.first_parcels))
        cheap = LessThanOrEqual(after["spent_in_all"], Value(sender.first_money, output_field=MONEY))
        rows = rows.filter(Q(few) & Q(cheap))  # approved since it was read: `reserve` looks again
    for limit in LIMITS if is_binding else ():
        fits = LessThanOrEqual(after[limit.used], F(limit.most))
        rows = rows.filter(Q((f"{limit.most}__isnull", True)) | Q(fits))
    return bool(rows.update(counted_on=day, **after))


def change(
    sender_id: int,
    day: dt.date | None = None,
    *,
    parcels: int = 0,
    money: Decimal = Decimal(0),
    unbilled: Decimal = Decimal(0),
) -> None:
    """Add to the counters, or take from them below zero; those of a day only while that day is counted.

    `parcels` and `money` change what was booked in all, too.
    """
    same = Q(counted_on=day)
    Sender.objects.filter(pk=sender_id).update(
        booked_today=Case(When(same, then=F("booked_today") + parcels), default=F("booked_today")),
        spent_today=Case(When(same, then=Round(F("spent_today") + _value(money), 2)), default=F("spent_today")),
        unbilled=Round(F("unbilled") + _value(unbilled), 2),
        booked_in_all=F("booked_in_all") + parcels,
        spent_in_all=Round(F("spent_in_all") + _value(money), 2),
    )


def take_quote(sender: Sender, now: dt.datetime) -> bool:
    """Count one more request for prices; False when the minute, which its first request began, is full."""
    same = Q(minute_began_at__gt=now - MINUTE)
    count = Case(When(same, then=F("quotes_this_minute") + 1), default=Value(1))
    began = Case(When(same, then=F("minute_began_at")), default=Value(now), output_field=DateTimeField())
    fits = Q(LessThanOrEqual(count, F("quotes_a_minute")))
    rows = Sender.objects.filter(fits, pk=sender.pk)
    return bool(rows.update(minute_began_at=began, quotes_this_minute=count))


@dataclass(frozen=True)
class Usage:
    """One line for a page: how much is used of the operator's limit, and the owner's own, if there is one."""

    name: str
    used: str
    own: str = ""


def usage(sender: Sender, now: dt.datetime) -> list[Usage]:
    """Return how much of each limit is used, in words."""
    counts, currency = used(sender, now), sender.currency

    def line(name: str, counter: str, most: Any, own: Any = None) -> Usage:
        of = ", no limit" if most is None else f" of {_shown(most, currency)}"
        return Usage(name, _shown(counts[counter], currency) + of, "" if own is None else _shown(own, currency))

    first = [
        line("Parcels until it is approved", "booked_in_all", sender.first_parcels),
        line("Money until it is approved", "spent_in_all", sender.first_money),
    ]
    return [
        *(first if sender.first_parcels is not None else []),
        line("Parcels today", "booked_today", sender.bookings_a_day, sender.own_bookings_a_day),
        line("Money today", "spent_today", sender.money_a_day, sender.own_money_a_day),
        line("Booked, not billed yet", "unbilled", sender.unbilled_limit),
    ]


def tomorrow(sender: Sender, now: dt.datetime) -> str:
    """Return the day on which there is room again, as a page writes it."""
    return local_date(day_of(sender, now) + dt.timedelta(days=1), sender)


def _sentence(limit: Limit, sender: Sender, count: Any, amount: Decimal | None, now: dt.datetime) -> str:
    most, count = (_shown(value, sender.currency) for value in (getattr(sender, limit.most), count))
    this = "" if amount is None else f", and this parcel costs {_shown(amount, sender.currency)}"
    words = WAITING if limit in FIRST_LIMITS and sender.is_waiting else limit.words
    text = words.format(most=most, used=count, this=this)
    opens = limit.opens.format(tomorrow=tomorrow(sender, now))
    return f"{text} {NOTHING_HAPPENED} {opens} {limit.raised_by.format(number=sender.number)}"


def _shown(value: int | Decimal, currency: str) -> str:
    return f"{value:,}" if isinstance(value, int) else money_in(value, currency)


def _value(amount: Decimal) -> Value:
    return Value(amount, output_field=MONEY)
