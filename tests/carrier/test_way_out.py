"""A carrier with a private certificate authority, and a network that needs a proxy: both are settings."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orders.calling import carrier_settings
from orders.calling.contract import client_of
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.errors import NotSent, OutcomeUnknown
from shipping_portal.carrier.messages import Call
from tests.carrier.conftest import ORDER_KEY, shipment
from tests.carrier.tls_server import tls_server
from tests.certificates import Certificate, own_certificate


class Proxy:
    """Forwards a CONNECT, or replies otherwise; records the requests."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://someone:pr0xy-secret@127.0.0.1:{self.listener.getsockname()[1]}"
        self.answer = b"HTTP/1.1 200 Connection established\r\n\r\n"
        self.asked: list[str] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                threading.Thread(target=self._lead, args=(near,), daemon=True).start()

    def _lead(self, near: socket.socket) -> None:
        with near, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += near.recv(4096)
            self.asked.append(head.decode())
            near.sendall(self.answer)
            if b" 200 " not in self.answer:
                return
            host, _, port = head.split(b" ")[1].decode().rpartition(":")
            with socket.create_connection((host, int(port))) as far:
                back = threading.Thread(target=pipe, args=(far, near), daemon=True)
                back.start()
                pipe(near, far)
                back.join(5)


def pipe(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := one.recv(65536):
            other.sendall(piece)
        other.shutdown(socket.SHUT_WR)


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    made = Proxy()
    yield made
    made.listener.close()


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return own_certificate(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def through(client: Callable[..., Carrier], proxy: Proxy, authority: Certificate) -> Callable[[int], Carrier]:
    """A client that reaches the carrier on this port through the proxy."""

    def made(port: int) -> Carrier:
        url = f"https://127.0.0.1:{port}/api"
        return client(base_url=url, ca_bundle=str(authority.bundle), proxy=proxy.url)

    return made


def book(carrier: Carrier) -> Any:
    return carrier.book(carrier.booking_body(shipment()), key=ORDER_KEY)


def test_a_booking_goes_through_the_proxy_which_cannot_read_it(
    through: Callable[[int], Carrier], proxy: Proxy, authority: Certificate
) -> None:
    seen: list[Any] = []
    with tls_server(authority, seen) as port:
        assert book(through(port)).reference == "SQ7K2M"
    assert [asked.target for asked in seen] == ["/api/orders"]
    assert "proxy-authorization" not in seen[0].headers
    assert len(proxy.asked) == 1
    assert proxy.asked[0].startswith(f"CONNECT 127.0.0.1:{port} ")
    assert "s3cret-key" not in proxy.asked[0]


@pytest.mark.parametrize("answer", [b"HTTP/1.1 403 Forbidden\r\n\r\n", b"HTTP/1.1 407 Who are you\r\n\r\n", b""])
def test_a_request_refused_by_the_proxy_was_never_sent(
    through: Callable[[int], Carrier], proxy: Proxy, authority: Certificate, answer: bytes
) -> None:
    proxy.answer = answer
    seen: list[Any] = []
    with tls_server(authority, seen) as port, pytest.raises(NotSent, match=r"the proxy|could not be reached"):
        book(through(port))
    assert seen == []


def test_a_request_lost_beyond_the_proxy_is_unclear(
    through: Callable[[int], Carrier], authority: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.carrier.tls_server.reply", lambda *_: b"")
    seen: list[Any] = []
    with tls_server(authority, seen) as port, pytest.raises(OutcomeUnknown):
        book(through(port))
    assert len(seen) == 1


def test_nothing_is_sent_if_the_proxy_is_down(client: Callable[..., Carrier], authority: Certificate) -> None:
    seen: list[Any] = []
    with tls_server(authority, seen) as port:
        url = f"https://127.0.0.1:{port}/api"
        lost = client(base_url=url, ca_bundle=str(authority.bundle), proxy="http://127.0.0.1:9")
        with pytest.raises(NotSent, match="the proxy"):
            book(lost)
    assert seen == []


def test_a_certificate_from_another_authority_is_not_trusted(
    client: Callable[..., Carrier], proxy: Proxy, authority: Certificate, tmp_path: Path
) -> None:
    """Not through a proxy either: without the carrier's own certificate nothing is sent."""
    other = own_certificate(tmp_path)
    seen: list[Any] = []
    with tls_server(authority, seen) as port, pytest.raises(NotSent, match="certificate was not accepted"):
        book(client(base_url=f"https://127.0.0.1:{port}/api", ca_bundle=str(other.bundle), proxy=proxy.url))
    assert not any(seen)


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x28", b"\x15\x03\x03\x00\x02\x02\x50"],
    ids=["closed at once", "no TLS there", "no cipher in common", "an error of its own"],
)
def test_a_broken_handshake_is_not_reported_as_a_bad_certificate(
    client: Callable[..., Carrier], authority: Certificate, answer: bytes
) -> None:
    """Otherwise the person on call would look for an expired certificate."""
    with broken_tls(answer) as port, pytest.raises(NotSent, match=r"^the TLS connection to the carrier broke off$"):
        book(client(base_url=f"https://127.0.0.1:{port}/api", ca_bundle=str(authority.bundle)))


@contextlib.contextmanager
def broken_tls(answer: bytes) -> Iterator[int]:
    """A server that reads the start of a handshake, sends this answer and closes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    with listener:
        yield listener.getsockname()[1]


def test_the_log_says_why_nothing_was_sent(
    client: Callable[..., Carrier], authority: Certificate, tmp_path: Path, calls: list[Call]
) -> None:
    other = own_certificate(tmp_path)
    with tls_server(authority, []) as port, pytest.raises(NotSent):
        book(client(base_url=f"https://127.0.0.1:{port}/api", ca_bundle=str(other.bundle)))
    assert [(call.operation, call.unsent) for call in calls] == [("book", "the carrier's certificate was not accepted")]


def test_the_settings_reach_the_client_and_the_log_never_the_password(
    settings: Any, proxy: Proxy, authority: Certificate
) -> None:
    seen: list[Any] = []
    with tls_server(authority, seen) as port:
        settings.CARRIER_BASE_URL = f"https://127.0.0.1:{port}/api"
        settings.CARRIER_CA_BUNDLE, settings.CARRIER_PROXY = str(authority.bundle), proxy.url
        carrier = client_of(carrier_settings.current_settings())
        booked = book(carrier)
    assert booked.reference == "SQ7K2M"
    assert len(proxy.asked) == 1
    assert "pr0xy-secret" in carrier_settings.all_secrets()
