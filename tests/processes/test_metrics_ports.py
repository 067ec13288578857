"""Each real process reports its calls and whether it is alive on its own port. A web server counts as one."""

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.ports import free_port
from tests.processes.conftest import QUICK
from tests.processes.portal import ROOT, Portal, until, until_ready
from tests.processes.servers import Servers
from tests.processes.visitor import Visitor
from tests.readme_commands import TYPED
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.processes

TOLD = re.compile(r'^portal_carrier_calls_total\{operation="(\w+)",outcome="(\w+)"\} ([\d.]+)$', re.MULTILINE)


def get(port: int, path: str) -> tuple[int, str]:
    """Return the response, or status 0 while nothing listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, ""
    except OSError:
        return 0, ""


def is_alive(port: int) -> bool:
    return get(port, "/livez")[0] == 200


def calls(port: int) -> dict[tuple[str, str], float]:
    return {(operation, outcome): float(count) for operation, outcome, count in TOLD.findall(get(port, "/metrics")[1])}


@dataclass
class Scene:
    """A worker, a sweeper and a web server of two processes, with the port of each."""

    portal: Portal
    servers: Servers
    web: str
    ports: dict[str, int]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with Servers(tmp_path) as servers, SandboxCarrier(tmp_path / "carrier", key="canary-carrier-key") as carrier:
        portal = Portal(tmp_path / "portal", carrier.url, contract=QUICK)
        portal.env["REDIS_URL"] = servers.valkey()
        ports, start = {name: free_port() for name in ("worker", "sweep", "web")}, portal.start

        def start_with_a_port(name: str, *arguments: str, version: Path = ROOT) -> None:
            portal.env["METRICS_PORT"] = str(ports[name])
            start(name, *arguments, version=version)

        portal.start = start_with_a_port  # type: ignore[method-assign]
        with portal:
            web = free_port()
            portal.start_web(web, "-c", "python:shipping_portal.gunicorn_settings", "--workers=2")
            until_ready(web)
            for name, port in ports.items():
                until(partial(is_alive, port), seconds=60, what=f"{name} is alive")
            yield Scene(portal, servers, f"http://127.0.0.1:{web}", ports)


def test_each_process_reports_its_calls_and_that_it_is_alive(scene: Scene) -> None:
    scene.portal.submit(3)
    until(lambda: set(scene.portal.orders().values()) == {"booked"}, seconds=60, what="all booked")
    assert sum(calls(scene.ports[name]).get(("book", "ok"), 0.0) for name in ("worker", "sweep")) == 3
    assert "process_resident_memory_bytes" in get(scene.ports["worker"], "/metrics")[1]


def test_any_web_process_reports_the_counts_of_all_of_them(scene: Scene) -> None:
    scene.portal.take_import(1, 0)  # which loads the list of suburbs
    alice = Visitor(scene.portal, scene.web)
    with ThreadPoolExecutor(2) as hands:  # as many as may wait for the carrier for one person
        typed = [TYPED | {"csrfmiddlewaretoken": alice.csrf, "weight_kg": f"2.{each}"} for each in range(12)]
        answers = list(hands.map(lambda form: alice.ask("POST", "/parcels/new/", form).status, typed))
    assert answers == [302] * 12
    assert [calls(scene.ports["web"]) for _ in range(8)] == [{("quote", "ok"): 12.0}] * 8


@pytest.mark.nightly
def test_a_worker_whose_broker_hangs_is_not_alive_and_the_sweeper_is(scene: Scene) -> None:
    scene.servers.freeze("valkey")
    until(lambda: get(scene.ports["worker"], "/livez")[0] == 503, seconds=180, what="the worker is not alive")
    assert is_alive(scene.ports["sweep"])
    scene.servers.thaw("valkey")
    until(partial(is_alive, scene.ports["worker"]), seconds=60, what="the worker is alive again")
