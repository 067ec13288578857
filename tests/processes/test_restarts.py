"""A worker finishes its call before it stops, so a deployment leaves nothing unclear."""

import pytest

from tests.processes.conftest import Shop
from tests.processes.portal import until

pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("shop")]

PATIENCE_SECONDS = 35.0  # as long as ./dev and the compose file wait


def restarted_in_mid_call(shop: Shop, count: int) -> list[str]:
    """Return orders whose calls were being made while the worker and then the sweeper were stopped."""
    before = len(shop.carrier.requests())
    shop.carrier.trouble("book", "slow", arg=1.0, count=count)
    orders = shop.portal.submit(count)
    until(lambda: _bookings_sent(shop, since=before), seconds=20, what="a call is in the air")
    for name in ("worker", "sweep"):
        shop.portal.end(name, seconds=PATIENCE_SECONDS)
    assert shop.statuses(orders) <= {"booked", "booking"}  # sent with a reply, or not started
    shop.portal.start_workers()
    return orders


def _bookings_sent(shop: Shop, *, since: int) -> bool:
    return any(request["operation"] == "book" for request in shop.carrier.requests()[since:])


def nothing_was_ever_unclear(shop: Shop, orders: list[str]) -> None:
    shop.wait_until_booked(orders, seconds=60)
    assert sorted(shop.booked_at_the_carrier(orders)) == sorted(orders)
    assert shop.portal.ever_unclear(orders) == []


def test_a_worker_finishes_its_call_before_it_stops(shop: Shop) -> None:
    nothing_was_ever_unclear(shop, restarted_in_mid_call(shop, 2))


@pytest.mark.nightly
def test_five_restarts_under_load_leave_nothing_unclear(shop: Shop) -> None:
    orders = [order for _ in range(5) for order in restarted_in_mid_call(shop, 8)]
    nothing_was_ever_unclear(shop, orders)
