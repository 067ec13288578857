"""`./dev run` in its own folder, started and stopped as a developer would."""

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

from tests.processes.portal import ROOT, until
from tools.campaign.browser import Browser, Noticed
from tools.dev.demo import folder_of

RUN = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tools.dev.demo import run
run(sys.argv[3:], Path(sys.argv[2]))
"""


class Demo:
    """The demo in a folder, started and stopped as often as a test needs."""

    def __init__(self, folder: Path, carrier: str = "interface") -> None:
        self.folder, self.carrier, self.state = folder, carrier, folder_of(carrier, folder / ".run")

    @contextmanager
    def running(self, *words: str) -> Iterator[Browser]:
        """Start the demo, wait for READY, and log its sender in. Press Ctrl-C at the end."""
        with self.started(*words) as process:
            browser = Browser(ready(process), Noticed([]))
            browser.log_in("mia@demo.example", "demo-sender-parcel")
            yield browser

    @contextmanager
    def started(self, *words: str) -> "Iterator[subprocess.Popen[str]]":
        env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        argv = [sys.executable, "-c", RUN, str(ROOT), str(self.folder / ".run"), f"--carrier={self.carrier}", *words]
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


def ready(process: "subprocess.Popen[str]") -> str:
    """Wait until a demo says it is ready; return its address."""
    assert process.stdout
    # Before it are the steps of the start.
    line = next((line for line in process.stdout if " ..." not in line), "")
    assert line.startswith("READY http://127.0.0.1:"), line + process.communicate()[1]
    return line.split()[1].rstrip("/")
