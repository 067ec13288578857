"""Define the parcels list's built-in views as conditions. Today's counts use them, too."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Q, QuerySet

from orders.labels.printing import BY_DRIVER, PICKUP_DAY, TO_PRINT, UNPRINTED
from orders.models import Order
from orders.models.statuses import MOVING, Progress, Status
from orders.status.status_labels import (
    ASKED,
    GROUPS,
    NOT_CANCELLED,
    NOT_DISMISSED,
    REFUSED_CANCEL,
    UNBOOKED,
    UNCLEAR,
)
from shipping_portal.accounts.access import SEE_MONEY
from shipping_portal.accounts.models import Sender, User

MOST_MISSED = 1000
NO_RETURN = Q(returns__isnull=True)


@dataclass
class SenderScope:
    """One person's parcels at one moment. Values that depend on the clock are computed once."""

    orders: QuerySet[Order]
    sender: Sender
    now: dt.datetime
    sees_money: bool = False

    @classmethod
    def of(cls, user: User, sender: Sender, now: dt.datetime, *, role: str = "") -> "SenderScope":
        # Naming the sender again lets PostgreSQL use its index instead of reading everybody's
        # parcels.
        orders = Order.objects.for_user(user).filter(sender=sender)
        return cls(orders, sender, now, sees_money=role in SEE_MONEY)

    @property
    def today(self) -> dt.date:
        """Return today's date in the sender's zone."""
        return self.sender.day_of(self.now)

    @property
    def a_week_ago(self) -> dt.datetime:
        """Return the start of the last seven days, today included, in the sender's zone."""
        return dt.datetime.combine(self.today - dt.timedelta(days=6), dt.time(), self.sender.tzinfo)

    @property
    def failed_today(self) -> Q:
        """Match parcels that today's driver couldn't collect: none comes on the same day again."""
        midnight = self.a_week_ago + dt.timedelta(days=6)
        futile = Q(progress=Progress.PICKUP_FUTILE, progress_at__gte=midnight)
        return futile & Q(carrier_pickup_date=self.today)

    @property
    def pickups(self) -> QuerySet[Any]:
        """Return the parcels that a driver is to collect, with the `day`, but no returns."""
        waiting = self.orders.filter(GROUPS["waiting"][1], BY_DRIVER, NO_RETURN)
        return waiting.exclude(self.failed_today).annotate(day=PICKUP_DAY)

    @cached_property
    def missed(self) -> list[Order]:
        """Return missed pickups by scan or calendar, longest wait first (interface §3)."""
        # The day may be over at the pickup address and not yet at the sender's; each order is
        # checked below.
        somewhere = (self.now + dt.timedelta(hours=14)).date()
        day_is_past = Q(day__lt=somewhere) | Q(
            day=None, booked_at__lt=self.now - dt.timedelta(days=1)
        )
        candidates = self.orders.annotate(day=PICKUP_DAY).filter(
            _booked_with(Progress.NONE, Progress.PICKUP_MISSED),  # the index has it
            Q(progress=Progress.PICKUP_MISSED) | Q(first_mile="pickup") & day_is_past,
        )
        found = list(candidates.order_by("day", "pk")[:MOST_MISSED])
        for order in found:
            order.sender = self.sender
        return [
            order for order in found if order.shown_progress(self.now) == Progress.PICKUP_MISSED
        ]


@dataclass(frozen=True)
class View:
    """Define a view. `where` is the condition; `empty` is the list's text when nothing matches."""

    words: str
    where: Callable[[SenderScope], Q]
    empty: str


def _by_condition(condition: Q) -> Callable[[SenderScope], Q]:
    return lambda scope: condition


def _booked_with(*progress: Progress) -> Q:
    return Q(status=Status.BOOKED, progress__in=progress)


def _missed_pickups(scope: SenderScope) -> Q:
    return Q(pk__in=[order.pk for order in scope.missed])


