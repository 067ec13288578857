"""`./dev bench`: how much slower each page is with 200,000 parcels than with 1,000.

The other files here measure the rest.

Two portals on one PostgreSQL answer the same addresses in turn, in five rounds: a small one, and a
full one where four other accounts have as many parcels. What counts is the ratio within one run on
one machine; the milliseconds only apply to that machine.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psycopg

from tools.bench import billing, bookings, exports, labels, parcels, programs, reading, webhooks
from tools.bench.pages import PAGES, Page
from tools.dev.processes import ChildProcesses
from tools.dev.servers import start_postgres

SMALL = 1000
ROUNDS = 5
TIMES = 20  # requests of a page in each round
PARTS = ["pages", "exports", "webhooks", "labels", "billing", "parcels", "bookings", "api"]
START = "import django; django.setup(); from tools.bench.portal import main"


class Portal:
    """A portal without a web server: a process that requests its own pages and reports how long each took."""

    def __init__(self, url: str, rows: int, accounts: int = 1) -> None:
        env = {**os.environ, "DATABASE_URL": url, "TESTING": "1", "DJANGO_SETTINGS_MODULE": "shipping_portal.settings"}
        command = [sys.executable, "-c", f"{START}; main({rows}, {accounts})"]
        self.process: Any = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, page: Page) -> dict[str, Any]:
        """`seconds` of each answer, and the `queries` of one."""
        self.process.stdin.write(json.dumps([page.who, page.path, TIMES]).encode() + b"\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        self.process.communicate()


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000, help="of the account that is measured")
    parser.add_argument("--accounts", type=int, default=5, help="how many have so many")
    parser.add_argument("--only", choices=PARTS, help="a part of it")
    chosen = parser.parse_args()
    rows, accounts = chosen.rows, chosen.accounts
    folder = Path(tempfile.mkdtemp(prefix="portal-bench-"))
    # one from an .env or a shell, which the settings would prefer
    os.environ["MIGRATE_DATABASE_URL"] = ""
    with ChildProcesses(folder) as children:
        server = start_postgres(children)
        databases = {name: _database(server, name) for name in ("small", "full")}
        portals = {"small": Portal(databases["small"], SMALL), "full": Portal(databases["full"], rows, accounts)}
        print(f"Filling a portal with {rows:,} orders, scans and charges of each of {accounts} accounts …", flush=True)
        parts = [chosen.only] if chosen.only else PARTS
        good = "pages" not in parts or _compare(portals)
        for portal in portals.values():
            portal.close()
        good &= "exports" not in parts or exports.measure(databases["full"])
        good &= "webhooks" not in parts or webhooks.measure(children, databases)
        good &= "webhooks" not in parts or reading.measure(children, databases["full"])
        good &= "labels" not in parts or labels.measure(children, databases["full"])
        good &= "billing" not in parts or billing.measure(databases["full"])
        good &= "parcels" not in parts or parcels.measure(children, server, databases["full"])
        good &= "bookings" not in parts or bookings.measure(children, databases["full"])
        good &= "api" not in parts or programs.measure(databases["full"])
    shutil.rmtree(folder, ignore_errors=True)
    return 0 if good else 1


def _database(server: str, name: str) -> str:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE portal_{name}")
    return server.rpartition("/")[0] + f"/portal_{name}"


def _compare(portals: dict[str, Portal]) -> bool:
    print(f"{'':<36} {'p95 small':>10} {'p95 full':>10} {'ratio':>6} {'bound':>8} {'queries':>8}")
    good = True
    for page in PAGES:
        seconds: dict[str, list[float]] = {"small": [], "full": []}
        for _ in range(ROUNDS):
            for name, portal in portals.items():
                answer = portal.ask(page)
                seconds[name] += answer["seconds"]
        small, full = (_p95(seconds[name]) for name in ("small", "full"))
        ratio = statistics.median(seconds["full"]) / statistics.median(seconds["small"])
        is_good = full * 1000 <= page.most_ms and ratio <= page.most_ratio
        good &= is_good
        print(
            f"{page.name:<36} {small * 1000:>7.1f} ms {full * 1000:>7.1f} ms {ratio:>6.2f} {page.most_ms:>5} ms "
            f"{answer['queries']:>8}{'' if is_good else '   OVER'}",
            flush=True,
        )
    return good


def _p95(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=20)[-1]


if __name__ == "__main__":
    sys.exit(main())
