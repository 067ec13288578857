"""Requests that only a socket can send, to the real web server: two hosts, false lengths, endless headers."""

import socket
from collections.abc import Callable, Iterator

import pytest

from tests.catalogue.browsing import FORM
from tests.catalogue.rows import rows
from tests.ports import free_port
from tests.processes.portal import Portal, until_ready

pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("sockets")]  # one web server for all

OURS = "Host: 127.0.0.1\r\n"
HELP = "GET /help/ HTTP/1.1\r\n"
LOG_IN = f"POST /accounts/login/ HTTP/1.1\r\n{OURS}Content-Type: {FORM}\r\n"

Say = Callable[[str], tuple[int, str]]


@pytest.fixture(scope="module")
def say(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Say]:
    """`say(head)` sends exactly this text and returns the reply's status and text. The database is empty."""
    portal = Portal(tmp_path_factory.mktemp("web"), "http://127.0.0.1:9")
    port = free_port()
    portal.start("web", "-m", "gunicorn", "shipping_portal.wsgi", f"--bind=127.0.0.1:{port}", "--no-control-socket")

    def send(head: str) -> tuple[int, str]:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
            line.sendall(head.encode())
            line.shutdown(socket.SHUT_WR)
            answer = line.makefile("rb").read().decode()
        return int(answer.split()[1]), answer

    try:
        until_ready(port)
        yield send
    finally:
        portal.kill("web")


def test_an_ordinary_request_is_answered(say: Say) -> None:
    assert say(f"{HELP}{OURS}Connection: close\r\n\r\n")[0] == 200


@rows(
    "head",
    ("B35", "two Host headers", f"{HELP}{OURS}Host: evil.com\r\n"),
    ("B35", "two Host headers, ours last", f"{HELP}Host: evil.com\r\n{OURS}"),
    ("B35", "evil.com through the server", f"{HELP}Host: evil.com\r\n"),
    ("B35", "a Host of two lines", f"{HELP}Host: 127.0.0.1\r\n evil.com\r\n"),
    ("B33", "3 MB announced and not sent", f"{LOG_IN}Content-Length: 3000000\r\n"),
    ("B33", "less than nothing announced", f"{LOG_IN}Content-Length: -1\r\n"),
    ("B33", "two lengths", f"{LOG_IN}Content-Length: 1\r\nContent-Length: 3000000\r\n"),
    ("B33", "a length and chunks", f"{LOG_IN}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
    ("B33", "a length in another script", f"{LOG_IN}Content-Length: ١\r\n"),
    ("B33", "2,000 headers", HELP + OURS + "".join(f"X-{n}: 1\r\n" for n in range(2000))),
    ("B33", "a header of 100 kB", f"{HELP}{OURS}X-Large: {'x' * 100_000}\r\n"),
)
def test_a_malformed_request_is_refused_by_the_server(say: Say, head: str) -> None:
    status, answer = say(f"{head}Connection: close\r\n\r\n")
    assert 400 <= status < 500
    assert "evil.com" not in answer


@rows(
    "head, status",
    ("B44", "compressed chunks", f"{LOG_IN}Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", 415),
    ("B34", "JSON through the server", LOG_IN.replace(FORM, "application/json") + "Content-Length: 2\r\n", 415),
    ("B37", "NUL through the server", f"GET /parcels/%00/ HTTP/1.1\r\n{OURS}", 404),
    ("B31", "chunks without a token", f"{LOG_IN}Transfer-Encoding: chunked\r\n", 403),
)
def test_a_well_formed_but_odd_request_is_refused_by_the_portal(say: Say, head: str, status: int) -> None:
    assert say(f"{head}Connection: close\r\n\r\n0\r\n\r\n")[0] == status