# The first ten are above the list; "See all" on Today leads to the rest.
VIEWS: dict[str, View] = {
    "all": View("All", _by_condition(Q()), "Parcels appear here once somebody books one."),
    "needs-attention": View(
        "Needs you",
        _by_condition(GROUPS["attention"][1]),
        "Nothing needs you right now. All is on its way.",
    ),
    TO_PRINT: View(
        "To print",
        _by_condition(UNPRINTED),
        "A label waits here from its booking until somebody printed it.",
    ),
    "waiting-for-pickup": View(
        "Waiting for pickup",
        _by_condition(GROUPS["waiting"][1]),
        "Booked parcels wait here until the driver scans them.",
    ),
    "on-the-way": View(
        "On the way",
        _by_condition(GROUPS["moving"][1]),
        "A parcel is here from its first scan until it is delivered.",
    ),
    "late": View(
        "Late",
        lambda scope: _booked_with(*MOVING) & Q(eta_to__lt=scope.today) & NO_RETURN,
        "Nothing on the way is past the day the carrier named.",
    ),
    "delivery-problem": View(
        "Delivery problem",
        _by_condition(GROUPS["problem"][1] & NOT_DISMISSED),
        "No parcel has trouble on its way just now.",
    ),
    "delivered": View(
        "Delivered", _by_condition(GROUPS["delivered"][1]), "Delivered parcels are kept here."
    ),
    "cancelled": View(
        "Cancelled", _by_condition(GROUPS["cancelled"][1]), "No parcel was cancelled."
    ),
    "drafts": View(
        "Drafts",
        _by_condition(Q(status=Status.DRAFT) & NOT_DISMISSED),
        "Drafts, and bookings that need your approval, are here.",
    ),
    "not-booked": View(
        "Booking failed",
        _by_condition(Q(status__in=UNBOOKED) & NOT_DISMISSED),
        "Every booking went through, or is under way.",
    ),
    "not-cancelled": View(
        NOT_CANCELLED, _by_condition(REFUSED_CANCEL), "The carrier refused no cancellation."
    ),
    "refund-asked": View(
        "Refund requested", _by_condition(ASKED), "The carrier has decided every refund."
    ),
    "couldnt-collect": View(
        "Driver came, parcel wasn't ready",
        _by_condition(_booked_with(Progress.PICKUP_FUTILE) & NOT_DISMISSED),
        "No driver left without a parcel.",
    ),
    "driver-didnt-come": View("Driver didn't come", _missed_pickups, "No pickup was missed."),
    "checking": View(
        "Checking with the carrier",
        _by_condition(Q(status__in=UNCLEAR)),
        "The carrier answered for every parcel.",
    ),
    "used-after-cancelling": View(
        "Label used after cancelling",
        _by_condition(Q(used_after_cancel_at__isnull=False) & NOT_DISMISSED),
        "No cancelled label was used.",
    ),
    "due-today": View(
        "Due today",
        lambda scope: _booked_with(*MOVING) & Q(eta_to=scope.today),
        "The carrier named today for no parcel on the way.",
    ),
    "picked-up": View(
        "Picked up",
        _by_condition(_booked_with(Progress.COLLECTED, Progress.DROPPED_OFF)),
        "No parcel had its first scan only.",
    ),
    "in-transit": View(
        "Between depots",
        _by_condition(_booked_with(Progress.IN_TRANSIT)),
        "No parcel is between depots just now.",
    ),
    "out-for-delivery": View(
        "Out for delivery",
        _by_condition(_booked_with(Progress.OUT_FOR_DELIVERY)),
        "No parcel is with a delivery driver just now.",
    ),
    "delivered-lately": View(
        "Delivered in 7 days",
        lambda scope: GROUPS["delivered"][1] & Q(progress_at__gte=scope.a_week_ago) & NO_RETURN,
        "Nothing was delivered in the last 7 days.",
    ),
    "returns": View(
        "Returns", _by_condition(~NO_RETURN), "Parcels that are sent back to you appear here."
    ),
}
ABOVE_THE_LIST = [*list(VIEWS)[1:10], "all"]
