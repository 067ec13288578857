"""Two real web servers behind nginx with the file from deploy/: slow clients and slow carriers hold up nobody else."""

import socket
import ssl
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from tests.processes.behind import Site, a_site
from tests.processes.proxy import Proxy
from tools.campaign.actors import PARCEL
from tools.campaign.browser import Noticed

pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("proxy")]

CLIENTS, ENOUGH = 64, 1.0
THREADS, PROCESSES = 8, 4  # of each process; two webs have two each


@dataclass
class Slow:
    """Clients that send a byte a second. Half of them never finish their header, and half never finish their body."""

    proxy: Proxy

    def __enter__(self) -> None:
        context, self.is_over = ssl.create_default_context(cafile=str(self.proxy.certificate.bundle)), threading.Event()
        self.lines = [
            context.wrap_socket(socket.create_connection(("127.0.0.1", self.proxy.port)), server_hostname="127.0.0.1")
            for _ in range(CLIENTS)
        ]
        form = b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 2000\r\n\r\n"
        for number, line in enumerate(self.lines):
            line.sendall(
                b"POST /accounts/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\n" + (form if number % 2 else b"X-Slow: ")
            )
        self.sender = threading.Thread(target=self._send)
        self.sender.start()

    def _send(self) -> None:
        while not self.is_over.wait(1):
            for line in self.lines:
                try:
                    line.sendall(b"a")
                except OSError:
                    continue  # nginx gave up on it, as it should

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        self.sender.join()
        for line in self.lines:
            line.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with ExitStack() as stack:
        yield stack.enter_context(a_site(tmp_path_factory.mktemp("site"), threads=THREADS))


def seconds(site: Site, path: str) -> float:
    """Return the median time of nine visits."""
    found = []
    for _ in range(9):
        began_at = time.monotonic()
        assert site.browser(Noticed([])).get(path).status_code == 200
        found.append(time.monotonic() - began_at)
    return statistics.median(found)


def test_slow_clients_hold_up_nobody(site: Site) -> None:
    with Slow(site.proxy):
        time.sleep(2)
        assert seconds(site, "/accounts/login/") <= ENOUGH
        assert seconds(site, "/readyz") <= ENOUGH


def test_while_every_quote_takes_twenty_seconds_everything_else_is_quick(site: Site) -> None:
    people = [site.logged_in(person, Noticed([])) for person in site.people]
    site.carrier.trouble("quote", "slow", arg=20, count=1000)
    before = len(site.carrier.requests())
    asked = 24
    try:
        with ThreadPoolExecutor(asked) as hands:
            presses = [
                hands.submit(site.press_once, people[number % len(people)], "/parcels/new/", PARCEL)
                for number in range(asked)
            ]
            time.sleep(1)
            assert seconds(site, "/accounts/login/") <= ENOUGH
            assert seconds(site, "/readyz") <= ENOUGH
            answers = [press.result() for press in presses]
    finally:
        site.carrier.clear()
    waited = [request for request in site.carrier.requests()[before:] if request["operation"] == "quote"]
    assert 0 < len(waited) <= PROCESSES * (THREADS // 4)
    refused = [answer for answer in answers if answer.status_code in {429, 503}]
    assert len(refused) == asked - len(waited)
    assert {answer.headers["Retry-After"] for answer in refused} == {"5"}
    assert all(f'value="{PARCEL["receiver_line1"]}"' in answer.text for answer in answers)
