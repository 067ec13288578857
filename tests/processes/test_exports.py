"""An export whose worker and sweeper are killed midway: the next ones pack everything and nothing twice."""

import pytest

from tests.processes.conftest import Shop
from tests.processes.portal import until

PARCELS = 1500
pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("shop")]


def test_an_export_survives_a_killed_worker(shop: Shop) -> None:
    portal = shop.portal
    export = portal.ask_export(PARCELS)
    until(lambda: portal.export_state(export)["done"] >= 100, seconds=60, what="some parcels are packed")
    portal.kill_workers()
    assert not portal.export_state(export)["is_packed"], "too few parcels to be killed in the middle"
    portal.start_workers()
    until(lambda: portal.export_state(export)["is_packed"], seconds=60, what="it is packed")
    found = portal.export_state(export)
    assert found["tries"] >= 2
    assert found["is_whole"]
    assert found["labels"] >= PARCELS, "other tests may have booked some more"
    assert found["repeats"] == 0
