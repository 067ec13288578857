"""What deploy/nginx.conf does if web servers are down, disconnect or return 503. The web servers are fakes."""

import json
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import requests

from tests.ports import free_port
from tests.processes.portal import until
from tests.processes.proxy import Proxy

pytestmark = [pytest.mark.processes]

GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
BUSY = b"HTTP/1.1 503 Busy\r\nRetry-After: 5\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy"
BREAKS_OFF = b""


class Web:
    """A port that reads a whole request, keeps it, and replies with these bytes."""

    def __init__(self, port: int, answer: bytes) -> None:
        self.seen: list[bytes] = []
        self.answer = answer
        self.socket = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self.socket.accept()
            except OSError:
                return
            with line:
                head, _, body = line.recv(65536).partition(b"\r\n\r\n")
                found = [row for row in head.split(b"\r\n") if row.lower().startswith(b"content-length:")]
                length = int(found[0].split(b":")[1]) if found else 0
                while len(body) < length:
                    body += line.recv(65536)
                self.seen.append(head + b"\r\n\r\n" + body)
                line.sendall(self.answer)


Ask = Callable[..., requests.Response]


class Front:
    """nginx in front of two ports, with or without web servers."""

    def __init__(self, proxy: Proxy, ports: list[int]) -> None:
        self.proxy, self.ports = proxy, ports
        self.webs: list[Web] = []

    def stand(self, *answers: bytes | None) -> None:
        """Put a web server at each port, or none."""
        self.webs = [Web(port, answer) for port, answer in zip(self.ports, answers, strict=True) if answer is not None]

    def ask(self, method: str, path: str = "/", **more: object) -> requests.Response:
        with requests.Session() as session:
            session.trust_env = False
            url = self.proxy.url + path
            return session.request(method, url, verify=self.proxy.certificate.bundle, timeout=20, **more)  # type: ignore[arg-type]

    @property
    def seen(self) -> list[bytes]:
        return [request for web in self.webs for request in web.seen]


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    ports = [free_port(), free_port()]
    with ExitStack() as stack:
        made = Front(stack.enter_context(Proxy(tmp_path / "nginx", ports)), ports)
        yield made
        for web in made.webs:
            web.socket.close()


@pytest.mark.parametrize(
    ("webs", "method", "status", "times"),
    [
        ((GOOD, None), "POST", {200}, 1),  # refused: nothing was sent, so the other one has it
        ((None, GOOD), "POST", {200}, 1),
        ((GOOD, None), "GET", {200}, 1),
        ((BREAKS_OFF, BREAKS_OFF), "POST", {503}, 1),  # it may have booked
        ((BREAKS_OFF, BREAKS_OFF), "GET", {503}, 4),
        ((BUSY, BUSY), "POST", {503}, 1),
        ((BUSY, BUSY), "GET", {503}, 1),
        ((None, None), "POST", {503}, 0),
    ],
)
def test_a_request_a_web_server_may_have_received_is_not_sent_twice(
    front: Front, webs: tuple[bytes | None, ...], method: str, status: set[int], times: int
) -> None:
    front.stand(*webs)
    for number in range(1, 5 if times <= 1 else 2):
        answer = front.ask(method, data={"number": number} if method == "POST" else None)
        assert answer.status_code in status
        if answer.status_code == 503:
            assert answer.headers["Retry-After"] == "5"
        assert len(front.seen) == times * number


def test_the_portals_own_503_keeps_its_page_and_marks_no_web_server_as_dead(front: Front) -> None:
    front.stand(BUSY, BUSY)
    assert {front.ask("GET").text for _ in range(6)} == {"busy"}


def test_two_web_servers_marked_dead_are_both_still_tried(front: Front) -> None:
    front.stand(None, None)
    assert front.ask("GET").status_code == 503
    front.stand(GOOD, None)
    assert front.ask("POST").status_code == 200  # at once, not after five seconds


def test_a_web_server_gets_the_real_client_address_not_a_claimed_one(front: Front) -> None:
    front.stand(GOOD, GOOD)
    claims = {"X-Forwarded-For": "10.9.8.7", "X-Forwarded-Proto": "http", "X-Request-ID": "mine-mine-mine"}
    front.ask("GET", headers=claims)
    (request,) = front.seen
    head = dict(row.split(": ", 1) for row in request.decode().split("\r\n")[1:] if ": " in row)
    assert head["X-Forwarded-For"] == "127.0.0.1"
    assert head["X-Forwarded-Proto"] == "https"
    assert head["Host"] == f"127.0.0.1:{front.proxy.port}"
    until(front.proxy.log.read_text, seconds=5, what="nginx logs it, which it does after it has answered")
    line = json.loads(front.proxy.log.read_text().splitlines()[-1])
    assert head["X-Request-ID"] == line["request"] != "mine-mine-mine"


@pytest.mark.parametrize(
    ("path", "most"), [("/parcels/new/", 2_621_440), ("/webhooks/tracking/", 65_536), ("/csp-reports/", 8_192)]
)
def test_a_body_has_the_portals_own_limits(front: Front, path: str, most: int) -> None:
    front.stand(GOOD, GOOD)
    assert front.ask("POST", path, data=b"x" * most).status_code == 200
    assert front.ask("POST", path, data=b"x" * (most + 1)).status_code == 413
    assert len(front.seen) == 1


def test_a_webhook_over_plain_http_is_refused_and_a_page_redirects_to_https(front: Front) -> None:
    front.stand(GOOD, GOOD)
    plain = front.proxy.plain_url
    assert requests.post(f"{plain}/webhooks/tracking/", timeout=20).status_code == 403
    answer = requests.get(f"{plain}/parcels/?q=1", timeout=20, allow_redirects=False)
    assert (answer.status_code, answer.headers["Location"]) == (308, "https://127.0.0.1/parcels/?q=1")
    assert front.seen == []


def test_no_token_in_a_url_is_in_a_log(front: Front) -> None:
    front.stand(GOOD, None)
    key = uuid.uuid4().hex
    for path in (
        f"/webhooks/tracking/{key}/",
        f"/accounts/password/reset/key/{key}/",
        f"/invitation/{key}/",
        f"/follow/{key}/",
        f"/?t={key}",
    ):
        front.ask("POST" if "hook" in path else "GET", path)
    front.stand(None, None)
    front.ask("POST", f"/webhooks/tracking/{key}/")
    assert key not in front.proxy.log.read_text()
    assert f"/webhooks/tracking/{key}" not in front.proxy.error_log.read_text()
