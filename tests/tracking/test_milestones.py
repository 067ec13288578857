"""The five steps of a parcel: each has the time of its own scan."""

import datetime as dt

from orders.models import Order
from tracking.milestones import of_order
from tracking.timeline import TimelineEntry

START = dt.datetime(2026, 11, 23, 1, tzinfo=dt.UTC)


def steps(*states: str, first_mile: str = "pickup") -> list[tuple[str, int]]:
    """Return the steps that have a scan as (name, number of the scan), with one scan an hour."""
    hour = dt.timedelta(hours=1)
    entries = [
        TimelineEntry(START + number * hour, state, "", "", state, False, "") for number, state in enumerate(states)
    ]
    order = Order(status="booked", first_mile=first_mile, booked_at=START - hour)
    found = of_order(order, states[-1], entries[::-1])
    return [(step.name, int((step.at - START) / hour)) for step in found[1:] if step.at]


def test_waiting_counts_from_the_first_scan_at_the_pickup_point() -> None:
    way = ("collected", "in_transit", "out_for_delivery", "delivery_attempted", "held")
    assert steps(*way)[-1] == ("Held for collection", 4)
    assert steps(*way[:4])[-1] == ("Delivery attempted", 3)
    assert steps(*way[:3])[-1] == ("Out for delivery", 2)
    assert steps(*way, "delivered")[-2:] == [("Out for delivery", 2), ("Delivered", 5)]


def test_being_on_the_way_counts_from_the_first_such_scan() -> None:
    assert steps("collected", "in_transit", "in_transit", "in_transit")[-1] == ("On the way", 1)


def test_a_second_attempt_has_its_own_time() -> None:
    way = ("collected", "out_for_delivery", "delivery_attempted", "out_for_delivery", "delivery_attempted")
    assert steps(*way)[-1] == ("Delivery attempted", 4)
    assert steps(*way[:4])[-1] == ("Out for delivery", 3)


def test_a_drop_off_keeps_its_own_step_unless_the_driver_scans_it() -> None:
    assert steps("dropped_off", "collected", first_mile="drop-off") == [("Picked up", 1)]
    assert steps("dropped_off", "in_transit", first_mile="drop-off") == [("Dropped off", 0), ("On the way", 1)]
