"""A portal of real processes on its own database: a Celery worker and a sweeper that can be started and killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.template import app_in, copy_of_template, fill, new_database, owner
from tools.dev.ports import is_healthy
from tools.dev.servers import app_role_url

ROOT = Path(__file__).resolve().parents[2]
TIME_SCALE = "0.1"  # a deadline of 2 s and a lease of 3 s


class Portal:
    """`with Portal(folder, carrier_url) as portal:` has migrated, and runs a worker and a sweeper until the end.

    A `database`, if given by its owner's address, must be empty. The portal works as the app's role.
    """

    def __init__(self, folder: Path, carrier_url: str, *, contract: str = "", database: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        contract_file = folder / "contract.toml"
        contract_file.write_text(contract)
        self.folder = folder
        self.is_a_copy = not database
        self.owner, app = (database, app_role_url(database)) if database else _database(folder)
        self.env = os.environ | {
            "DATABASE_URL": app,
            "MIGRATE_DATABASE_URL": "",
            "REDIS_URL": _broker(),
            "CARRIER_BASE_URL": carrier_url,
            "CARRIER_CONTRACT": str(contract_file),
            "TIME_SCALE": TIME_SCALE,
            "SWEEP_SECONDS": "0.3",
            "DAILY_MONEY_LIMIT": "1000000000",  # one portal serves many tests
        }
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        if not self.is_a_copy:
            self.fill()
        command = [sys.executable, "-m", "tests.processes.actor"]
        self.actor: Any = subprocess.Popen(
            command, cwd=ROOT, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.start_workers()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self.running):
            self.kill(name)
        self.actor.communicate(timeout=10)  # closing its input ends it

    def fill(self) -> None:
        """Create the tables in the empty database, and the app's role."""
        if not fill(self.owner):
            self.run_as_owner("manage.py", "migrate", "-v0")
        self.run_as_owner("manage.py", "database_roles")

    def start_workers(self, *, version: Path = ROOT) -> None:
        """Start the worker, and the sweeper that does the work if there is no broker."""
        self.start_worker("worker", version=version)
        self.start("sweep", "manage.py", "sweep", version=version)

    def start_worker(self, name: str, *, version: Path = ROOT) -> None:
        words = ["-m", "celery", "-A", "shipping_portal.celery", "worker", "--pool", "threads", "--concurrency", "4"]
        self.start(name, *words, "--without-gossip", "--without-mingle", "-l", "warning", version=version)

    def start_web(self, port: int, *choices: str) -> None:
        words = ["gunicorn", "shipping_portal.wsgi", f"--bind=127.0.0.1:{port}", "--worker-class=gthread"]
        self.start("web", "-m", *words, "--threads=8", "--no-control-socket", *choices)

    def kill_workers(self) -> None:
        for name in ("worker", "sweep"):
            self.kill(name)

    def start(self, name: str, *arguments: str, version: Path = ROOT) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [sys.executable, *arguments], cwd=version, env=self.env, stdout=log, stderr=log, start_new_session=True
            )

    def kill(self, name: str) -> None:
        """Kill -9 a process, with no time to finish."""
        process = self.running.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def end(self, name: str, *, seconds: float) -> None:
        """Send SIGTERM and give it time to finish its current work, as in a deployment."""
        process = self.running.pop(name)
        process.terminate()
        process.wait(seconds)

    def run_as_owner(self, *arguments: str) -> None:
        self.run(*arguments, MIGRATE_DATABASE_URL=self.owner)

    def run(self, *arguments: str, version: Path = ROOT, **env: str) -> None:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=version, env=self.env | env, capture_output=True, check=False, timeout=300
        )
        if done.returncode:
            raise RuntimeError(done.stderr.decode()[-2000:])

    def submit(self, count: int, reference: str = "") -> list[str]:
        """Press Book this many times, with references that start like this. Return the orders' keys at the carrier."""
        keys: list[str] = self._act("submit", count, reference)
        return keys

    def quotes(self, count: int) -> list[str]:
        """Return the URLs of stored offers, one for each Book button."""
        made: list[str] = self._act("quotes", count)
        return made

    def log_in(self) -> dict[str, str]:
        """Return a browser's cookie and form token."""
        held: dict[str, str] = self._act("log in")
        return held

    def session(self, email: str) -> str:
        """Return the cookie of a new logged-in session."""
        return str(self._act("log in", email)["cookie"])

    def run_code(self, code: str) -> str:
        """Run a few lines of Python on the portal's database without starting a process. Return what they print."""
        return str(self._act("run code", code))

    def make_people(self) -> list[tuple[str, str]]:
        """Create several businesses, each with an owner. Return their emails and passwords."""
        made: list[tuple[str, str]] = self._act("resolve people")
        return made

    def hand_over(self) -> int:
        """Send the workers a message about each due order. Return how many."""
        return int(self._act("hand over"))

    def booked_as(self) -> dict[str, str]:
        """Return the carrier's reference of every order, by key."""
        found: dict[str, str] = self._act("booked as")
        return found

    def orders(self) -> dict[str, str]:
        """Return the status of every order, by key."""
        found: dict[str, str] = self._act("orders")
        return found

    def skip_waits(self, *, longer: int) -> None:
        """Make unclear orders that wait for more than this many seconds due now."""
        self._act("skip waits", longer)

    def ever_unclear(self, keys: list[str]) -> list[str]:
        """Return which of these orders were unclear for a while."""
        found: list[str] = self._act("ever unclear", keys)
        return found

    def take_import(self, rows: int, bad: int) -> str:
        """Upload a file of this many rows, the last `bad` ones without a weight. Return the import's key."""
        return str(self._act("take import", rows, bad))

    def book_import(self, file: str) -> int:
        """Press “Book all”. Return how many rows were ready."""
        ready: int = self._act("book import", file)
        return ready

    def import_counts(self, file: str) -> dict[str, int]:
        found: dict[str, int] = self._act("import counts", file)
        return found

    def import_failed_again(self, file: str) -> str:
        """Download the failed rows, add weights and import the file. Return the new import's key."""
        return str(self._act("import failed again", file))

    def ask_export(self, parcels: int) -> str:
        """Press “Pack everything” for an account with this many parcels. Return the export's key."""
        return str(self._act("ask export", parcels))

    def export_state(self, export: str) -> dict[str, Any]:
        found: dict[str, Any] = self._act("export state", export)
        return found

    def labels_stored(self) -> int:
        return int(self._act("labels stored"))

    def has_label(self, order: str) -> bool:
        """Return whether a label of this order is stored."""
        return bool(self._act("has label", order))

    def call_starts(self) -> list[float]:
        """Return when each call to the carrier began, in order."""
        starts: list[float] = self._act("call starts")
        return starts

    def lift_the_gap(self) -> None:
        """Resume bookings as an operator after a restore, without releasing held work."""
        self._act("lift the gap")

    def unknown_references(self) -> list[str]:
        """Return the unknown references in the admin that had scans and were polled."""
        found: list[str] = self._act("unknown references")
        return found

    def _act(self, *command: Any) -> Any:
        """Send the actor one line and return its reply."""
        self.actor.stdin.write(json.dumps(command).encode() + b"\n")
        self.actor.stdin.flush()
        reply = json.loads(self.actor.stdout.readline())
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply["value"]


def _database(folder: Path) -> tuple[str, str]:
    """Create a copy of the template: a separate database on the tests' server, or a file.

    Returns the owner's address and the app's. A file has only one.
    """
    if owner().startswith("postgres"):
        made = new_database(owner(), f"portal_{uuid.uuid4().hex}", like=os.environ["TEST_TEMPLATE"])
        return made, app_in(made)
    return "", f"sqlite:///{copy_of_template(folder / 'portal.sqlite3')}"


def _broker() -> str:
    """Return the broker's database for this test worker, counted from the group's first, or an address without a broker."""
    server, _, first = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:9/0").rpartition("/")
    number = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    return f"{server}/{int(first) + int(number)}"


def until_ready(port: int) -> None:
    """Wait until a web server replies. Its port opens long before, because gunicorn loads the portal afterwards."""
    until(lambda: is_healthy(f"http://127.0.0.1:{port}/readyz"), seconds=60, what="the web server answers")


def until(true: Callable[[], Any], *, seconds: float, what: str) -> None:
    ends_at = time.monotonic() + seconds
    while not true():
        if time.monotonic() > ends_at:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.1)
