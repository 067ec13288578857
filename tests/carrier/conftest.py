"""A carrier built on a bare socket, so a test controls every byte and every pause."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.messages import Call, Item, Measures, Party, Shipment

Behaviour = bytes | Callable[[socket.socket], None]
ORDER_ID = "7d0c2f5e-5a36-4b0e-9d0a-6f1f0b7a2c11"
ORDER_KEY = "0d7e5c1e-8f0b-4f57-9c8d-3f4f7d1d9c55"


@dataclass
class Asked:
    """A request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class SocketCarrier:
    """Answers each connection with the next behaviour, then keeps repeating the last one."""

    behaviours: list[Behaviour] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/api"
        self.done = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def answers(self, *behaviours: Behaviour) -> None:
        self.behaviours = list(behaviours)

    def close(self) -> None:
        self.done.set()
        self.listener.close()

    def _serve(self) -> None:
        while not self.done.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            try:
                self.asked.append(read_request(connection))
                behaviour = self.behaviours.pop(0) if len(self.behaviours) > 1 else self.behaviours[0]
                if isinstance(behaviour, bytes):
                    connection.sendall(behaviour)
                else:
                    behaviour(connection)
            except OSError:
                return


def read_request(connection: socket.socket) -> Asked:
    """Read everything: closing a connection with unread data loses the reply."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += _some(connection)
    method, target, _ = first.split(" ")
    return Asked(method, target, headers, body)


def _some(connection: socket.socket) -> bytes:
    piece = connection.recv(65536)
    if not piece:
        raise OSError("the client went away")
    return piece


def reply(status: int, body: object = b"", **headers: str) -> bytes:
    """An HTTP reply; anything but bytes becomes JSON. A header set to "" is left out."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    found = {"Content-Type": "application/json", "Content-Length": str(len(content)), "Connection": "close"}
    found |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in found.items() if value)
    return f"HTTP/1.1 {status} Said\r\n{lines}\r\n".encode() + content


def reset(connection: socket.socket) -> None:
    """Close with RST instead of FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def order(**changes: object) -> dict[str, Any]:
    """A booked order as the carrier would return it."""
    return {
        "order_id": ORDER_ID,
        "state": "Pickup",
        "carrier_reference": "SQ7K2M",
        "tracking_url": "https://track.carrier.example/tracking?ref=SQ7K2M",
        "metadata": {"partner_id": "PRT-0001", "portal_order": ORDER_KEY},
        "labels": [
            {"format": "pdf", "size": "a4", "url": f"https://carrier.example/api/orders/{ORDER_ID}/labels/a4.pdf"}
        ],
        "scheduling": {"is_cancellable": True, "pickup_date": "2026-03-03"},
        "price": {"gross": {"amount": 12.08, "currency": "AUD"}},
        "price_breakdown": {
            "base": {"amount": 11.88, "currency": "AUD"},
            "service": {"amount": 0.2, "currency": "AUD"},
        },
        "expires_at": "2026-04-01T03:29:01.978Z",
        **changes,
    }


def shipment(**changes: Any) -> Shipment:
    """A domestic Australian parcel."""
    found: dict[str, Any] = {
        "sender": Party(
            name="Ira Quill",
            email="ira.quill@example.com",
            phone="0491 570 006",
            line1="12 Example Lane",
            suburb="Fitzroy",
            state="VIC",
            postcode="3065",
            country="AU",
        ),
        "receiver": Party(
            name="Noor Tamsin",
            email="noor.tamsin@example.net",
            line1="4 Sample Street",
            suburb="Hobart",
            state="TAS",
            postcode="7000",
            country="AU",
            instructions="Authority To Leave",
        ),
        "measures": Measures(Decimal("2.4"), "kg", Decimal("32.0"), Decimal("24.0"), Decimal("11.0"), "cm"),
        "description": "Boxed ceramic mugs",
        "product_code": "STANDARD-PICKUP",
        "order_key": ORDER_KEY,
    }
    return Shipment(**(found | changes))


SHIRTS = Item("Cotton t-shirt", Decimal("28.00"), 2, "BD", "6109.10.0012")


@pytest.fixture
def far_side() -> Iterator[SocketCarrier]:
    """The carrier's side of the connection."""
    server = SocketCarrier()
    yield server
    server.close()


@pytest.fixture
def calls() -> list[Call]:
    """The calls in the request log."""
    return []


@pytest.fixture
def client(far_side: SocketCarrier, calls: list[Call]) -> Callable[..., Carrier]:
    """Make a client for the socket carrier: settings by name, and contract points in `points`."""

    def make(points: dict[str, Any] | None = None, **settings: Any) -> Carrier:
        found: dict[str, Any] = {
            "base_url": far_side.url,
            "account": "partnerAccount",
            "key": "s3cret-key",
            "partner_id": "PRT-0001",
            "user_agent": "ShippingPortal/1.0 (ops@portal.example)",
            "contract": Contract(**(points or {})),
            "on_call": calls.append,
            "connect_timeout": 5.0,  # a busy machine is slow to shake hands
            "deadline": 15.0,
        }
        return Carrier(**(found | settings))

    return make
