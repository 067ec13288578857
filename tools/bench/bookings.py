"""Measure how fast workers book, compared with a plain loop of `requests.post`, and how soon one booking is made.

The workers are as in production, on the full portal; they are notified of all due orders at once.
What counts is the time until the last order is booked. As in production, a worker fetches the label
right after its booking, so a parcel takes two calls before the worker books another.
"""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.ports import free_port
from tools.dev.ports import is_open
from tools.dev.processes import ChildProcesses
from tools.dev.programs import WORKER, module
from tools.dev.servers import start_valkey

ROUNDS = 5
POSTS = 8  # threads of the plain loop
SECONDS = 2.0
CALLS = 2  # of a parcel, one after the other: its booking and its label
PORTAL = "import django; django.setup(); from tools.bench.bookings import serve; serve()"
CONTRACT = 'label_fetch = "get"\n' + "requests_per_second = 100000.0\ntracking_per_second = 100000.0\n"


@dataclass(frozen=True)
class Case:
    """Many orders at once for `processes` workers with `threads` each, at a carrier that takes `wait` seconds."""

    name: str
    wait: float
    processes: int
    threads: int
    orders: int
    goal: float


CASES = (
    Case("bookings a second ÷ requests.post", 0.0, 2, 8, 300, 0.12),
    Case("the same, 1 process", 0.0, 1, 8, 300, 0.0),
    Case("the same, 4 processes", 0.0, 4, 8, 300, 0.0),
    Case("300 ms carrier, 8 threads ÷ (8 ÷ 0.6 s)", 0.3, 2, 4, 160, 0.90),
    Case("300 ms carrier, 32 threads ÷ (32 ÷ 0.6 s)", 0.3, 4, 8, 320, 0.60),
)
MOST_CPU_MS, SOON_MS = 12.0, 300.0


