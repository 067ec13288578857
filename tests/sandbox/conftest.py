"""A carrier for each test, served over real HTTP in this process. Nothing here uses Django."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shipping_portal.sandbox.config import Config
from shipping_portal.sandbox.contract import Contract
from shipping_portal.sandbox.server import Running, start
from tests.sandbox.client import Client


@pytest.fixture
def open_carrier(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Start a carrier with these contract points and options. All are stopped after the test."""
    started: list[Running] = []

    def run(points: dict[str, Any] | None = None, *, state: Path | None = None, **choices: Any) -> Client:
        choices = {"syncs_ledger": False} | choices  # the machine outlives the test
        running = start(Config(state=state or tmp_path / "state", contract=Contract(points), **choices))
        started.append(running)
        return Client(running.url)

    yield run
    for running in started:
        running.stop()


@pytest.fixture
def carrier(open_carrier: Callable[..., Client]) -> Client:
    return open_carrier()
