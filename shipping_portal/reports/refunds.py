"""List parcels that may qualify for a refund: missed twice, lost, damaged or late (interface §2.5).

The carrier decides; the rules here are ours, and the page shows them.
"""

import datetime as dt
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import TruncDate

from orders.list import listing
from orders.list.system_views import SenderScope
from orders.models import Order
from orders.models.order import OPEN
from orders.models.statuses import Progress, Status
from shipping_portal.accounts.address import places
from shipping_portal.accounts.formatting import local_date
from shipping_portal.billing.models import GIVEN_BACK, Charge
from shipping_portal.db.keyset import PAGE, Page
from shipping_portal.reports import day_figures
from tracking import polling
from tracking.models import TrackingEvent, happened_at
from tracking.scanning import vocabulary

WEEKS = 26  # how far back the list looks
SILENT_DAYS = 10  # business days without a scan, after which a parcel may be lost
LATE_DAYS = 3  # business days after the carrier's last day, for a parcel that hasn't arrived
NEAR = 2 * PAGE  # parcels read for a page
MOST = 1000  # parcels on the way that are checked one by one
UNDER_WAY = (
    Progress.COLLECTED,
    Progress.DROPPED_OFF,
    Progress.IN_TRANSIT,
    Progress.OUT_FOR_DELIVERY,
    Progress.DELIVERY_ATTEMPTED,
)
REPORTED = (Progress.LOST, Progress.DAMAGED)
RULES = {
    "Missed": "no driver came on two pickup days, by the scans or by the calendar.",
    "Lost": f"the carrier says so, or no scan came for {SILENT_DAYS} business days after it moved.",
    "Damaged": "the carrier says so.",
    "Late": (
        "delivered after the last day the carrier gave, or not delivered "
        f"{LATE_DAYS} business days after that day."
    ),
}


@dataclass(frozen=True)
class Claim:
    """Why a parcel may qualify: a name of RULES and a sentence.

    `is_passed_on`: the operator already has it.
    """

    order: Order
    name: str
    why: str
    last_scan: dt.date | None
    is_passed_on: bool = False

    @property
    def next_step(self) -> str:
        if self.is_passed_on:
            return "We've passed it to support. The label stays on; don't cancel."
        return f"Contact us and quote {self.order.carrier_reference}."


