"""What a parcel costs from the press until nothing is due any more, beside the usual way (usual.py).

Two sides on one PostgreSQL take turns in five interleaved rounds: the same carrier, the same number of processes and
threads, a broker each. The presses come first, while the workers are stopped. Then the clock runs until each order is
booked, its parcel is open, both its labels are stored, and no job is left. Whoever has no turn is stopped.
"""

import contextlib
import json
import signal
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from tests.ports import free_port
from tools.bench.bookings import cpu_of, portal_env
from tools.dev.ports import is_open
from tools.dev.processes import ChildProcesses
from tools.dev.programs import WORKER, module
from tools.dev.servers import start_valkey

ROUNDS, PARCELS, PROCESSES = 5, 120, 2
APPS = {"ours": "shipping_portal.celery", "usual": "tools.bench.usual"}
LABELS = {"ours": "orders_labelbytes", "usual": "usual_label"}


@dataclass(frozen=True)
class Figure:
    """One that both sides have. `goal` bounds ours ÷ usual, or, if `is_ours`, ours alone."""

    name: str
    goal: float
    is_least: bool = False
    is_ours: bool = False

    def is_good(self, value: float) -> bool:
        return value >= self.goal if self.is_least else value <= self.goal


RATE = Figure("bookings a second", 1.0, is_least=True)
PYTHON = Figure("Python of the workers, ms", 1.2)
DATABASE = Figure("PostgreSQL, ms", 2.0)
WAL = Figure("WAL without the labels' bytes, kB", 10.0, is_ours=True)
PRESS = Figure("a press, ms", 1.8)
FIGURES = (RATE, PYTHON, DATABASE, WAL, PRESS)


class Database:
    """The server of both sides, seen from a connection that isn't counted."""

    def __init__(self, server: str, pid: int) -> None:
        self.pid, self.looker = pid, psycopg.connect(server, autocommit=True)

    def cpu(self, *uncounted: int) -> float:
        """Return the CPU seconds of the server and its processes, those that ended included."""
        hidden = {*uncounted, self.looker.info.backend_pid}
        alive = sum(seconds for pid, seconds in cpu_of_children(self.pid).items() if pid not in hidden)
        return alive + cpu_of(self.pid, ended=True)

    def wal(self) -> int:
        """Return how many bytes of WAL were ever written."""
        row = self.looker.execute("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')").fetchone()
        assert row
        return int(row[0])


class Side:
    """One way to book: its workers, and a process that presses Book and looks whether anything is due."""

    def __init__(self, children: ChildProcesses, name: str, env: dict[str, str]) -> None:
        self.name, self.env, self.children = name, env, children
        command = [sys.executable, "-c", f"from tools.bench import pressing; pressing.main_{name}()"]
        errors = (Path(children.logs) / f"pressing-{name}.log").open("wb")
        self.presser: Any = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        self.looker = int(self.ask("looker"))  # once the tables are there
        self.workers = [f"worker-{name}-{number}" for number in range(PROCESSES)]
        for worker in self.workers:
            children.start(worker, module(f"celery -q -A {APPS[name]} worker {WORKER}"), env=env)
        self.statements = int(self.ask("statements", 1))
        self.ask("press", 8 * PROCESSES)
        self.ask("finish")  # until each of them has loaded all of it
        self.signal(signal.SIGSTOP)

    def ask(self, what: str, count: int = 0) -> Any:
        self.presser.stdin.write(json.dumps([what, count]) + "\n")
        self.presser.stdin.flush()
        line = self.presser.stdout.readline()
        if not line:
            raise SystemExit((Path(self.children.logs) / f"pressing-{self.name}.log").read_text()[-2000:])
        return json.loads(line)

    def signal(self, what: signal.Signals) -> None:
        for worker in self.workers:
            self.children.running[worker].send_signal(what)

    def cpu(self) -> float:
        return sum(cpu_of(self.children.running[worker].pid) for worker in self.workers)

    def close(self) -> None:
        self.signal(signal.SIGCONT)
        self.presser.communicate()
        for worker in self.workers:
            self.children.running[worker].terminate()
            self.children.running.pop(worker).wait()


