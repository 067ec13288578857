"""What a careful beginner would write: retry on any error. A plan that doesn't make this book twice proves nothing."""

import importlib
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import CarrierError, Rejected
from shipping_portal.carrier.messages import Measures, Party, Shipment
from tools.campaign.carriers import Kind

TRIES = 3
KEY = "a-naive-key"


@dataclass(frozen=True)
class Outcome:
    """How often the carrier booked each order, and the orders whose booking the beginner knows about."""

    booked: Counter[str]
    known: set[str]

    @property
    def doubled(self) -> int:
        """Return how many orders were booked more than once."""
        return sum(times > 1 for times in self.booked.values())

    @property
    def lost(self) -> int:
        """Return how many orders were booked and given up."""
        return len(self.booked.keys() - self.known)


def book_naively(kind: Kind, seed: int, folder: Path, *, orders: int) -> Outcome:
    """Book this many orders at a sandbox under the plan's own faults, but without kills."""
    config, server = (importlib.import_module(f"{kind.sandbox.module}.{name}") for name in ("config", "server"))
    settings = {"key": KEY, "seed": seed, "trouble": kind.background(), **kind.options}
    running = server.start(config.Config(state=folder, **settings))
    try:
        client = _client(kind, running.url)
        with ThreadPoolExecutor(4) as pool:
            names = list(pool.map(lambda number: _book(client, kind, f"naive-{number}"), range(orders)))
    finally:
        running.stop()
    lines = map(json.loads, (folder / kind.ledger).read_text().splitlines())
    booked = Counter(line["order_key"] for line in kind.read(lines) if line["effect"] == "booked")
    return Outcome(booked, set(filter(None, names)))


def _client(kind: Kind, url: str) -> Carrier:
    module, _, name = kind.sandbox.client.rpartition(".")
    made: type[Carrier] = getattr(importlib.import_module(module), name) if module else Carrier
    contract = Contract(**made.points) if made.points else Contract.load(None)
    return made(
        base_url=url + kind.sandbox.path, account="demo-account", key=KEY, contract=contract, deadline=3.0,
        partner_id=kind.sandbox.partner_id, user_agent="ShippingPortal/naive (ops@portal.example)",
    )  # fmt: skip


def _book(client: Carrier, kind: Kind, name: str) -> str:
    """Return the order's name once a booking is known. A refusal ends it; any other error leads to another try."""
    for _ in range(TRIES):
        try:
            client.book(_body(client, _shipment(kind, name)), key=str(uuid4()))
        except Rejected:
            return ""
        except CarrierError:
            continue
        return name
    return ""


def _body(client: Carrier, shipment: Shipment) -> bytes:
    return client.prepare(shipment).body if client.takes_two_calls() else client.booking_body(shipment)


def _shipment(kind: Kind, name: str) -> Shipment:
    ira = {"name": "Ira Quill", "company": "Quill & Co", "email": "ira@quill.example", "line1": "12 Example Lane"}
    priya = {"name": "Priya Nair", "email": "priya@example.net", "line1": "4 Sample Street"}
    fitzroy = {"suburb": "FITZROY", "state": "VIC", "postcode": "3065", "country": "AU", "phone": "0491 570 006"}
    brunswick = {"suburb": "BRUNSWICK", "state": "VIC", "postcode": "3056", "country": "AU", "phone": "0491 570 156"}
    portland = {"suburb": "PORTLAND", "state": "OR", "postcode": "97205", "country": "US", "phone": "503 555 0142"}
    new_york = {"suburb": "NEW YORK", "state": "NY", "postcode": "10001", "country": "US", "phone": "212 555 0156"}
    here, there = (fitzroy, brunswick) if kind.is_interface else (portland, new_york)
    measures = Measures(Decimal("2.4"), "kg", Decimal(32), Decimal(24), Decimal(11), "cm")
    return Shipment(
        sender=Party(**ira, **here), receiver=Party(**priya, **there), measures=measures, description="Ceramic mugs",
        product_code=kind.product, order_key=name,
    )  # fmt: skip
