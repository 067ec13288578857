"""The demo's users, a month played day by day, and a month loaded from its file."""

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.management import call_command
from django.utils import timezone

from shipping_portal.staff.demo import demo_history
from tests.demo.month import FIRST_MONDAY, Month
from tests.sandbox_carrier import SandboxCarrier

FAST = "tracking_per_second = 1000.0\nrequests_per_second = 1000.0\n"
WEDNESDAY = dt.datetime(2026, 11, 25, 3, tzinfo=dt.UTC)


@pytest.fixture
def people(settings: Any) -> None:
    settings.DEMO = True
    with time_machine.travel(dt.datetime.combine(FIRST_MONDAY, dt.time(), dt.UTC)):
        call_command("demo")


@pytest.fixture
def month(carrier: SandboxCarrier, contract: Callable[[str], None], people: None) -> Callable[[int], Month]:
    """`month(5)` is a month of which five business days have been played."""

    def play(days: int) -> Month:
        contract(FAST)
        made = Month(carrier, days=days)
        made.play()
        return made

    return play


@pytest.fixture
def loaded(as_the_owner: None, people: None, tmp_path: Path) -> Iterator[Path]:
    """Load the month on a Wednesday in November. Return the folder with the carrier's data.

    Its rows have fixed numbers, so the owner loads it and moves the next numbers on.
    """
    with time_machine.travel(WEDNESDAY, tick=True):
        assert demo_history.load_history(timezone.now(), tmp_path / "state")
        yield tmp_path / "state"
