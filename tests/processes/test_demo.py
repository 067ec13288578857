"""`./dev run` on a developer's machine: its ports may be taken, and it still has the demo's month."""

import uuid
from html import unescape
from pathlib import Path

import pytest

from tests.processes.demo import Demo
from tests.processes.portal import until
from tools.campaign.actors import OFFER
from tools.campaign.carriers import US_PARCEL
from tools.dev.ports import listen_on_first_free

pytestmark = [pytest.mark.processes, pytest.mark.full]

CARRIERS_FIRST, BROKERS_FIRST = 8100, 8200
UNLISTED = """
SELECT count(*) FROM orders_order JOIN orders_carrieraccount ON orders_carrieraccount.id = orders_order.account_id
WHERE name <> 'demo-account at ' || ?
"""
MOVING = "SELECT count(*) FROM orders_order WHERE status = 'booked' AND progress = 'collected'"
# A parcel whose booking is unknown has no tracking page yet.
ELSEWHERE = """
SELECT count(*) FROM orders_order WHERE status <> 'unconfirmed' AND public_tracking_url NOT LIKE ?
"""


@pytest.fixture
def demo(tmp_path: Path) -> Demo:
    return Demo(tmp_path)


def test_a_demo_whose_ports_are_taken_uses_others_and_has_its_month(demo: Demo) -> None:
    # The web may have the port at which the carrier looks first.
    words = [f"--port={CARRIERS_FIRST}"] if is_free(CARRIERS_FIRST) else []
    with demo.running(*words):
        web, carrier = demo.port("SITE_URL"), demo.port("CARRIER_BASE_URL")
        assert web != carrier
    with listen_on_first_free(web), listen_on_first_free(carrier), demo.running() as browser:
        assert {web, carrier}.isdisjoint({demo.port("SITE_URL"), demo.port("CARRIER_BASE_URL")})
        here = f"http://127.0.0.1:{demo.port('CARRIER_BASE_URL')}"
        assert demo.ask("SELECT count(*) FROM orders_order") == "160"
        assert demo.ask(UNLISTED, here) == "0"
        assert demo.ask(ELSEWHERE, f"{here}/%") == "0"
        demo.cancel_a_parcel_of_the_history(browser)
        kept = demo.port("CARRIER_BASE_URL")

    with demo.running():
        assert demo.port("CARRIER_BASE_URL") == kept  # the last start's port, though an earlier one is free again
    (demo.state / "sandbox" / "ledger.jsonl").rename(demo.folder / "ledger.jsonl")
    (demo.state / "sandbox" / "ledger.jsonl").mkdir()
    before = demo.env()
    with demo.started() as process:
        _, said = process.communicate(timeout=60)
        assert "The process called sandbox has stopped: " in said.splitlines()[-1]
        assert "ledger.jsonl" in said.splitlines()[-1]
    assert demo.env() == before


@pytest.mark.parametrize(
    "carrier", ["both", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("easypost", "shipstation"))]
)
def test_with_another_sandbox_a_parcel_is_booked_printed_and_tracked(tmp_path: Path, carrier: str) -> None:
    demo = Demo(tmp_path, carrier)
    with demo.running() as browser:
        quotes = browser.post("/parcels/new/", US_PARCEL | {"customer_reference": "MUGS-1"}).headers["Location"]
        token, product = OFFER.findall(browser.get(quotes).text)[0]
        chosen = {"form_token": token, "product": unescape(product), "pickup_date": ""}
        browser.post(f"{quotes}book/", chosen)
        until(lambda: demo.ask(MOVING) == "1", seconds=60, what="the parcel is collected")
        key = uuid.UUID(demo.ask("SELECT uuid FROM orders_order"))
        size = demo.ask("SELECT size FROM orders_label WHERE state = 'stored'")
        assert browser.get(f"/parcels/{key}/label/{size}.pdf").content.startswith(b"%PDF-")


@pytest.mark.nightly
def test_the_web_server_may_use_the_port_the_broker_tries_first(demo: Demo) -> None:
    if not is_free(BROKERS_FIRST):
        pytest.skip(f"another program has port {BROKERS_FIRST}")
    with demo.running(f"--port={BROKERS_FIRST}"):
        assert demo.port("SITE_URL") == BROKERS_FIRST


def is_free(port: int) -> bool:
    try:
        listen_on_first_free(port).close()
    except SystemExit:
        return False
    return True