def measure(children: ChildProcesses, server: str, full: str) -> bool:
    """Measure and print it; `server` is PostgreSQL's address, `full` that of the full portal."""
    database = Database(server, children.running["postgres"].pid)
    database.looker.execute("CREATE DATABASE usual")
    carrier, redis = free_port(), start_valkey(children)
    children.start("carrier", [sys.executable, "-m", "tools.bench.carrier", str(carrier), "0"])
    children.wait_for("carrier", lambda: is_open(carrier))
    ours = portal_env(children, carrier, full, redis)
    usual = ours | {"DATABASE_URL": server.rpartition("/")[0] + "/usual", "REDIS_URL": f"{redis[:-1]}1"}
    del usual["DJANGO_SETTINGS_MODULE"]
    sides = [Side(children, "ours", ours), Side(children, "usual", usual)]
    try:
        rounds = [[_round(side, database) for side in sides] for _ in range(ROUNDS)]
    finally:
        for side in sides:
            side.close()
    children.running["carrier"].terminate()
    children.running.pop("carrier").wait()
    print(f"{'until nothing is due any more':<42} {'ours':>8} {'usual':>8}  ours ÷ usual")
    good = [_tell(figure, [[side[figure] for side in one] for one in rounds]) for figure in FIGURES]
    print(f"{'statements a parcel':<42} {sides[0].statements:>8} {sides[1].statements:>8}", flush=True)
    return all(good)


def _round(side: Side, database: Database) -> dict[Figure, float]:
    """Press, let the workers go on until nothing is due, and return what one parcel took."""
    cpu, wal, python = database.cpu(side.looker), database.wal(), side.cpu()
    presses = side.ask("press", PARCELS)
    side.signal(signal.SIGCONT)
    seconds = side.ask("finish")
    side.signal(signal.SIGSTOP)
    each = {PYTHON: side.cpu() - python, DATABASE: database.cpu(side.looker) - cpu}
    found = {figure: value / PARCELS * 1000 for figure, value in each.items()}
    labels = label_bytes(side, PARCELS)
    return found | {
        RATE: PARCELS / seconds,
        WAL: (database.wal() - wal - labels) / PARCELS / 1000,
        PRESS: statistics.median(presses) * 1000,
    }


def label_bytes(side: Side, parcels: int) -> int:
    """Return what the labels of the last parcels take in their table."""
    sql = f"SELECT sum(length) FROM (SELECT pg_column_size(content) AS length FROM {LABELS[side.name]} ORDER BY id DESC LIMIT %s) AS last"  # noqa: E501
    with psycopg.connect(side.env["DATABASE_URL"]) as connection:
        row = connection.execute(sql, [2 * parcels]).fetchone()
    assert row
    return int(row[0])


def cpu_of_children(pid: int) -> dict[int, float]:
    """Return the seconds of CPU of each process that this one has started and that hasn't ended."""
    found = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            fields = file.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found[int(file.parent.name)] = cpu_of(int(file.parent.name))
    return found


def _tell(figure: Figure, rounds: list[list[float]]) -> bool:
    ratios = sorted(ours / usual for ours, usual in rounds)
    ours, usual = (statistics.median(side) for side in zip(*rounds, strict=True))
    is_good = figure.is_good(ours if figure.is_ours else statistics.median(ratios))
    goal = f"goal {'≥' if figure.is_least else '≤'} {figure.goal:.1f}{' of ours' if figure.is_ours else ''}"
    print(
        f"{figure.name:<42} {ours:>8.1f} {usual:>8.1f}  "
        f"{ratios[0]:.2f} / {statistics.median(ratios):.2f} / {ratios[-1]:.2f}  {goal}{'' if is_good else '   OVER'}",
        flush=True,
    )
    return is_good
