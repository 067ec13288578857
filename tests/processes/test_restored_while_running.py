"""A database is restored while a process is still running: the process ends, and nothing is booked twice.

There are twenty restores, of a dump or of the server's folder. In each one a worker, sweeper or web server was left
running and can still reach the database.
"""

import shutil
import subprocess
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import requests
from django.conf import settings
from django.utils import timezone

from shipping_portal.ops.starting import REFUSED
from tests.ports import free_port
from tests.processes.backups import back_up, names_at_the_carrier, restore, tool
from tests.processes.conftest import QUICK
from tests.processes.portal import Portal, until, until_ready
from tests.processes.servers import Servers
from tests.processes.visitor import Visitor
from tests.sandbox_carrier import SandboxCarrier
from tests.template import new_database

pytestmark = [
    pytest.mark.processes,
    pytest.mark.xdist_group("left running"),  # one server for all
    pytest.mark.skipif(
        "postgresql" not in settings.DATABASES["default"]["ENGINE"], reason="SQLite shows nothing of it in between"
    ),
]
DUE = 5
LEFT = ("worker", "sweep", "web")
KINDS = ("dump", "folder")
EVERY = [(left, kind) for kind in KINDS for left in LEFT]
LANDING = (0, 4)  # one of each kind; a sweeper does what a worker would as well
ROUNDS = [
    pytest.param(
        *EVERY[at % 6], id=f"{at}-{'-'.join(EVERY[at % 6])}", marks=[] if at in LANDING else pytest.mark.nightly
    )
    for at in range(20)
]


class Server:
    """A separate PostgreSQL with a folder that can be copied and put back."""

    def __init__(self, servers: Servers) -> None:
        self.servers, self.url = servers, servers.postgres()
        words = servers.children.commands["postgres"][0]
        self.data = Path(words[words.index("-D") + 1])

    def copy_to(self, folder: Path) -> None:
        self._stop()
        _copy(self.data, folder)
        self._start()

    def put_back(self, folder: Path) -> None:
        self._stop()
        shutil.rmtree(self.data)
        _copy(folder, self.data)
        self._start()

    def _stop(self) -> None:
        self.servers.stop("postgres")

    def _start(self) -> None:
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        self.servers.start("postgres")
        ask = [tool("pg_isready"), "-q", f"--dbname={self.url}"]
        until(lambda: subprocess.run(ask, check=False).returncode == 0, seconds=60, what="the database is back")


def _copy(folder: Path, to: Path) -> None:
    """Copy a file with its owner, which shutil doesn't."""
    subprocess.run(["/bin/cp", "--archive", folder, to], check=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with one migrated database. Each test gets a copy of it."""
    with Servers(tmp_path_factory.mktemp("server")) as servers:
        made = Server(servers)
        fresh = Portal(tmp_path_factory.mktemp("fresh"), "http://127.0.0.1:9", database=new_database(made.url, "fresh"))
        fresh.fill()
        yield made


@pytest.fixture
def carrier(tmp_path: Path) -> Iterator[SandboxCarrier]:
    with SandboxCarrier(tmp_path / "carrier", key="canary-carrier-key") as it:
        yield it


@pytest.fixture
def portal(tmp_path: Path, carrier: SandboxCarrier, server: Server) -> Iterator[Portal]:
    database = new_database(server.url, f"portal_{uuid.uuid4().hex}", like="fresh")
    with Servers(tmp_path) as servers:
        made = Portal(tmp_path / "portal", carrier.url, contract=QUICK, database=database)
        made.is_a_copy = True
        made.env |= {"RESTORE_MARK_FILE": str(tmp_path / "mark"), "REDIS_URL": servers.valkey()}
        with made:
            yield made


@pytest.mark.parametrize(("left", "kind"), ROUNDS)
def test_a_process_left_running_books_nothing_twice(
    portal: Portal, carrier: SandboxCarrier, server: Server, tmp_path: Path, left: str, kind: str
) -> None:
    port, token = free_port(), uuid.uuid4()
    portal.start_web(port)
    until_ready(port)
    alice, (quote,) = Visitor(portal, f"http://127.0.0.1:{port}"), portal.quotes(1)
    portal.kill_workers()
    due = portal.submit(DUE, "owed")
    backup_at = timezone.now()
    if kind == "dump":
        back_up(portal, tmp_path / "portal.dump")
    else:
        server.copy_to(tmp_path / "data")
        portal.run("manage.py", "backup_taken")

    portal.start_workers()
    assert alice.press(quote, token).status == 302
    until(lambda: len(carrier.ledger("booked")) == DUE + 1, seconds=60, what="all of it is booked")
    for name in set(LEFT) - {left}:
        portal.kill(name)
    if kind == "dump":
        restore_beside_it(portal, tmp_path / "portal.dump")
    else:
        server.put_back(tmp_path / "data")

    assert ended(portal, left, lambda: provoke(portal, left, alice, quote, token)) == REFUSED
    assert len(carrier.ledger("booked")) == DUE + 1
    portal.run_as_owner("manage.py", "after_restore", f"--backup-at={backup_at.isoformat()}")
    portal.start_workers()
    portal.lift_the_gap()
    sent = portal.submit(1, "after")
    until(lambda: portal.orders()[sent[0]] == "booked", seconds=60, what="bookings go out again")
    # Or a conflict, where the carrier's answer came to a worker after the restore: it is evidence, and a case, too.
    assert {portal.orders()[key] for key in due} <= {"unconfirmed", "conflict"}
    times = Counter(names_at_the_carrier(carrier))
    assert (len(times), set(times.values())) == (DUE + 2, {1})


def restore_beside_it(portal: Portal, file: Path) -> None:
    """Restore, and try again after a deadlock with the running process: a restore is all or nothing."""
    for _ in range(9):
        with suppress(subprocess.CalledProcessError):
            return restore(portal, file)
    raise AssertionError("nine restores failed")


def provoke(portal: Portal, left: str, alice: Visitor, quote: str, token: uuid.UUID) -> None:
    """Make this process book due orders or accept a form, as long as it runs."""
    if left == "worker":
        portal.hand_over()
    elif left == "web":
        with suppress(requests.ConnectionError):  # it ended during the response
            assert alice.press(quote, token).status != 302


def ended(portal: Portal, name: str, poke: Any) -> int | None:
    """Return the process's exit code."""
    process = portal.running[name]

    def is_over() -> bool:
        poke()
        return process.poll() is not None

    until(is_over, seconds=60, what=f"{name} has ended")
    portal.running.pop(name)
    said = (portal.folder / f"{name}.log").read_text()
    assert "python manage.py after_restore --backup-at TIME" in said
    return process.returncode
