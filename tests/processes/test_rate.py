"""Thirty bookings with labels by two workers and the sweeper: no second has more calls than the carrier allows."""

from pathlib import Path

import pytest
from django.db import connection

from tests.processes.portal import Portal, until
from tests.processes.servers import Servers
from tests.recording import improper
from tests.sandbox_carrier import SandboxCarrier

pytestmark = [pytest.mark.processes]
RATE = 5
CALLS_EACH = 4  # book, look up, and HEAD and GET of the printed label: the other comes minutes later


def most_in_a_second(starts: list[float]) -> int:
    return max(
        sum(1 for other in starts[place : place + 5 * RATE] if other < at + 1.0) for place, at in enumerate(starts)
    )


def book(folder: Path, orders: int) -> None:
    with Servers(folder) as servers, SandboxCarrier(folder / "carrier", key="canary-carrier-key") as carrier:
        portal = Portal(folder / "portal", carrier.url, contract=f"requests_per_second = {RATE}.0")
        portal.env |= {"REDIS_URL": servers.valkey(), "TIME_SCALE": "1"}
        with portal:
            portal.start_worker("second worker")
            keys = portal.submit(orders)
            until(lambda: portal.labels_stored() == orders, seconds=orders * 4, what="every label stored")
            starts = portal.call_starts()
        assert sorted(line["order_key"] for line in carrier.ledger("booked")) == sorted(keys)
        assert len(starts) == len(carrier.requests())  # no call skips the queue
        assert improper(carrier.requests()) == []
    assert most_in_a_second(starts) <= RATE
    # It doesn't leave much of the rate unused either, or call anything twice.
    assert len(starts) <= orders * CALLS_EACH * 1.1
    assert starts[-1] - starts[0] < orders * CALLS_EACH / RATE * 1.5


def test_fifteen_bookings_with_labels_never_exceed_the_carriers_rate(tmp_path: Path) -> None:
    book(tmp_path, 15)


@pytest.mark.nightly
def test_three_hundred_bookings_with_labels_never_exceed_the_carriers_rate(tmp_path: Path) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("on SQLite fifteen are: three hundred at five a second take eight minutes of mere waiting")
    book(tmp_path, 300)
