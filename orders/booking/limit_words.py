"""Word the limits: why a booking was refused, who raises the limit, and how much is used."""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from orders.booking.limits import FIRST_LIMITS, LimitReached, count_used
from shipping_portal.accounts.formatting import local_date, money_in
from shipping_portal.accounts.models import Sender

NOTHING_HAPPENED = "Nothing was booked and you weren't charged."
AT_MIDNIGHT = "Bookings open again at midnight, on {tomorrow}."
AS_IT_IS_BILLED = (
    "Room comes back when the carrier's weekly bills are posted or a parcel is cancelled."
)
ONCE_APPROVED = "We check every new account, and email you then."
IF_URGENT = "Contact us and quote {number} if it can't wait."
ASK_US = "Contact us and quote {number} if you need more."
ASK_AN_OWNER = "An owner of the account can raise it under Settings."
# For each limit: what is reached, when there is room again, and who raises it.
REFUSALS = {
    "own_bookings_a_day": (
        "Your own limit is {most} parcels a day; {used} are booked today.",
        AT_MIDNIGHT,
        ASK_AN_OWNER,
    ),
    "bookings_a_day": (
        "This account books at most {most} parcels a day; {used} are booked today.",
        AT_MIDNIGHT,
        ASK_US,
    ),
    "own_money_a_day": (
        "Your own limit is {most} a day; {used} is used today{this}.",
        AT_MIDNIGHT,
        ASK_AN_OWNER,
    ),
    "money_a_day": (
        "This account books for at most {most} a day; {used} is used today{this}.",
        AT_MIDNIGHT,
        ASK_US,
    ),
    "unbilled_limit": (
        "This account may have {most} booked that is not billed yet; {used} is{this}.",
        AS_IT_IS_BILLED,
        ASK_US,
    ),
    "first_parcels": (
        (
            "Until we have approved this new account it may book {most} parcels in all; it has"
            " booked {used}."
        ),
        ONCE_APPROVED,
        IF_URGENT,
    ),
    "first_money": (
        (
            "Until we have approved this new account it may book for {most} in all; {used} is"
            " used{this}."
        ),
        ONCE_APPROVED,
        IF_URGENT,
    ),
    "all_senders": (
        (
            "Bookings rest until tomorrow: all accounts of this portal together have reached its"
            " limit for today."
        ),
        "They open again at midnight, on {tomorrow};",
        "contact us and quote {number} if it can't wait.",
    ),
}
WAITING = "Booking opens once we have approved this new account."


def refusal(error: LimitReached, sender: Sender) -> str:
    """Return why a booking doesn't fit: which limit, its use, until when, and who raises it."""
    reached, opens, raised_by = REFUSALS[error.limit]
    if sender.is_waiting and error.limit in {limit.most for limit in FIRST_LIMITS}:
        reached = WAITING
    words = f"{reached} {NOTHING_HAPPENED} {opens} {raised_by}"
    return words.format(
        most=_format_amount(error.most, sender.currency),
        used=_format_amount(error.used, sender.currency),
        this=(
            ""
            if error.price is None
            else f", and this parcel costs {_format_amount(error.price, sender.currency)}"
        ),
        tomorrow=local_date(error.opens_on, sender),
        number=sender.number,
    )


@dataclass(frozen=True)
class Usage:
    """One line for a page: the use of the operator's limit, and of the owner's limit if set."""

    name: str
    used: str
    own: str = ""


def usage(sender: Sender, now: dt.datetime) -> list[Usage]:
    """Return how much of each limit is used, in words."""
    counts, currency = count_used(sender, now), sender.currency

    def line(name: str, counter: str, most: Any, own: Any = None) -> Usage:
        of = ", no limit" if most is None else f" of {_format_amount(most, currency)}"
        return Usage(
            name,
            _format_amount(counts[counter], currency) + of,
            "" if own is None else _format_amount(own, currency),
        )

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


def _format_amount(value: int | Decimal, currency: str) -> str:
    return f"{value:,}" if isinstance(value, int) else money_in(value, currency)
