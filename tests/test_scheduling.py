"""Each test runs once, in the worker that has the others of its group."""

from typing import Any

import pytest
from xdist.remote import Producer

from tests.scheduling import InHandfuls


class Node:
    """A worker that keeps the numbers of the tests it is sent."""

    def __init__(self, name: str) -> None:
        self.gateway, self.shutting_down = type("Gateway", (), {"id": name}), False
        self.waiting: list[int] = []
        self.sent: list[list[int]] = []

    def send_runtest_some(self, numbers: list[int]) -> None:
        self.waiting += numbers
        self.sent.append(numbers)

    def shutdown(self) -> None:
        self.shutting_down = True


@pytest.mark.parametrize("count", [0, 1, 2, 5, 3000])
def test_every_test_is_sent_once_and_a_groups_tests_go_to_one_worker(pytestconfig: pytest.Config, count: int) -> None:
    tests = [f"test_a.py::test[{number}]" for number in range(count)]
    tests += [f"test_b.py::test[{number}@here]@group {number % 2}" for number in range(40)]
    scheduling = InHandfuls(_two_workers(pytestconfig), Producer("scheduling", enabled=False))
    nodes: list[Any] = [Node("one"), Node("two")]
    for node in nodes:
        scheduling.add_node(node)
        scheduling.add_node_collection(node, tests)
    scheduling.schedule()
    ran: dict[int, Node] = {}
    while any(node.waiting for node in nodes):
        for node in nodes:
            if node.waiting:
                number = node.waiting.pop(0)
                assert number not in ran
                ran[number] = node
                scheduling.mark_test_complete(node, number)
    assert len(ran) == len(tests)
    assert scheduling.tests_finished
    assert all(node.shutting_down for node in nodes)
    for group in ("@group 0", "@group 1"):
        assert len({ran[number] for number, name in enumerate(tests) if name.endswith(group)}) == 1
    assert len(nodes[0].sent[-1]) <= 1 or count < 10


def test_what_a_crashed_worker_left_is_run_by_the_other(pytestconfig: pytest.Config) -> None:
    tests = [f"test_a.py::test[{number}]" for number in range(3000)]
    scheduling = InHandfuls(_two_workers(pytestconfig), Producer("scheduling", enabled=False))
    gone, other = nodes = [Node("gone"), Node("other")]
    for node in nodes:
        scheduling.add_node(node)
        scheduling.add_node_collection(node, tests)
    scheduling.schedule()
    scheduling.mark_test_complete(gone, gone.waiting[0])
    assert scheduling.remove_node(gone) == tests[gone.waiting[1]]
    ran = []
    while other.waiting:
        ran.append(other.waiting.pop(0))
        scheduling.mark_test_complete(other, ran[-1])
    assert sorted(ran) == sorted(set(range(3000)) - {gone.waiting[0]})


def _two_workers(config: Any) -> Any:
    """Return pytest's configuration with two workers."""
    option = type("Option", (), {"loadscopereorder": True, "tx": ["popen"] * 2})
    return type("Config", (), {"option": option, "getvalue": lambda self, name: ["popen"] * 2})()