class Portal:
    """The portal's workers with one carrier, and a process that makes orders due and reports when they are booked."""

    def __init__(self, children: ChildProcesses, case: Case, database: str, redis: str) -> None:
        self.children, self.names = children, [f"worker-{number}" for number in range(case.processes)]
        self.port = free_port()
        children.start("carrier", [sys.executable, "-m", "tools.bench.carrier", str(self.port), str(case.wait)])
        children.wait_for("carrier", lambda: is_open(self.port))
        env = portal_env(children, self.port, database, redis)
        worker = WORKER.replace("--concurrency=8", f"--concurrency={case.threads}")
        for name in self.names:
            children.start(name, module(f"celery -q -A shipping_portal.celery worker {worker}"), env=env)
        self.process: Any = subprocess.Popen(
            [sys.executable, "-c", PORTAL], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=(Path(children.logs) / "due_orders.log").open("wb"), text=True,
        )  # fmt: skip
        self.ask("add", 4 * case.processes)  # until each worker process has loaded all its code
        self.ask("finish", 0)

    def ask(self, what: str, count: int) -> Any:
        self.process.stdin.write(json.dumps([what, count]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def cpu(self) -> float:
        """Return the CPU seconds that the workers have used."""
        return sum(cpu_of(self.children.running[name].pid) for name in self.names)

    def close(self) -> None:
        self.process.communicate()
        for name in [*self.names, "carrier"]:
            self.children.running[name].terminate()
        for name in [*self.names, "carrier"]:
            self.children.running.pop(name).wait()


def portal_env(children: ChildProcesses, carrier: int, database: str, redis: str) -> dict[str, str]:
    """Return the environment of a portal whose carrier is at this port."""
    contract = Path(children.logs) / "bench-contract.toml"
    contract.write_text(CONTRACT)
    return {
        **os.environ, "DATABASE_URL": database, "REDIS_URL": redis, "TESTING": "1", "CARRIER_KEY": "bench-key",
        "CARRIER_BASE_URL": f"http://127.0.0.1:{carrier}", "CARRIER_CONTRACT": str(contract),
        "CARRIER_ACCOUNT": "bench", "DJANGO_SETTINGS_MODULE": "shipping_portal.settings",
    }  # fmt: skip


def measure(children: ChildProcesses, database: str) -> bool:
    """Measure and print it; `database` is the address of the full portal."""
    redis = start_valkey(children)
    good = [_throughput(children, case, database, redis) for case in CASES]
    good.append(_soon(children, Case("", 0.1, 1, 8, 40, 0.0), database, redis))
    return all(good)


def _throughput(children: ChildProcesses, case: Case, database: str, redis: str) -> bool:
    portal = Portal(children, case, database, redis)
    ratios, rates, cpu, limits = [], [], [], []
    for _ in range(ROUNDS):
        threads, busy = case.processes * case.threads, CALLS * case.wait
        limit = threads / busy if busy else posts_a_second(portal.port)
        before = portal.cpu()
        seconds = portal.ask("add", case.orders)
        cpu.append((portal.cpu() - before) / case.orders * 1000)
        portal.ask("finish", 0)
        rates.append(case.orders / seconds)
        limits.append(limit)
        ratios.append(rates[-1] / limit)
    portal.close()
    ratios.sort()
    is_good = statistics.median(ratios) >= case.goal
    is_cheap = bool(case.wait or not case.goal) or statistics.median(cpu) <= MOST_CPU_MS
    goal = f"  goal {case.goal:.2f}{'' if is_good else '   OVER'}" if case.goal else ""
    print(
        f"{case.name:<42} {statistics.median(rates):>7.1f}/s {statistics.median(limits):>7.1f}/s  "
        f"{ratios[0]:.3f} / {statistics.median(ratios):.3f} / {ratios[-1]:.3f}{goal};  "
        f"{statistics.median(cpu):.1f} ms of CPU each{'' if is_cheap else '   OVER'}",
        flush=True,
    )
    return is_good and is_cheap


def _soon(children: ChildProcesses, case: Case, database: str, redis: str) -> bool:
    portal = Portal(children, case, database, redis)
    took = [float(portal.ask("submit", 1)) * 1000 for _ in range(case.orders)]
    portal.close()
    p95 = statistics.quantiles(took, n=20)[-1]
    is_good = p95 <= SOON_MS
    print(
        f"{'pressed → booked, 100 ms carrier, p95':<42} {p95:>7.0f} ms (median {statistics.median(took):.0f} ms)  "
        f"goal {SOON_MS:.0f} ms{'' if is_good else '   OVER'}",
        flush=True,
    )
    return is_good


def posts_a_second(port: int) -> float:
    """Return how many bookings a second plain `requests.post` makes in POSTS threads of one process."""
    code = f"from tools.bench.bookings import post; post({port})"
    return float(subprocess.check_output([sys.executable, "-c", code], text=True)) / SECONDS


def post(port: int) -> None:
    """Post until the time is over, and print how often that was."""
    counts, ends = [0] * POSTS, time.monotonic() + SECONDS

    def loop(number: int) -> None:
        while time.monotonic() < ends:
            requests.post(f"http://127.0.0.1:{port}/orders", data=b"{" + b" " * 900 + b"}", timeout=20).json()
            counts[number] += 1

    threads = [threading.Thread(target=loop, args=[number]) for number in range(POSTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(counts))


def cpu_of(pid: int, *, ended: bool = False) -> float:
    """Return the seconds of CPU that a process has had; with `ended`, also those of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if ended else 13])) / os.sysconf("SC_CLK_TCK")


def serve() -> None:
    """Make orders due as requested on standard input, and answer with the seconds until they were booked."""
    from tools.bench.due_orders import DueOrders  # noqa: PLC0415  (once Django is set up)

    portal = DueOrders()
    do: dict[str, Callable[[int], float]] = {"add": portal.add, "submit": portal.submit, "finish": portal.finish}
    for line in sys.stdin:
        what, count = json.loads(line)
        print(json.dumps(do[what](count)), flush=True)
