"""The carrier books and the reply is lost. In a fifth of the batches the worker is killed before the result."""

from collections import Counter
from pathlib import Path

import pytest
from django.conf import settings

from tests.processes.portal import Portal, until
from tests.recording import improper
from tests.sandbox_carrier import SandboxCarrier

pytestmark = [pytest.mark.processes]

REPLAYS = "replays = true"


def run(folder: Path, *, replays: bool, orders: int, batch: int) -> tuple[dict[str, str], Counter[str]]:
    """Make `orders` bookings. The carrier commits each and loses its reply; every fifth batch dies with its worker."""
    with SandboxCarrier(folder / "carrier", key="canary-carrier-key", replays=replays) as carrier:
        contract = REPLAYS if replays else ""
        with Portal(folder / "portal", carrier.url, contract=contract) as portal:
            for number in range(orders // batch):
                _one_batch(portal, carrier, batch, killed=number % 5 == 0)
            # A replay that failed again and again in later batches waits for minutes; no lease is that long.
            portal.skip_waits(longer=10)
            until(lambda: _resolved(portal, replays=replays), seconds=120, what="every order resolved")
            assert improper(carrier.requests()) == []
            ledger = Counter(line["order_key"] for line in carrier.ledger("booked"))
            return portal.orders(), ledger


def _one_batch(portal: Portal, carrier: SandboxCarrier, size: int, *, killed: bool) -> None:
    before = len(carrier.ledger("booked"))
    carrier.trouble("book", "commit-hang" if killed else "commit-close", count=size)
    portal.submit(size)
    until(lambda: len(carrier.ledger("booked")) >= before + size, seconds=60, what="the carrier booked the batch")
    if killed:
        portal.kill_workers()
        carrier.clear()
        portal.start_workers()


def _resolved(portal: Portal, *, replays: bool) -> bool:
    return set(portal.orders().values()) == {"booked" if replays else "unconfirmed"}


@pytest.mark.parametrize("replays", [False], ids=["no keys"])  # with keys: the small campaign, every time
def test_ten_lost_replies_book_nothing_twice(tmp_path: Path, replays: bool) -> None:
    orders, ledger = run(tmp_path, replays=replays, orders=10, batch=2)
    assert set(ledger) == set(orders)
    assert max(ledger.values()) == 1


@pytest.mark.nightly
@pytest.mark.skipif("sqlite" in settings.DATABASES["default"]["ENGINE"], reason="the long run is PostgreSQL's")
@pytest.mark.parametrize("replays", [True, False], ids=["keys kept", "no keys"])
def test_a_hundred_lost_replies_book_nothing_twice(tmp_path: Path, replays: bool) -> None:
    orders, ledger = run(tmp_path, replays=replays, orders=100, batch=4)
    assert len(orders) == 100
    assert set(ledger) == set(orders)
    assert max(ledger.values()) == 1
