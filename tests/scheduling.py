"""Give pytest-xdist's workers their tests in handfuls.

`--dist=loadgroup` alone sends each test by itself, looks its number up in the list of all tests, and counts what is
pending in all that a worker ever got. With 11,000 tests that costs half a minute of CPU.
"""

from functools import cached_property
from typing import Any

from xdist.scheduler import LoadGroupScheduling

HANDFUL = 10  # tests in a message


class InHandfuls(LoadGroupScheduling):
    """The tests of a group stay together, as before. Towards the end, tests are sent one by one."""

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Return each test's number, which is the same for every worker."""
        return {name: number for number, name in enumerate(self.collection)}

    def _assign_work_unit(self, node: Any) -> None:
        left = len(self.workqueue) // (50 * len(self.nodes))
        assigned, numbers = self.assigned_work.setdefault(node, {}), []
        while self.workqueue and len(numbers) < max(1, min(HANDFUL, left)):
            scope, unit = self.workqueue.popitem(last=False)
            assigned[scope] = unit
            numbers += [self._numbers[name] for name, is_done in unit.items() if not is_done]
        node.send_runtest_some(numbers)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        name = self.registered_collections[node][item_index]
        scope, assigned = self._split_scope(name), self.assigned_work[node]
        assigned[scope][name] = True
        if all(assigned[scope].values()):
            del assigned[scope]
        self._reschedule(node)
