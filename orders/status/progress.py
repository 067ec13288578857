"""Where a parcel is: a pure fold over its scans, so that order of arrival, duplicates and lateness cannot matter.

Nothing is scanned after it is received. A scan whose time is more than a quarter of an hour ahead of its receipt comes
from a clock that is ahead (local time written as UTC, mostly), and counts as of its receipt (docs/decisions/0035).

A pickup that nobody came to is found by the calendar, whatever words the carrier has for it (`missed_pickups`).
"""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from orders.models.statuses import Progress
from shipping_portal.accounts.address import places
from shipping_portal.carrier.messages import Party

# After these the parcel's story is over, unless a later scan says otherwise.
TERMINAL = frozenset({Progress.DELIVERED, Progress.CANNOT_DELIVER, Progress.LOST, Progress.EXPIRED})
CLOCK_TOLERANCE = dt.timedelta(minutes=15)
# Scans of the very same instant are read in the order a parcel travels (docs/decisions/0004).
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
    """Return by how much the carrier's clock was ahead, or zero for a scan whose time can be right."""
    ahead = scan_time - received_at
    return ahead if ahead > CLOCK_TOLERANCE else dt.timedelta()


@dataclass(frozen=True)
class Step:
    """One scan as the fold reads it. `tie` (event id or fingerprint) orders what time and progress leave equal.

    `received_at` is the earliest receipt that is known of it, whichever way it came.
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


def fold(steps: Iterable[Step]) -> Projection:
    """Return the latest scan that says where the parcel is.

    A scan without progress (Info, an unknown word) moves only `last_scan_at`. A futile or missed pickup is over
    as soon as any later scan shows the parcel moving.
    """
    known, latest = set(steps), None
    for step in _in_order(known):
        if step.progress and (latest is None or _may_follow(step, latest)):
            latest = step
    last = max((step.happened_at for step in known), default=None)
    return Projection(latest.progress, latest.happened_at, last) if latest else Projection(last_scan_at=last)


def _in_order(steps: Iterable[Step]) -> list[Step]:
    """Sort by time. Scans of a clock that is ahead stay in its own order among themselves, however they arrived."""
    placed, ahead_until = [], None
    first_received = sorted(steps, key=lambda step: step.received_at)
    for step in sorted(first_received, key=lambda step: step.scan_time, reverse=True):
        at = step.scan_time
        if step.is_ahead:  # it was made before whatever that clock says was made later, so before that was received
            at = ahead_until = min(step.received_at, ahead_until or step.received_at)
        placed.append(((at, step.scan_time, RANK[step.progress], step.tie), step))
    return [step for _, step in sorted(placed, key=lambda pair: pair[0])]


def _may_follow(step: Step, latest: Step) -> bool:
    """Let a scan of a clock that is ahead take no parcel back: it may be older than one whose time is right."""
    return not step.is_ahead or latest.is_ahead or RANK[step.progress] >= RANK[latest.progress]


MOST = 2  # from the second on a refund may apply; further ones change nothing


def day_at(pickup: Party, at: dt.datetime) -> dt.date:
    """Return the date where the parcel starts: the carrier plans its pickups by that, wherever the sender is (§8)."""
    return at.astimezone(ZoneInfo(places.zone(pickup.country, pickup.state, pickup.postcode))).date()


def has_come(day: dt.date | None, pickup: Party, now: dt.datetime) -> bool:
    """Return whether a pickup day is today or earlier where the parcel starts: the carrier takes none of these."""
    return day is not None and day <= day_at(pickup, now)


def missed_pickups(
    expected: dt.date | None, *, booked_on: dt.date, heard_on: dt.date | None, today: dt.date, where: tuple[str, str]
) -> int:
    """Count the pickup days that went by without a driver, up to two. All dates are those at the pickup address.

    `asked` is the pickup day; left blank it is the next business day (interface §2.1). `where` is the country and
    state whose holidays count. `heard_on` is the day of the last scan: one from after the pickup day, of whatever
    kind, shows that somebody has the parcel. The scans of the booking itself come before and show nothing.
    """
    day = expected or places.next_business_day(*where, after=booked_on)
    if today <= day or (heard_on is not None and heard_on > day):
        return 0
    second = places.next_business_day(*where, after=day)
    return MOST if today > second else 1
