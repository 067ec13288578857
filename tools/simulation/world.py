"""One process in which everybody works. The dice decide who runs next, who is killed, and what time it is.

Each actor runs in a greenlet. It may be put to sleep, or killed, at every seam: before and after each transaction, at
each statement outside of one, at each message and each sleep, and on both sides of what the carrier does.
"""

import datetime as dt
import hashlib
import heapq
import itertools
import random
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import Context
from types import SimpleNamespace
from typing import Any, NoReturn
from unittest import mock

import time_machine
from django.db import OperationalError, connection
from greenlet import GreenletExit, getcurrent, greenlet

from tools.simulation.dice import Dice

BEGIN = dt.datetime(2026, 11, 18, 1, tzinfo=dt.UTC)  # noon in Melbourne
UP_SINCE = 1000.0  # what the monotonic clock shows at BEGIN
STALLS = 0.4  # percent of seams at which a process is stopped for longer than a lease
ON_ITS_WAY = "a late request"
LOST = 0.5  # percent of commits, of their answers, and of statements outside of transactions


class Broken(AssertionError):
    """Raised when a promise was not kept."""


class Killed(GreenletExit):
    """Raised in a process that is killed."""


class Actor(greenlet):
    """Somebody at work: a worker, the sweep, a request of a sender or an operator, or the carrier itself."""

    wakes_at = 0.0
    is_dead = False  # killed: whatever it still runs changes nothing

    def __init__(self, name: str, work: Callable[[], Any]) -> None:
        super().__init__(work)
        self.gr_context = Context()
        self.name = name


class World:
    """The clock, the actors and the dice. `tell` writes the history; `digest` is a hash of all that happened."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.time = 0.0  # seconds since BEGIN
        self.ahead = 0.0  # seconds by which the wall clock is wrong
        self.is_calm = False  # nothing more goes wrong
        self.actors: list[Actor] = []
        self.lines: list[str] = []
        self.digest = hashlib.sha256()
        self.on_commit: Callable[[], None] = lambda: None
        self._later: list[tuple[float, int, str, Callable[[], Any]]] = []
        self._number = itertools.count()
        self._broken = ""
        self._travel: Any = None

    def tell(self, line: str) -> None:
        self.lines.append(f"{self.time:10.3f}  {line}")
        self.digest.update(self.lines[-1].encode())

    def trouble(self, percent: float) -> bool:
        """Return whether something with this percentage chance goes wrong."""
        return not self.is_calm and self.dice.happens(percent)

    # -- Time and actors -------------------------------------------------------------------------

    def start(self, name: str, work: Callable[[], Any]) -> None:
        self.actors.append(Actor(name, work))

    def later(self, seconds: float, name: str, work: Callable[[], Any]) -> None:
        heapq.heappush(self._later, (self.time + seconds, next(self._number), name, work))

    def pause(self, where: str, *, stalls: float = STALLS) -> None:
        """Let others work first: the running actor calls this at every seam."""
        me = getcurrent()
        if not isinstance(me, Actor):
            return
        if me.is_dead:
            raise Killed
        if connection.in_atomic_block:
            self.fail(f"{me.name} waits inside a transaction: {where}")
        self.digest.update(f"{me.name} {where}".encode())
        if self.trouble(stalls):
            self.tell(f"{me.name} stalls")
            me.wakes_at = self.time + 20.0 + self.dice.below(100)
        assert me.parent
        me.parent.switch()

    def sleep(self, seconds: float) -> None:
        me = getcurrent()
        if isinstance(me, Actor):
            me.wakes_at = self.time + max(seconds, 0.0)
            self.pause("sleeps")

    def pass_time(self, seconds: float) -> None:
        self.time += seconds
        self.set_clock(ahead=self.ahead)
        while self._later and self._later[0][0] <= self.time:
            _, _, name, work = heapq.heappop(self._later)
            self.start(name, work)

    def set_clock(self, *, ahead: float) -> None:
        """Set the wall clock; the monotonic clock isn't changed."""
        self.ahead = ahead
        self._travel.move_to(BEGIN + dt.timedelta(seconds=self.time + ahead))

    def awake(self) -> list[Actor]:
        return [actor for actor in self.actors if actor.wakes_at <= self.time]

    def next_at(self) -> float | None:
        """Return when the next actor wakes, or the next delayed call begins."""
        return min([actor.wakes_at for actor in self.actors] + [at for at, *_ in self._later[:1]], default=None)

    def go_on(self, actor: Actor) -> None:
        """Let an actor work up to its next seam. Raises Broken."""
        try:
            actor.switch()
        except OperationalError as error:
            self.tell(f"{actor.name} ends: {error}")
        except Broken:
            raise
        except Exception as error:  # noqa: BLE001  (there must be none)
            self.breaks(error, actor.name)
        if actor.dead:
            self.actors.remove(actor)
        if self._broken:
            raise Broken(self._broken)

    def fail(self, why: str) -> NoReturn:
        """End the seed: a promise was not kept. It is recorded, even if something catches this exception."""
        self._broken = self._broken or why
        raise Broken(why)

    def breaks(self, error: BaseException | None, who: str) -> None:
        """Record an exception that should never happen; an unreachable database doesn't count."""
        if error is not None and not isinstance(error, OperationalError | Killed | Broken):
            place = traceback.extract_tb(error.__traceback__)[-1]
            self._broken = f"{who}: {type(error).__name__} in {place.name}, line {place.lineno}: {error}"

    def kill(self, actor: Actor) -> None:
        """Kill an actor as kill -9 does: nothing more follows. A request on its way to the carrier isn't a process."""
        if actor.name == ON_ITS_WAY:
            return
        self.tell(f"{actor.name} is killed")
        actor.is_dead = True
        if actor:  # begun, and not ended
            actor.throw(Killed)
        if not actor or actor.dead:
            self.actors.remove(actor)

    # -- The seams -------------------------------------------------------------------------------

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Replace the clock, randomness and the database's answers."""
        chance = random.Random(self.dice.seed)
        random.seed(self.dice.seed)
        no_timer = SimpleNamespace(start=lambda: None, cancel=lambda: None, daemon=True)
        with ExitStack() as stack:
            self._travel = stack.enter_context(time_machine.travel(BEGIN, tick=False))
            for place, instead in {
                "time.sleep": self.sleep,
                "time.monotonic": lambda: self.time + UP_SINCE,
                "os.urandom": chance.randbytes,
                "random._urandom": chance.randbytes,
                "threading.Timer": lambda *_: no_timer,
            }.items():
                stack.enter_context(mock.patch(place, instead))
            stack.enter_context(mock.patch.object(connection, "_commit", self._commit(connection._commit)))
            stack.enter_context(connection.execute_wrapper(self._execute))
            yield

    def _execute(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not isinstance(getcurrent(), Actor) or connection.in_atomic_block:
            return execute(sql, params, many, context)
        self.pause(sql[:40])
        if sql.startswith(("SELECT", "BEGIN")):
            return execute(sql, params, many, context)
        self._may_be_lost("a statement")
        result = execute(sql, params, many, context)
        self.on_commit()
        return result

    def _commit(self, commit: Callable[[], None]) -> Callable[[], None]:
        def flaky() -> None:
            self._may_be_lost("a commit")
            commit()
            self.on_commit()
            self._may_be_lost("the answer to a commit")

        return flaky

    def _may_be_lost(self, what: str) -> None:
        me = getcurrent()
        if isinstance(me, Actor) and me.is_dead:
            raise Killed
        if isinstance(me, Actor) and self.trouble(LOST):
            self.tell(f"{what} of {me.name} is lost")
            raise OperationalError(f"{what} was lost")
