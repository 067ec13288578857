"""Where a parcel is: a pure fold over its scans, so that order of arrival, duplicates and lateness cannot matter."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from orders.models.statuses import Progress

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
    """One scan as the fold sees it. `tie` (event id or fingerprint) orders what time and progress leave equal."""

    scan_time: dt.datetime
    tie: str
    progress: str


@dataclass(frozen=True)
class Projection:
    progress: str = Progress.NONE
    progress_at: dt.datetime | None = None
    last_scan_at: dt.datetime | None = None


def fold(steps: Iterable[Step], *, now: dt.datetime) -> Projection:
    """The latest scan that says where the parcel is; scans from more than a day ahead are left out.

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
