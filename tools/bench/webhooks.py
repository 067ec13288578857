"""Measure how fast webhooks are stored, compared with a bare application that inserts the row.

Three servers on one PostgreSQL answer in turn, in five rounds, each for a few seconds: the bare
one, the small portal, and the full one.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from tests.ports import free_port
from tools.bench.load import SECRET
from tools.dev.ports import is_open
from tools.dev.processes import ChildProcesses
from tools.dev.programs import GUNICORN

ROUNDS = 5
SECONDS = 3.0
CONNECTIONS = 8
STORED, GROWTH = 0.60, 0.90  # the goals
OTHERS = {"bare": "tools.bench.bare", "plain": "django.core.wsgi:get_wsgi_application()"}
WORKERS = "--worker-class=gthread --workers=2 --threads=16"


@dataclass(frozen=True)
class Server:
    name: str
    port: int


def measure(children: ChildProcesses, databases: dict[str, str]) -> bool:
    """Measure and print it; `databases` are the addresses of the `small` and the `full` portal."""
    rates = rates_of(children, {"bare": databases["full"], **databases})
    return all([
        tell("webhooks a second ÷ a bare insert", rates["full"], rates["bare"], STORED),
        tell("webhooks, full ÷ small", rates["full"], rates["small"], GROWTH),
    ])  # fmt: skip


def rates_of(children: ChildProcesses, databases: dict[str, str], file: str = "") -> dict[str, list[float]]:
    """Requests a second of each server, one of OTHERS or the portal, in five interleaved rounds."""
    servers = [start(children, name, url) for name, url in databases.items()]
    if file:
        _compare_answers(servers, json.loads(Path(file).read_text())[0])
    rates: dict[str, list[float]] = {server.name: [] for server in servers}
    for _ in range(ROUNDS):
        for server in servers:
            rates[server.name].append(_load(server, file))
    for server in servers:
        stop(children, server)
    return rates


def start(children: ChildProcesses, name: str, url: str) -> Server:
    server = Server(name, free_port())
    env = {**os.environ, **bench_settings(url)}
    if name == "plain":
        env["DJANGO_SETTINGS_MODULE"] = "tools.bench.plain"
    program = f"{OTHERS[name]} {WORKERS}" if name in OTHERS else f"shipping_portal.wsgi {GUNICORN}"
    children.start(
        name, [sys.executable, "-m", "gunicorn", *program.split(), f"--bind=127.0.0.1:{server.port}"], env=env
    )
    children.wait_for(name, lambda: is_open(server.port))
    _answer_once(server)
    time.sleep(2)  # until its other process has loaded all its code too
    return server


def _answer_once(server: Server, path: str = "/", **headers: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    measured = answer.status, answer.read()
    connection.close()
    return measured


def _compare_answers(servers: list[Server], request: str) -> None:
    """Exit unless all of them answer this request with 200 and the same bytes."""
    line, *rest = request.strip().split("\r\n")
    headers = dict(one.split(": ", 1) for one in rest)
    answers = {_answer_once(server, line.split()[1], **headers) for server in servers}
    statuses = {status for status, _ in answers}
    if len(answers) != 1 or statuses != {200}:
        raise SystemExit(f"{line} was answered with {sorted(statuses)}, {len(answers)} different answers")


def stop(children: ChildProcesses, server: Server) -> None:
    children.running[server.name].terminate()
    children.running.pop(server.name).wait()


def bench_settings(url: str) -> dict[str, str]:
    ours = {"DATABASE_URL": url, "TESTING": "1", "WEBHOOK_SECRETS": SECRET, "CARRIER_ACCOUNT": "bench"}
    return ours | {"CARRIER_BASE_URL": "http://127.0.0.1:9", "DJANGO_SETTINGS_MODULE": "shipping_portal.settings"}


def _load(server: Server, file: str) -> float:
    given = [str(server.port), str(SECONDS), str(CONNECTIONS), *([file] if file else [])]
    command = [sys.executable, "-m", "tools.bench.load", *given]
    measured = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return float(measured["answered"]) / SECONDS


def tell(name: str, ours: list[float], limit: list[float], goal: float) -> bool:
    ratios = sorted(one / other for one, other in zip(ours, limit, strict=True))
    ratio = statistics.median(ratios)
    is_good = ratio >= goal
    print(
        f"{name:<36} {statistics.median(ours):>8.0f}/s {statistics.median(limit):>8.0f}/s  "
        f"{ratios[0]:.2f} / {ratio:.2f} / {ratios[-1]:.2f}  goal {goal:.2f}{'' if is_good else '   OVER'}",
        flush=True,
    )
    return is_good
