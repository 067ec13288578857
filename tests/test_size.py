"""The size of the product, a number a room: what grows or shrinks by more than a percent is a decision.

`python tools/count_nodes.py` prints the sizes.
"""

import statistics

import pytest

from tools.count_nodes import OTHERS, function_lengths, nodes_by_room

# Syntax nodes. A budget is at least what is there, and at most 2 % more: set it 1 % above.
BUDGETS = {}


@pytest.fixture(scope="module")
def rooms() -> dict[str, int]:
    return {room: nodes for room, nodes in nodes_by_room().items() if room not in OTHERS}


def test_every_room_of_the_product_has_a_budget(rooms: dict[str, int]) -> None:
    assert rooms.keys() == BUDGETS.keys()


@pytest.mark.parametrize("room", BUDGETS)
def test_no_room_exceeds_its_budget_and_no_budget_is_generous(rooms: dict[str, int], room: str) -> None:
    assert rooms[room] <= BUDGETS[room] <= rooms[room] * 1.02


def test_functions_are_short() -> None:
    lengths = list(function_lengths().values())
    assert statistics.median(lengths) <= 6
    assert sum(length <= 40 for length in lengths) / len(lengths) >= 0.99
