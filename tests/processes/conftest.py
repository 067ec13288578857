"""A whole portal of real processes with its own broker, which may be frozen."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.ports import free_port
from tests.processes.portal import Portal, until, until_ready
from tests.processes.servers import Servers
from tests.processes.visitor import Visitor
from tests.recording import improper
from tests.sandbox_carrier import SandboxCarrier

QUICK = "requests_per_second = 500.0\ntracking_per_second = 500.0\n"


@dataclass
class Shop:
    """The portal with its web server, other servers, carrier and a logged-in user."""

    portal: Portal
    servers: Servers
    carrier: SandboxCarrier
    alice: Visitor

    def statuses(self, orders: list[str]) -> set[str]:
        found = self.portal.orders()
        return {found.get(order, "lost") for order in orders}

    def wait_until_booked(self, orders: list[str], *, seconds: float) -> None:
        until(lambda: self.statuses(orders) == {"booked"}, seconds=seconds, what="every order booked")

    def booked_at_the_carrier(self, orders: list[str]) -> list[str]:
        return [line["order_key"] for line in self.carrier.ledger("booked") if line["order_key"] in orders]


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder, port = tmp_path_factory.mktemp("shop"), free_port()
    with Servers(folder) as servers, SandboxCarrier(folder / "carrier", key="canary-carrier-key") as carrier:
        portal = Portal(folder / "portal", carrier.url, contract=QUICK)
        portal.env["REDIS_URL"] = servers.valkey()
        with portal:
            portal.start_web(port)
            until_ready(port)
            yield Shop(portal, servers, carrier, Visitor(portal, f"http://127.0.0.1:{port}"))
            assert improper(carrier.requests()) == []
