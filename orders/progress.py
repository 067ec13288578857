"""Where a parcel is: a pure fold over its scans, so that order of arrival, duplicates and lateness cannot matter.

A pickup that nobody came to is found by the calendar, whatever words the carrier has for it (`missed_pickups`).
"""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from orders.models.statuses import Progress
from shipping_portal.accounts import places
from shipping_portal.carrier.messages import Party

# After these the parcel's story is over, unless a later scan says otherwise.
TERMINAL = frozenset({Progress.DELIVERED, Progress.CANNOT_DELIVER, Progress.LOST, Progress.EXPIRED})
FUTURE_ALLOWED = dt.timedelta(hours=24)
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


@dataclass(frozen=True)
class Step:
    """One scan as the fold reads it. `tie` (event id or fingerprint) orders what time and progress leave equal."""

    scan_time: dt.datetime
    tie: str
    progress: str


@dataclass(frozen=True)
class Projection:
    progress: str = Progress.NONE
    progress_at: dt.datetime | None = None
    last_scan_at: dt.datetime | None = None


def fold(steps: Iterable[Step], *, now: dt.datetime) -> Projection:
    """Return the latest scan that says where the parcel is; scans from more than a day ahead are left out.

    A scan without progress (Info, an unknown word) moves only `last_scan_at`. A futile or missed pickup is over
    as soon as any later scan shows the parcel moving.
    """
    usable = sorted({step for step in steps if step.scan_time <= now + FUTURE_ALLOWED}, key=_by_time)
    telling = [step for step in usable if step.progress]
    last = usable[-1].scan_time if usable else None
    if not telling:
        return Projection(last_scan_at=last)
    return Projection(telling[-1].progress, telling[-1].scan_time, last)


def _by_time(step: Step) -> tuple[dt.datetime, int, str]:
    return step.scan_time, RANK[step.progress], step.tie


MOST = 2  # from the second on a refund may apply; further ones change nothing


def day_at(pickup: Party, at: dt.datetime) -> dt.date:
    """Return the date where the parcel starts: the carrier plans its pickups by that, wherever the sender is (§8)."""
    return at.astimezone(ZoneInfo(places.zone(pickup.country, pickup.state, pickup.postcode))).date()


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
