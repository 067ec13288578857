"""What `./dev bench` says of the portal beside the usual way: its goals, its ratios, and whose CPU it counts."""

import os
import subprocess
import sys

import pytest

from tools.bench import parcels
from tools.bench.bookings import cpu_of
from tools.bench.parcels import Figure, cpu_of_children

BURNT = 0.05  # seconds; the kernel counts in hundredths
BURN = f"import time\nwhile time.process_time() < {BURNT}: pass"
LEAST = Figure("bookings", 1.0, is_least=True)
MOST = Figure("Python", 1.2)
OF_OURS = Figure("WAL", 10.0, is_ours=True)


def test_the_goals_are_those_that_were_set_before_anything_was_measured() -> None:
    assert {figure.name: figure.goal for figure in parcels.FIGURES} == {
        "bookings a second": 1.0,
        "Python of the workers, ms": 1.2,
        "PostgreSQL, ms": 2.0,
        "WAL without the labels' bytes, kB": 10.0,
        "a press, ms": 1.8,
    }


@pytest.mark.parametrize(
    ("figure", "rounds", "is_good"),
    [
        (LEAST, [[100.0, 90.0], [80.0, 80.0], [1.0, 90.0]], True),
        (LEAST, [[100.0, 90.0], [79.0, 80.0], [1.0, 90.0]], False),
        (MOST, [[12.0, 10.0]], True),
        (MOST, [[12.1, 10.0]], False),
        (OF_OURS, [[10.0, 1.0]], True),
        (OF_OURS, [[10.1, 100.0]], False),
    ],
)
def test_a_missed_goal_is_printed_as_missed(
    figure: Figure, rounds: list[list[float]], is_good: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """The median of the rounds counts."""
    assert parcels._tell(figure, rounds) is is_good
    assert ("OVER" in capsys.readouterr().out) is not is_good


def test_cpu_of_a_process_that_has_ended_counts() -> None:
    before, without = cpu_of(os.getpid(), ended=True), cpu_of(os.getpid())
    with subprocess.Popen([sys.executable, "-SEc", BURN]) as child:
        assert child.pid in cpu_of_children(os.getpid())
    assert child.pid not in cpu_of_children(os.getpid())
    assert cpu_of(os.getpid(), ended=True) - before >= BURNT / 2
    assert cpu_of(os.getpid()) - without < BURNT / 2
