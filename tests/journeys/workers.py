"""Workers that fall asleep in the middle of their work, as a stopped process does, while others go on.

Each runs in a greenlet of its own, on the one connection of the test: nothing is parallel, so every interleaving
that fails can be told again. They sleep only where the portal waits for the carrier, with no transaction open.
"""

import datetime as dt
from collections.abc import Callable
from contextvars import copy_context

from greenlet import GreenletExit, getcurrent, greenlet


class Clock:
    """The time it is, which moves only when told."""

    def __init__(self) -> None:
        self.time = dt.datetime(2026, 11, 18, 1, tzinfo=dt.UTC)  # noon in Melbourne

    def now(self) -> dt.datetime:
        return self.time

    def step(self, seconds: float) -> None:
        self.time += dt.timedelta(seconds=seconds)


class Crew:
    """Everybody who works, and those of them who are asleep, the earliest first."""

    def __init__(self) -> None:
        self.asleep: list[greenlet] = []
        self.naps: dict[greenlet, int] = {}

    def start(self, job: Callable[[], None], *, nap: int) -> None:
        """Do the job, to its end (`nap` 0) or to the nap-th time that it waits for the carrier."""
        worker = greenlet(job)
        worker.gr_context = copy_context()
        self.naps[worker] = nap
        self._go_on(worker)

    def wait(self) -> None:
        """Called by the carrier, wherever a process may stall."""
        worker = getcurrent()
        if self.naps.get(worker, 0) > 0:
            self.naps[worker] -= 1
            if self.naps[worker] == 0:
                worker.parent.switch()

    def wake(self, place: int) -> None:
        self._go_on(self.asleep.pop(place))

    def kill(self, place: int) -> None:
        """kill -9: what was done is done, and nothing follows."""
        self.asleep.pop(place).throw(GreenletExit)

    def _go_on(self, worker: greenlet) -> None:
        worker.switch()
        if not worker.dead:
            self.asleep.append(worker)
