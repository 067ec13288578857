"""What may become of a booking that is due, and of which nothing was sent: a value, and nothing is written here.

`booking.work` takes the verdict with what it has read, and carries it out in one `match`.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from orders.calling import gateway
from orders.models import Order
from orders.models.account import BOOKINGS, QUOTES, Pause
from orders.status import progress
from shipping_portal.carrier.errors import Rejected

GIVE_UP_AFTER = dt.timedelta(hours=24)
TURNED_OFF = "The login of the person who booked this was turned off before it was sent."
CARRIER_CHANGED = "We send with another carrier now, so please choose again at its prices."
PICKUP_PASSED = "Its pickup day came before the booking could be sent."
NOT_SENT_IN_TIME = "The booking could not be sent for 24 hours."


@dataclass(frozen=True)
class Go:
    """It may be sent; where its price was asked for again, at what `agreed` says of the offer."""

    agreed: dict[str, Any] | None = None


@dataclass(frozen=True)
class BackToDraft:
    """Its sender decides again, for this problem. `error` is what the carrier said, if it said anything."""

    problem: dict[str, Any]
    error: Rejected | None = None


@dataclass(frozen=True)
class Refuse:
    """It ends here, for this reason."""

    why: str


@dataclass(frozen=True)
class WaitUntil:
    """It stays due, and is looked at again at this time."""

    until: dt.datetime


@dataclass(frozen=True)
class Retry:
    """It was tried in vain, and is tried again after a back-off or after as many seconds as the carrier says."""

    after: float | None = None


@dataclass(frozen=True)
class StopAccount:
    """The carrier refuses the account, not the parcel: nobody's booking is sent until somebody has seen to it."""

    reason: str


Verdict = Go | BackToDraft | Refuse | WaitUntil
PriceVerdict = Go | BackToDraft | Retry | StopAccount


def of_booking(order: Any, now: dt.datetime, *, is_probe: bool = False) -> Verdict:
    """Return the verdict on a due booking. One that is the account's probe doesn't wait for the account."""
    if order.sender.is_suspended:
        return BackToDraft({"kind": "suspended", "text": order.sender.suspension_text})
    if order.presser_is_active is False:
        return BackToDraft({"kind": "turned_off", "text": TURNED_OFF})
    if not gateway.takes_new_orders(order.account):
        return BackToDraft({"kind": "carrier_changed", "text": CARRIER_CHANGED})
    if pause := pause_of(order, now):  # before the clock: a pause ends by somebody's decision
        return WaitUntil(pause.look_again_at(now))
    if progress.has_come(order.pickup_date, order.details().pickup, now):
        return BackToDraft({"kind": "pickup_passed", "text": PICKUP_PASSED})
    if is_too_late(order, now):
        return Refuse(NOT_SENT_IN_TIME)
    held = None if is_probe else order.account.holds_until(now)
    return WaitUntil(held) if held else Go()


def pause_of(order: Order, now: dt.datetime) -> Pause | None:
    """Return the pause of bookings, or of the prices that this one has to be asked for again."""
    pause = order.account.pause_of(BOOKINGS, now)
    return order.account.pause_of(QUOTES, now) if pause is None and is_old(order, now) else pause


def is_old(order: Order, now: dt.datetime) -> bool:
    """Return whether the accepted price has outlived its quote, or names a first pickup day that has come."""
    is_outlived = now - order.quoted_at > dt.timedelta(seconds=settings.QUOTE_SECONDS)
    return is_outlived or progress.has_come(order.quoted_pickup_date, order.details().pickup, now)


def is_too_late(order: Order, now: dt.datetime) -> bool:
    """Return whether it is no use to go on trying: 24 hours after it was pressed, or the last pause or stop ended."""
    if order.account.stopped_at:  # none of anybody's is taken; one in five minutes goes out to see
        return False
    ends = (order.account.pause_ends_at, order.account.quotes_pause_ends_at)
    return now - max([order.submitted_at, *filter(None, ends)]) > GIVE_UP_AFTER
