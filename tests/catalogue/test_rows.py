"""The catalogue is complete: every row has a test or a reason for having none."""

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.catalogue.rows import ELSEWHERE, RESOLVED, ROWS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def ids() -> Iterator[str]:
    """Yield the id of every case of every parametrised test in this package."""
    for path in HERE.glob("test_*.py"):
        module = importlib.import_module(f"{__package__}.{path.stem}")
        for test in vars(module).values():
            for mark in getattr(test, "pytestmark", []):
                if getattr(mark, "name", "") == "parametrize":
                    yield from (case.id for case in mark.args[1] if getattr(case, "id", None))


def test_every_row_has_a_test_or_a_reason() -> None:
    tested = {case.partition("-")[0] for case in ids()}
    assert set(ROWS) - tested - set(ELSEWHERE) - set(RESOLVED) == set()


def test_the_row_numbers_have_no_gaps() -> None:
    last = {"B": 44, "C": 17, "W": 30, "R": 10, "A": 14}
    assert list(ROWS) == [f"{part}{number}" for part in last for number in range(1, last[part] + 1)]


def test_no_two_cases_have_the_same_id() -> None:
    named = [case for case in ids() if case.partition("-")[0] in ROWS]
    assert len(named) == len(set(named))


@pytest.mark.parametrize("row", ELSEWHERE)
def test_each_test_named_elsewhere_exists(row: str) -> None:
    file, name = ELSEWHERE[row]
    assert f"def {name}(" in (ROOT / file).read_text()
