"""Calls that can be repeated share a kept connection; a booking or a cancellation opens its own."""

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from shipping_portal.carrier import connection
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.errors import OutcomeUnknown
from shipping_portal.carrier.messages import LabelLink
from tests import certificates
from tests.carrier.conftest import shipment

ORDER = {"order_id": "b3b4", "carrier_reference": "SQ7K2M", "state": "Ordered"}


@dataclass
class Keeping:
    """A carrier that leaves its connections open and records the requests on each.

    It hangs up once, when a connection reaches request number `hangs_up_at`.
    """

    hangs_up_at: int = 0
    asked: list[list[str]] = field(default_factory=list)

    def serve(self, listening: socket.socket) -> None:
        while True:
            try:
                sock, _ = listening.accept()
            except OSError:
                return
            self.asked.append([])
            threading.Thread(target=self._talk, args=[sock, self.asked[-1]], daemon=True).start()

    def _talk(self, sock: socket.socket, asked: list[str]) -> None:
        with sock, sock.makefile("rb") as lines:
            while line := lines.readline():
                method, path, _ = line.decode().split()
                headers = {}
                while (header := lines.readline().decode().strip()) != "":
                    name, _, value = header.partition(": ")
                    headers[name.lower()] = value
                lines.read(int(headers.get("content-length", 0)))
                asked.append(f"{method} {path.partition('?')[0]}")
                if len(asked) == self.hangs_up_at:
                    self.hangs_up_at = 0
                    return
                sock.sendall(self._answer(method, path))
                if headers.get("connection") == "close":
                    return

    def _answer(self, method: str, path: str) -> bytes:
        kind, body = "application/json", json.dumps(ORDER if method == "POST" else {"products": []}).encode()
        if "/orders/" in path:
            body = json.dumps(ORDER).encode()
        if path.endswith(".pdf"):
            kind, body = "application/pdf", b"%PDF-1.7\n%%EOF\n"
        return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.fixture
def keeping() -> Iterator[tuple[Keeping, str]]:
    carrier = Keeping()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=carrier.serve, args=[listening], daemon=True).start()
        yield carrier, f"http://127.0.0.1:{listening.getsockname()[1]}"


CALLS: dict[str, tuple[Callable[[Carrier, str], Any], bool]] = {
    "quote": (lambda carrier, url: carrier.quote(shipment()), True),
    "view": (lambda carrier, url: carrier.view("b3b4"), True),
    "label": (lambda carrier, url: carrier.label(LabelLink("pdf", "a4", f"{url}/labels/a4.pdf")), True),
    "track": (lambda carrier, url: carrier.track("SQ7K2M"), True),
    "ping": (lambda carrier, url: carrier.ping(), True),
    "book": (lambda carrier, url: carrier.book(carrier.booking_body(shipment()), key="attempt-1"), False),
    "cancel": (lambda carrier, url: carrier.cancel("b3b4"), False),
    "subscribe": (lambda carrier, url: carrier.subscribe("SQ7K2M"), False),
}


def call(name: str, carrier: Carrier, url: str) -> None:
    """Make the call and ignore its result: this carrier's replies are almost empty."""
    with suppress(OutcomeUnknown):
        CALLS[name][0](carrier, url)


@pytest.mark.parametrize("name", CALLS)
def test_which_calls_share_a_connection(
    name: str, keeping: tuple[Keeping, str], client: Callable[..., Carrier]
) -> None:
    far_side, url = keeping
    carrier = client(base_url=url, points={"label_fetch": "get"})
    for each in ("ping", name, name):
        call(each, carrier, url)
    assert [len(asked) for asked in far_side.asked] == ([3] if CALLS[name][1] else [1, 1, 1])


def test_a_call_is_repeated_once_if_the_kept_connection_was_closed(
    keeping: tuple[Keeping, str], client: Callable[..., Carrier]
) -> None:
    far_side, url = keeping
    carrier = client(base_url=url)
    carrier.ping()
    far_side.hangs_up_at = 2
    carrier.view("b3b4")
    assert [len(asked) for asked in far_side.asked] == [2, 1]


def test_a_separate_connection_is_not_retried(keeping: tuple[Keeping, str], client: Callable[..., Carrier]) -> None:
    far_side, url = keeping
    far_side.hangs_up_at = 1
    with pytest.raises(OutcomeUnknown):
        client(base_url=url).view("b3b4")
    assert [len(asked) for asked in far_side.asked] == [1]


def test_a_connection_idle_for_too_long_is_not_reused(
    keeping: tuple[Keeping, str], client: Callable[..., Carrier], monkeypatch: pytest.MonkeyPatch
) -> None:
    far_side, url = keeping
    carrier = client(base_url=url)
    carrier.ping()
    monkeypatch.setattr(connection, "KEPT_SECONDS", 0.0)
    carrier.ping()
    assert [len(asked) for asked in far_side.asked] == [1, 1]


def test_a_connection_is_not_reused_after_an_unusable_reply(
    keeping: tuple[Keeping, str], client: Callable[..., Carrier], monkeypatch: pytest.MonkeyPatch
) -> None:
    far_side, url = keeping
    carrier = client(base_url=url)
    whole = far_side._answer
    monkeypatch.setattr(
        far_side, "_answer", lambda *asked: whole(*asked).replace(b"OK\r\n", b"OK\r\nContent-Encoding: br\r\n")
    )
    call("view", carrier, url)
    call("view", carrier, url)
    assert [len(asked) for asked in far_side.asked] == [1, 1]


def test_certificate_authorities_are_reread_only_if_their_file_changed(tmp_path: Path) -> None:
    bundle = str(certificates.own_certificate(tmp_path).bundle)
    before = connection.trust_context(bundle)
    assert connection.trust_context(bundle) is before
    os.utime(bundle, ns=(0, 0))
    assert connection.trust_context(bundle) is not before
