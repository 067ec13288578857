"""Decide what happens to a due, unsent booking. The verdict is a value; nothing is written.

`bookings.process_booking` passes what it has read, and carries the verdict out in one `match`.
"""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from orders.calling import gateway
from orders.models import Order
from orders.models.account import BOOKINGS, QUOTES
from orders.models.quotes import Offered
from orders.models.statuses import Status
from shipping_portal.accounts.address import places
from shipping_portal.carrier.errors import Rejected

GIVE_UP_AFTER = dt.timedelta(hours=24)
TURNED_OFF = "The login of the person who booked this was turned off before it was sent."
CARRIER_CHANGED = "We send with another carrier now, so please choose again at its prices."
PICKUP_MOVED = "Your pickup address has changed since you booked it."
PICKUP_PASSED = "Its pickup day came before the booking could be sent."
NOT_SENT_IN_TIME = "The booking could not be sent for 24 hours."


@dataclass(frozen=True)
class Go:
    """The booking may be sent. If its price `is_old`, the price has to be checked first.

    `agreed` holds a new offer's columns, `body` what the carrier prepared.
    """

    agreed: Offered | None = None
    is_old: bool = False
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class BackToDraft:
    """The sender has to decide again, because of this problem. `error` is the carrier's, if any."""

    problem: dict[str, Any]
    error: Rejected | None = None
    status: str = Status.DRAFT
    asked: str = "quote"

    @property
    def reason(self) -> str:
        return str(self.problem["text"] or self.problem["kind"])


@dataclass(frozen=True)
class Refuse:
    """The booking ends here because of this problem. `error` is the carrier's, if any."""

    problem: dict[str, Any]
    error: Rejected | None = None
    status: str = Status.REJECTED
    asked: str = "book"

    @property
    def reason(self) -> str:
        return f"refused: {self.problem['text']}" if self.error else str(self.problem["text"])


@dataclass(frozen=True)
class WaitUntil:
    """The booking stays due and is checked again at this time."""

    until: dt.datetime


@dataclass(frozen=True)
class Retry:
    """It failed and is retried, after a back-off or the number of seconds the carrier asked for."""

    after: float | None = None


@dataclass(frozen=True)
class StopAccount:
    """The carrier refuses the account, not the parcel.

    No booking is sent until that is resolved.
    """

    reason: str


Verdict = Go | BackToDraft | Refuse | WaitUntil
PriceVerdict = Go | BackToDraft | Retry | StopAccount
PreparedVerdict = PriceVerdict | Refuse


def of_booking(order: Any, now: dt.datetime, *, has_fresh_price: bool = False) -> Verdict:
    """Return the verdict on a due booking.

    A booking that `has_fresh_price` or is prepared is used as the account's probe if one is needed.
    """
    account, is_late = order.account, is_too_late(order, now)
    is_priced_long_ago = not has_fresh_price and is_old(order, now)
    has_pickup_come = places.is_day_reached(order.pickup_date, order.details().pickup, now)
    # Pauses of bookings, or of prices if this booking's price has to be checked again.
    pause = account.pause_of(BOOKINGS, now) or (
        account.pause_of(QUOTES, now) if is_priced_long_ago else None
    )
    held = None if has_fresh_price else account.holds_until(now)
    if order.sender.is_suspended:
        return BackToDraft({"kind": "suspended", "text": order.sender.suspension_text})
    if order.presser_is_active is False:
        return BackToDraft({"kind": "turned_off", "text": TURNED_OFF})
    if not gateway.takes_new_orders(account):
        return BackToDraft({"kind": "carrier_changed", "text": CARRIER_CHANGED})
    if pause:  # checked before the times, because an operator can end a pause
        return WaitUntil(pause.look_again_at(now))
    if has_pickup_come:
        return BackToDraft({"kind": "pickup_passed", "text": PICKUP_PASSED})
    if is_late:
        return Refuse({"text": NOT_SENT_IN_TIME})
    return WaitUntil(held) if held else Go(is_old=is_priced_long_ago)


def is_old(order: Order, now: dt.datetime) -> bool:
    """Return whether the accepted price has expired, or its first pickup day has come."""
    is_outlived = now - order.quoted_at > dt.timedelta(seconds=settings.QUOTE_SECONDS)
    return is_outlived or places.is_day_reached(
        order.quoted_pickup_date, order.details().pickup, now
    )


def is_too_late(order: Order, now: dt.datetime) -> bool:
    """Return whether to give up: 24 hours after Book was pressed or the last pause ended."""
    # no booking is accepted now; one every five minutes tests whether that has changed
    if order.account.stopped_at:
        return False
    ends = (order.account.pause_ends_at, order.account.quotes_pause_ends_at)
    return now - max([order.submitted_at, *filter(None, ends)]) > GIVE_UP_AFTER
