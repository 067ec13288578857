"""`./dev run` as a developer has it: its ports may be taken by others, and its month is still the demo's."""

import os
import signal
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.campaign.browser import Browser, Noticed
from tests.campaign.servers import dev
from tests.processes.portal import ROOT, until

pytestmark = [pytest.mark.processes, pytest.mark.full]

RUN = """
import importlib.util, sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
spec = importlib.util.spec_from_loader("dev", SourceFileLoader("dev", sys.argv[1]))
dev = importlib.util.module_from_spec(spec)
spec.loader.exec_module(dev)
dev.STATE = Path(sys.argv[2])
dev.run(sys.argv[3:])
"""
UNLISTED = """
SELECT count(*) FROM orders_order JOIN orders_carrieraccount ON orders_carrieraccount.id = orders_order.account_id
WHERE name <> 'demo-account at ' || ?
"""


class Demo:
    """The demo of one folder, started and stopped as often as a test likes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state = folder, folder / ".run"

    @contextmanager
    def running(self, *words: str) -> Iterator[Browser]:
        """Start it, wait for READY, and log its sender in; Ctrl-C at the end."""
        with self.started(*words) as process:
            assert process.stdout
            line = process.stdout.readline()
            assert line.startswith("READY http://127.0.0.1:"), line + process.communicate()[1]
            browser = Browser(line.split()[1].rstrip("/"), Noticed([]))
            browser.log_in("mia@demo.example", "demo-sender-parcel")
            yield browser

    @contextmanager
    def started(self, *words: str) -> "Iterator[subprocess.Popen[str]]":
        env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        argv = [sys.executable, "-c", RUN, str(ROOT / "dev"), str(self.state), *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(argv, cwd=self.folder, env=env, text=True, start_new_session=True, **pipes) as process:
            try:
                yield process
            finally:
                process.send_signal(signal.SIGINT)

    def port(self, setting: str) -> int:
        return urlsplit(dict(self.env())[setting]).port or 0

    def env(self) -> list[list[str]]:
        return [line.split("=", 1) for line in (self.state / "demo.env").read_text().splitlines()]

    def ask(self, query: str, *values: str) -> str:
        with closing(sqlite3.connect(self.state / "portal.sqlite3")) as database:
            return str(database.execute(query, values).fetchone()[0])

    def cancel_a_parcel_of_the_history(self, browser: Browser) -> None:
        key = self.ask("SELECT uuid FROM orders_order WHERE status = 'booked' AND progress = '' ORDER BY id DESC")
        browser.post(f"/parcels/{uuid.UUID(key)}/cancel/", {"need": "not_sending"})
        status = "SELECT status FROM orders_order WHERE uuid = ?"
        until(lambda: self.ask(status, key) == "cancelled", seconds=30, what="the parcel is cancelled")


@pytest.fixture
def demo(tmp_path: Path) -> Demo:
    return Demo(tmp_path)


def test_a_demo_whose_ports_were_taken_has_its_month_at_others(demo: Demo) -> None:
    with demo.running():
        web, carrier = demo.port("SITE_URL"), demo.port("CARRIER_BASE_URL")
    with dev.hold_port(web), dev.hold_port(carrier), demo.running() as browser:
        assert {web, carrier}.isdisjoint({demo.port("SITE_URL"), demo.port("CARRIER_BASE_URL")})
        here = f"http://127.0.0.1:{demo.port('CARRIER_BASE_URL')}"
        assert demo.ask("SELECT count(*) FROM orders_order") == "159"
        assert demo.ask(UNLISTED, here) == "0"
        assert demo.ask("SELECT count(*) FROM orders_order WHERE public_tracking_url NOT LIKE ?", f"{here}/%") == "0"
        demo.cancel_a_parcel_of_the_history(browser)
        kept = demo.port("CARRIER_BASE_URL")

    with demo.running():
        assert demo.port("CARRIER_BASE_URL") == kept  # that of the last start, though an earlier one is free again
    (demo.state / "sandbox" / "ledger.jsonl").rename(demo.folder / "ledger.jsonl")
    (demo.state / "sandbox" / "ledger.jsonl").mkdir()
    before = demo.env()
    with demo.started() as process:
        _, said = process.communicate(timeout=60)
        assert "The process called sandbox has stopped: " in said.splitlines()[-1]
        assert "ledger.jsonl" in said.splitlines()[-1]
    assert demo.env() == before


@pytest.mark.parametrize("port", [8100, 8200], ids=["the carrier's first", "the broker's first"])
def test_the_web_may_have_the_port_at_which_another_server_looks_first(demo: Demo, port: int) -> None:
    try:
        dev.hold_port(port).close()
    except SystemExit:
        pytest.skip(f"another program has port {port}")
    with demo.running(f"--port={port}"):
        assert demo.port("SITE_URL") == port
