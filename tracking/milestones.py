"""Compute a parcel's five steps from booking to delivery, for the page's bar and a row's dashes."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from orders.models import Order
from orders.models.statuses import Progress, Status
from tracking.timeline import TimelineEntry

BOOKED, WITH_CARRIER, MOVING, WITH_DRIVER, ARRIVED = range(5)
REACHED = {
    Progress.NONE: BOOKED,
    Progress.PICKUP_MISSED: BOOKED,
    Progress.PICKUP_FUTILE: BOOKED,
    Progress.COLLECTED: WITH_CARRIER,
    Progress.DROPPED_OFF: WITH_CARRIER,
    Progress.IN_TRANSIT: MOVING,
    Progress.OUT_FOR_DELIVERY: WITH_DRIVER,
    Progress.DELIVERY_ATTEMPTED: WITH_DRIVER,
    Progress.HELD: WITH_DRIVER,
    Progress.DELIVERED: ARRIVED,
}  # the other states end or leave this route; the bar then shows that instead


@dataclass(frozen=True)
class Milestone:
    """One step. `state` is `done`, `now` or "" for a later one; `at` is its first scan."""

    name: str
    icon: str
    state: str
    at: dt.datetime | None = None
    place: str = ""


def of_order(order: Order, progress: str, timeline: Sequence[TimelineEntry]) -> list[Milestone]:
    """Return a booked order's five steps; none if it was lost, returned, cancelled or not booked.

    `timeline` is newest first. A step without a scan between others is done and has no time.
    """
    reached = REACHED.get(Progress(progress))
    if not order.is_booked or reached is None:
        return []
    # the oldest scan counts
    scans = {REACHED.get(Progress(entry.progress)): entry for entry in timeline if entry.progress}
    # These two steps are named after the current state, so they have the time of its newest scan.
    if reached in {WITH_CARRIER, WITH_DRIVER}:
        for entry in timeline[::-1]:
            if entry.progress == progress:
                scans[reached] = entry
    steps = []
    for step, (name, icon) in enumerate(_milestone_names(order, progress)):
        state = "done" if step < reached or reached == ARRIVED else "now" if step == reached else ""
        scan = scans.get(step) if state else None
        at = order.booked_at if step == BOOKED else scan.at if scan else None
        steps.append(
            Milestone(
                name,
                icon,
                state,
                at,
                scan.place.partition(",")[0] if scan and step != BOOKED else "",
            )
        )
    return steps


def _milestone_names(order: Order, progress: str) -> list[tuple[str, str]]:
    """Return each step's word (the same as its state's) and its icon."""
    now = Progress(progress)
    first = Progress.DROPPED_OFF if order.first_mile == "drop-off" else Progress.COLLECTED
    first = now if REACHED.get(now) == WITH_CARRIER else first
    last = now if REACHED.get(now) == WITH_DRIVER else Progress.OUT_FOR_DELIVERY
    return [
        (Status.BOOKED.label, "check"),
        (first.label, "pin" if first == Progress.DROPPED_OFF else "truck"),
        (Progress.IN_TRANSIT.label, "truck"),
        (last.label, "pin"),
        (Progress.DELIVERED.label, "home"),
    ]


def full_dashes(order: Order, progress: str) -> int:
    """Return how many of a row's five dashes are full; 0 draws none."""
    reached = REACHED.get(Progress(progress)) if order.is_booked else None
    return 0 if reached is None else reached + 1
