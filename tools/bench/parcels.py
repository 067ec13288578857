"""Measure what a parcel costs from the press until nothing is due, compared with the usual way (usual.py).

Two ways on one PostgreSQL take turns in five interleaved rounds: the same carrier, the same number
of processes and threads, one broker. The presses come first, while the workers are stopped. Then
the clock runs until each order is booked, its parcel is open, both its labels are stored, and no
job is left. The side that isn't measured is stopped.
"""

import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.ports import free_port
from tools.bench.bookings import portal_env
from tools.bench.pressing import SENDERS
from tools.bench.ways import Database, Presser, Way
from tools.dev.ports import is_open
from tools.dev.processes import ChildProcesses
from tools.dev.servers import start_valkey

ROUNDS, PARCELS = 5, 120
LOOK = 0.05  # seconds between two counts of the waiting connections


@dataclass(frozen=True)
class Figure:
    """A figure of both ways. `goal` limits ours ÷ usual or, if `is_ours`, only ours."""

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
PRESSES = Figure("presses a second", 1.8, is_least=True)
FIGURES = (RATE, PYTHON, DATABASE, WAL, PRESS)


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
    ways = [Way(children, "ours", ours), Way(children, "usual", usual)]
    try:
        rounds = [[_round(way, database) for way in ways] for _ in range(ROUNDS)]
        second = Presser(children, "ours", ours)
        presses = [_presses(ways[0], second, database) for _ in range(ROUNDS)]
        second.process.communicate()
    finally:
        for way in ways:
            way.close()
        for name in ("carrier", "valkey"):
            children.running[name].terminate()
            children.running.pop(name).wait()
    print(f"{'until nothing is due any more':<42} {'ours':>8} {'usual':>8}  ours ÷ usual")
    good = [_tell(figure, [[way[figure] for way in one] for one in rounds]) for figure in FIGURES]
    print(f"{'statements a parcel':<42} {ways[0].statements:>8} {ways[1].statements:>8}")
    print(f"{'web processes of eight threads':<42} {'two':>8} {'one':>8}  two ÷ one")
    good.append(_tell(PRESSES, [one[:2] for one in presses]))
    waits = statistics.median(one[2] for one in presses)
    print(f"{'of the sixteen wait for a row':<42} {waits:>8.1f}", flush=True)
    return all(good)


def _round(way: Way, database: Database) -> dict[Figure, float]:
    """Press, let the workers run until nothing is due, and return what one parcel took."""
    looker = way.presser.looker
    way.presser.ask("begin", PARCELS // SENDERS)
    cpu, wal, python = database.cpu(looker), database.wal(), way.cpu()
    presses = way.presser.ask("press", PARCELS)
    seconds = way.finish()
    each = {PYTHON: way.cpu() - python, DATABASE: database.cpu(looker) - cpu}
    found = {figure: value / PARCELS * 1000 for figure, value in each.items()}
    labels = way.label_bytes(2 * PARCELS)
    return found | {
        RATE: PARCELS / seconds,
        WAL: (database.wal() - wal - labels) / PARCELS / 1000,
        PRESS: statistics.median(presses) * 1000,
    }


def _presses(way: Way, second: Presser, database: Database) -> list[float]:
    """Return the presses a second of two processes and of one, and how many of the two's threads wait for a row."""
    two, waits = _at_once([way.presser, second], database)
    one, _ = _at_once([way.presser], database)
    way.finish()
    return [two, one, waits]


def _at_once(pressers: list[Presser], database: Database) -> tuple[float, float]:
    """Press in these processes at once. Return the presses a second, and the mean of the threads that wait."""
    for presser in pressers:
        presser.ask("begin", PARCELS // SENDERS)
    began, waits = time.perf_counter(), []
    for presser in pressers:
        presser.send("press_at_once", PARCELS // SENDERS)
    with ThreadPoolExecutor(1) as looking:
        answers = looking.submit(lambda: [presser.answer() for presser in pressers])
        while not answers.done():
            waits.append(database.waiting())
            time.sleep(LOOK)
        answers.result()
    return PARCELS * len(pressers) / (time.perf_counter() - began), statistics.mean(waits)


def _tell(figure: Figure, rounds: list[list[float]]) -> bool:
    ratios = sorted(ours / usual for ours, usual in rounds)
    ours, usual = (statistics.median(way) for way in zip(*rounds, strict=True))
    is_good = figure.is_good(ours if figure.is_ours else statistics.median(ratios))
    goal = f"goal {'≥' if figure.is_least else '≤'} {figure.goal:.1f}{' of ours' if figure.is_ours else ''}"
    print(
        f"{figure.name:<42} {ours:>8.1f} {usual:>8.1f}  "
        f"{ratios[0]:.2f} / {statistics.median(ratios):.2f} / {ratios[-1]:.2f}  {goal}{'' if is_good else '   OVER'}",
        flush=True,
    )
    return is_good
