"""The two ways to book that parcels.py measures, and the PostgreSQL of both."""

import contextlib
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg

from tools.bench.bookings import cpu_of
from tools.bench.pressing import SENDERS
from tools.dev.processes import ChildProcesses
from tools.dev.programs import WORKER, module

PROCESSES = 2
APPS = {"ours": "shipping_portal.celery", "usual": "tools.bench.usual"}
LABELS = {"ours": "orders_labelbytes", "usual": "usual_label"}


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

    def waiting(self) -> int:
        """Return how many connections wait for a row that another has locked."""
        row = self.looker.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'").fetchone()
        assert row
        return int(row[0])


class Presser:
    """A process that presses Book, and checks whether anything is due (pressing.py)."""

    def __init__(self, children: ChildProcesses, name: str, env: dict[str, str]) -> None:
        command = [sys.executable, "-c", f"from tools.bench import pressing; pressing.main_{name}()"]
        self.log = Path(children.logs) / f"pressing-{name}.log"
        self.process: Any = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log.open("ab"), text=True
        )
        self.looker = int(self.ask("looker"))  # it answers once the tables are there

    def ask(self, what: str, count: int = 0) -> Any:
        self.send(what, count)
        return self.answer()

    def send(self, what: str, count: int) -> None:
        self.process.stdin.write(json.dumps([what, count]) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        if line := self.process.stdout.readline():
            return json.loads(line)
        raise SystemExit(self.log.read_text()[-2000:])


class Way:
    """One of the ways: its workers, and a presser."""

    def __init__(self, children: ChildProcesses, name: str, env: dict[str, str]) -> None:
        self.name, self.env, self.children = name, env, children
        self.presser = Presser(children, name, env)
        self.workers = [f"worker-{name}-{number}" for number in range(PROCESSES)]
        for worker in self.workers:
            children.start(worker, module(f"celery -q -A {APPS[name]} worker {WORKER}"), env=env)
        self.statements = int(self.presser.ask("statements"))
        self.presser.ask("begin", PROCESSES)
        self.presser.ask("press", SENDERS * PROCESSES)
        self.presser.ask("finish")  # until each worker process has loaded all its code
        self.signal(signal.SIGSTOP)

    def finish(self) -> float:
        """Let the workers run until nothing is due. Return how many seconds that took."""
        self.signal(signal.SIGCONT)
        seconds = float(self.presser.ask("finish"))
        self.signal(signal.SIGSTOP)
        return seconds

    def signal(self, what: signal.Signals) -> None:
        for worker in self.workers:
            self.children.running[worker].send_signal(what)

    def cpu(self) -> float:
        return sum(cpu_of(self.children.running[worker].pid) for worker in self.workers)

    def label_bytes(self, labels: int) -> int:
        """Return how much space the last labels take in their table."""
        last = f"SELECT pg_column_size(content) AS length FROM {LABELS[self.name]} ORDER BY id DESC LIMIT {labels}"
        with psycopg.connect(self.env["DATABASE_URL"]) as connection:
            row = connection.execute(f"SELECT sum(length) FROM ({last}) AS last").fetchone()
        assert row
        return int(row[0])

    def close(self) -> None:
        self.signal(signal.SIGCONT)
        self.presser.process.communicate()
        for worker in self.workers:
            self.children.running[worker].terminate()
            self.children.running.pop(worker).wait()


def cpu_of_children(pid: int) -> dict[int, float]:
    """Return the CPU seconds of each child process that hasn't ended."""
    found = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            fields = file.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found[int(file.parent.name)] = cpu_of(int(file.parent.name))
    return found