class Claims:
    """One user's list.

    Facts that depend on the clock or scans are looked up once; the rest is a condition.
    """

    def __init__(self, scope: SenderScope) -> None:
        self.scope = scope
        self.since = scope.now - dt.timedelta(weeks=WEEKS)
        self.waiting = [order.pk for order in scope.missed if order.missed_twice(scope.now)]
        self.scanned = self._missed_by_scans()
        self.reported, under_way = self._reported_and_under_way()
        self.stuck = {
            order.pk: found for order in under_way if (found := self._overdue_reason(order))
        }
        queued = scope.orders.filter(polling.unscanned_pickups(scope.now), pk__in=self.waiting)
        self.passed_on = set(queued.values_list("pk", flat=True))
        late = day_figures.late_orders(scope.sender, self._day(self.since))
        listed = {*self.waiting, *self.scanned, *self.stuck, *self.reported, *late}
        self.keys = sorted(listed - self._paid_back())

    def all(self) -> QuerySet[Order]:
        """Return the parcels, each once."""
        return self._orders(self.keys)

    def page(self, *, before: str, after: str) -> Page:
        """Return fifty parcels, newest first, by a neighbouring page's keys."""
        newest = listing.SORTS["newest"]
        older, newer = newest.keys.key(before), newest.keys.key(after)
        if newer:
            first = bisect_right(self.keys, newer[1])
            near = self.keys[first : first + NEAR]
        else:
            end = bisect_left(self.keys, older[1]) if older else len(self.keys)
            near = self.keys[max(end - NEAR, 0) : end]
        return listing.list_page(self._orders(near), newest, before=before, after=after)

    def _orders(self, keys: list[int]) -> QuerySet[Order]:
        return self.scope.orders.filter(pk__in=keys, status=Status.BOOKED).select_related("parcel")

    def _paid_back(self) -> set[int]:
        """Return the orders with a refund that wasn't reversed."""
        refunds = Charge.objects.posted().filter(
            kind__in=GIVEN_BACK, amount__lt=0, reversed_by=None
        )
        mine = refunds.filter(sender=self.scope.sender, order__isnull=False)
        return set(mine.order_by().values_list("order", flat=True))

    def of(self, order: Order) -> Claim:
        """Return the first matching rule, in the order of RULES."""
        order.sender = self.scope.sender
        name, why = self._late_reason(order)
        parcel = getattr(order, "parcel", None)
        scanned_at = parcel.last_scan_at if parcel else order.progress_at
        last_scan = self._day(scanned_at) if scanned_at else None
        return Claim(order, name, why, last_scan, is_passed_on=order.pk in self.passed_on)

    def _late_reason(self, order: Order) -> tuple[str, str]:
        if order.pk in self.waiting:
            day = order.expected_pickup()
            since = f" since {self._date(day)}" if day else ""
            return "Missed", f"No driver came{since}, on two pickup days."
        if order.pk in self.scanned:
            return "Missed", f"No driver came on {self.scanned[order.pk]} days, by the scans."
        if order.progress == Progress.LOST:
            return (
                "Lost",
                f"The carrier reported it lost on {self._date(order.progress_at)}.",
            )
        if order.progress == Progress.DAMAGED:
            return (
                "Damaged",
                f"The carrier reported damage on {self._date(order.progress_at)}.",
            )
        return self.stuck.get(order.pk) or (
            "Late",
            (f"Delivered on {self._date(order.progress_at)}; due by {self._date(order.eta_to)}."),
        )

    def _missed_by_scans(self) -> dict[int, int]:
        """Return orders with scans of missed pickups on at least two days, and how many days."""
        scans = TrackingEvent.objects.filter(
            parcel__order__in=self.scope.orders.filter(
                booked_at__gte=self.since, status=Status.BOOKED
            )
            .order_by()
            .values("pk"),
            set_aside="",
        )
        missed = vocabulary.means_one_of({Progress.PICKUP_MISSED}, vocabulary.meanings_everywhere())
        day = TruncDate(happened_at(), tzinfo=self.scope.sender.tzinfo)
        found = scans.filter(missed).order_by().values_list("parcel__order")
        return dict(found.annotate(days=Count(day, distinct=True)).filter(days__gte=2))

    def _reported_and_under_way(self) -> tuple[list[int], QuerySet[Order]]:
        """Return lost or damaged parcels, and moving ones that are late or haven't been scanned."""
        long_ago = self.scope.now - dt.timedelta(days=SILENT_DAYS)
        reported = Q(progress__in=REPORTED, progress_at__gte=self.since)
        # Nothing was scanned after the time it last moved. That time is indexed and leaves few
        # parcels.
        silent = Q(progress_at__lt=long_ago, parcel__last_scan_at__lt=long_ago)
        moved = Q(
            progress__in=UNDER_WAY,
            progress_at__isnull=False,
            booked_at__gte=self.since,
            parcel__isnull=False,
        )
        mine = self.scope.orders.filter(
            OPEN, reported | moved & (silent | Q(eta_to__lt=self.scope.today))
        )
        found = mine.filter(status=Status.BOOKED).order_by("pk").values_list("pk", "progress")
        under_way = [pk for pk, progress in found if progress not in REPORTED][:MOST]
        orders = self.scope.orders.filter(pk__in=under_way).select_related("parcel")
        return [pk for pk, progress in found if progress in REPORTED], orders

    def _overdue_reason(self, order: Order) -> tuple[str, str] | None:
        last = self._day(order.parcel.last_scan_at or order.progress_at)
        if self._is_past(order, last, SILENT_DAYS):
            return (
                "Lost",
                f"No scan since {self._date(last)}, for {SILENT_DAYS} business days or more.",
            )
        if order.eta_to and self._is_past(order, order.eta_to, LATE_DAYS):
            return "Late", f"Due by {self._date(order.eta_to)} and not delivered yet."
        return None

    def _is_past(self, order: Order, day: dt.date, count: int) -> bool:
        """Return whether this many business days at the origin have passed since that day."""
        where = (order.pickup["country"], order.pickup["state"])
        return self.scope.today > places.business_days(*where, after=day, count=count)[-1]

    def _day(self, at: Any) -> dt.date:
        return self.scope.sender.day_of(at)

    def _date(self, day: dt.date | None) -> str:
        return local_date(day, self.scope.sender)
