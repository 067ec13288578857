"""Compute where a parcel is: a pure projection of its scans.

The order of arrival, duplicates and late scans don't matter.

No scan is later than its receipt. A scan dated more than a quarter of an hour ahead comes from a
clock that is ahead (mostly local time written as UTC), and counts from its receipt
(docs/decisions/0035).

A missed pickup is derived from the calendar, whatever words the carrier has for it
(`missed_pickups`).
"""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from orders.models.statuses import Progress
from shipping_portal.accounts.address import places

# After these the journey is over, unless a later scan says otherwise.
TERMINAL = frozenset({Progress.DELIVERED, Progress.CANNOT_DELIVER, Progress.LOST, Progress.EXPIRED})
CLOCK_TOLERANCE = dt.timedelta(minutes=15)
# Simultaneous scans are sorted by a parcel's usual route (docs/decisions/0004).
SCAN_ORDER = (
    Progress.NONE,
    Progress.EXPIRED,
    Progress.PICKUP_MISSED,
    Progress.PICKUP_FUTILE,
    Progress.DROPPED_OFF,
    Progress.COLLECTED,
    Progress.IN_TRANSIT,
    Progress.OUT_FOR_DELIVERY,
    Progress.DELIVERY_ATTEMPTED,
    Progress.HELD,
    Progress.DAMAGED,
    Progress.CANNOT_DELIVER,
    Progress.RETURNING,
    Progress.LOST,
    Progress.DELIVERED,
)
RANK = {str(progress): place for place, progress in enumerate(SCAN_ORDER)}


def clock_ahead(scan_time: dt.datetime, received_at: dt.datetime) -> dt.timedelta:
    """Return how far ahead the carrier's clock was, or zero if the scan time can be right."""
    ahead = scan_time - received_at
    return ahead if ahead > CLOCK_TOLERANCE else dt.timedelta()


@dataclass(frozen=True)
class Step:
    """One scan. `tie` (event id or fingerprint) sorts scans with equal time and progress.

    `received_at` is its earliest known receipt, whichever way it came.
    """

    scan_time: dt.datetime
    tie: str
    progress: str
    received_at: dt.datetime

    @property
    def is_ahead(self) -> bool:
        return bool(clock_ahead(self.scan_time, self.received_at))

    @property
    def happened_at(self) -> dt.datetime:
        return self.received_at if self.is_ahead else self.scan_time


@dataclass(frozen=True)
class Projection:
    progress: str = Progress.NONE
    progress_at: dt.datetime | None = None
    last_scan_at: dt.datetime | None = None


def project_steps(steps: Iterable[Step]) -> Projection:
    """Return the latest scan that says where the parcel is.

    A scan without progress (Info, an unknown word) moves only `last_scan_at`. A futile or missed
    pickup ends with any later scan that shows the parcel moving.
    """
    known, latest = set(steps), None
    for step in _in_order(known):
        if step.progress and (latest is None or _may_follow(step, latest)):
            latest = step
    last = max((step.happened_at for step in known), default=None)
    return (
        Projection(latest.progress, latest.happened_at, last)
        if latest
        else Projection(last_scan_at=last)
    )


def _in_order(steps: Iterable[Step]) -> list[Step]:
    """Sort by time. Scans from a clock that is ahead keep that clock's order among themselves."""
    placed, ahead_until = [], None
    first_received = sorted(steps, key=lambda step: step.received_at)
    for step in sorted(first_received, key=lambda step: step.scan_time, reverse=True):
        at = step.scan_time
        # This scan was made before that clock's later ones, so before they were received.
        if step.is_ahead:
            at = ahead_until = min(step.received_at, ahead_until or step.received_at)
        placed.append(((at, step.scan_time, RANK[step.progress], step.tie), step))
    return [step for _, step in sorted(placed, key=lambda pair: pair[0])]


def _may_follow(step: Step, latest: Step) -> bool:
    """Return whether a scan from a fast clock may follow: it must not move a parcel back."""
    return not step.is_ahead or latest.is_ahead or RANK[step.progress] >= RANK[latest.progress]


MOST = 2  # from the second on, a refund may be due; further ones change nothing


def missed_pickups(
    expected: dt.date | None,
    *,
    booked_on: dt.date,
    heard_on: dt.date | None,
    today: dt.date,
    where: tuple[str, str],
) -> int:
    """Count the pickup days that passed without a driver, up to two.

    All dates are those at the pickup address. `expected` is the pickup day; None means the next
    business day (interface §2.1). `where` is the country and state whose holidays count. `heard_on`
    is the day of the last scan: any scan after the pickup day shows that somebody has the parcel.
    Scans of the booking itself are earlier and show nothing.
    """
    day = expected or places.next_business_day(*where, after=booked_on)
    if today <= day or (heard_on is not None and heard_on > day):
        return 0
    second = places.next_business_day(*where, after=day)
    return MOST if today > second else 1
