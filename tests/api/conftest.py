"""Programs that call the API, each with somebody's token."""

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client

from shipping_portal.accounts.api_tokens import SCOPES
from shipping_portal.accounts.models import User
from tests import factories

V1 = "/api/v1"
PARCEL: dict[str, Any] = {
    "receiver_name": "Noor Tamsin",
    "receiver_country": "AU",
    "receiver_email": "noor.tamsin@example.net",
    "receiver_phone": "0491 570 156",
    "receiver_line1": "4 Sample Street",
    "receiver_suburb": "Hobart",
    "receiver_postcode": "7000",
    "description": "Boxed ceramic mugs",
    "customer_reference": "SHOP-7",
    "weight_kg": 2.4,
    "length_cm": "32",
    "width_cm": 24,
    "height_cm": 11,
}


@dataclass
class Program:
    """A client that sends a token, and JSON."""

    text: str
    headers: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **headers: str) -> Any:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.call("POST", path, body, **headers)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        sent = {"Authorization": f"Bearer {self.text}"} | self.headers
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = b"" if body is None else json.dumps(body)
        client = Client(enforce_csrf_checks=True)
        return client.generic(method, V1 + path, data, content_type="application/json", headers=sent)

    def quote(self, **changes: Any) -> dict[str, Any]:
        answer = self.post("/quotes", PARCEL | changes)
        assert answer.status_code == 201, answer.content
        return answer.json()  # type: ignore[no-any-return]

    def book(self, prices: dict[str, Any], key: str, **changes: Any) -> Any:
        chosen = {"quote": prices["id"], "product": prices["offers"][0]["product"]}
        return self.post("/parcels", chosen | changes, idempotency_key=key)


@pytest.fixture
def program() -> Callable[..., Program]:
    """`program(alice)` has a token of Alice's with every scope, or only the named ones."""

    def make(person: User, scopes: Collection[str] = SCOPES) -> Program:
        return Program(factories.api_token(person, scopes=scopes).text)

    return make


@pytest.fixture
def hers(program: Callable[..., Program], alice: User, localities: None) -> Program:
    return program(alice)


@pytest.fixture
def kept_connection() -> Iterator[None]:
    """Keep the test's connection open, since the end of a request would close it."""
    request_started.disconnect(close_old_connections)
    request_finished.disconnect(close_old_connections)
    yield
    request_started.connect(close_old_connections)
    request_finished.connect(close_old_connections)
