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
}  # the other states end the way or leave it, which the bar says instead


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
    if order.status != Status.BOOKED or reached is None:
        return []
    # the oldest wins
    scans = {REACHED.get(Progress(entry.progress)): entry for entry in timeline if entry.progress}
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
    dropped = order.first_mile == "drop-off"
    last_mile = {
        Progress.DELIVERY_ATTEMPTED: "Delivery attempted",
        Progress.HELD: "Waiting to be collected",
    }.get(Progress(progress), "Out for delivery")
    return [
        ("Booked", "check"),
        ("Dropped off" if dropped else "Picked up", "pin" if dropped else "truck"),
        ("On the way", "truck"),
        (last_mile, "pin"),
        ("Delivered", "home"),
    ]


def full_dashes(order: Order, progress: str) -> int:
    """Return how many of a row's five dashes are full; 0 draws none."""
    reached = REACHED.get(Progress(progress)) if order.status == Status.BOOKED else None
    return 0 if reached is None else reached + 1
