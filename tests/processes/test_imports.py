"""A file of parcels, with the worker and the sweeper killed midway: every row is booked once and none is lost (R12)."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from tests.processes.conftest import QUICK, Shop
from tests.processes.portal import Portal, until
from tests.processes.servers import Servers
from tests.sandbox_carrier import SandboxCarrier

AT_ONCE = 4 + 1  # the worker's threads, and the sweeper
pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("shop")]


@pytest.fixture
def carrier(tmp_path: Path) -> Iterator[SandboxCarrier]:
    with SandboxCarrier(tmp_path / "carrier", key="canary-carrier-key") as it:
        yield it


@pytest.fixture
def portal(tmp_path: Path, carrier: SandboxCarrier) -> Iterator[Portal]:
    with Servers(tmp_path) as servers:
        made = Portal(tmp_path / "portal", carrier.url, contract=QUICK)
        made.env["REDIS_URL"] = servers.valkey()
        with made:
            yield made


def killed_midway(portal: Portal, carrier: SandboxCarrier, *, rows: int, bad: int, seconds: float, kills: int) -> None:
    """Kill the worker once while rows are checked and once while they are booked."""
    good, before = rows - bad, len(carrier.ledger("booked"))
    file = portal.take_import(rows, bad)
    if kills == 2:
        third = rows // 3
        until(lambda: portal.import_counts(file)["checked"] >= third, seconds=seconds, what="a third is checked")
        restart(portal)
    until(lambda: portal.import_counts(file)["unchecked"] == 0, seconds=seconds, what="every row is checked")
    found = portal.import_counts(file)
    assert (found["ready"], found["fix"]) == (good, bad)
    portal.book_import(file)
    until(lambda: len(carrier.ledger("booked")) - before >= good // 2, seconds=seconds, what="half is booked")
    restart(portal)
    until(lambda: resolved(portal.import_counts(file), good), seconds=seconds, what="every good row is resolved")
    booked = Counter(line["order_key"] for line in carrier.ledger("booked")[before:])
    assert [key for key, times in booked.items() if times > 1] == []
    found = portal.import_counts(file)
    # A call on its way when the worker died is unclear: it may have arrived or not, and is never sent again.
    assert found["booked"] + found["unclear"] == good
    assert found["booked"] <= len(booked) <= good
    assert found["unclear"] <= AT_ONCE
    assert found["fix"] == bad
    again = portal.import_failed_again(file)
    until(lambda: portal.import_counts(again)["unchecked"] == 0, seconds=seconds, what="the rest is checked")
    assert portal.import_counts(again)["ready"] == bad


def restart(portal: Portal) -> None:
    portal.kill_workers()
    portal.start_workers()


def resolved(counts: dict[str, int], good: int) -> bool:
    return counts["waiting"] == 0 and counts["booked"] + counts["unclear"] == good


def test_a_dozen_rows_survive_a_killed_worker(shop: Shop) -> None:
    killed_midway(shop.portal, shop.carrier, rows=12, bad=2, seconds=60, kills=1)


@pytest.mark.nightly
@pytest.mark.skipif("sqlite" in settings.DATABASES["default"]["ENGINE"], reason="the long run is PostgreSQL's")
def test_five_hundred_rows_survive_a_killed_worker(portal: Portal, carrier: SandboxCarrier) -> None:
    killed_midway(portal, carrier, rows=500, bad=40, seconds=400, kills=2)


@pytest.fixture
def ten_a_second(tmp_path: Path, carrier: SandboxCarrier) -> Iterator[Portal]:
    """A portal whose carrier allows ten calls a second."""
    with Servers(tmp_path) as servers:
        made = Portal(tmp_path / "portal", carrier.url, contract="requests_per_second = 10.0")
        made.env |= {"REDIS_URL": servers.valkey(), "TIME_SCALE": "1"}
        with made:
            yield made


def test_a_parcel_made_by_hand_gets_its_label_before_a_file_is_booked(ten_a_second: Portal) -> None:
    portal = ten_a_second
    file = portal.take_import(100, 0)
    until(lambda: portal.import_counts(file)["unchecked"] == 0, seconds=60, what="every row is checked")
    portal.book_import(file)
    until(lambda: portal.import_counts(file)["booked"] >= 5, seconds=60, what="the file is being booked")
    (order,) = portal.submit(1)
    until(lambda: portal.has_label(order), seconds=60, what="the label is stored")
    assert portal.import_counts(file)["booked"] < 50
