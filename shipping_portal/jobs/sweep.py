"""Find due rows, send them to the workers, and process those that no worker takes.

This is a plain process, not a Celery task, so that a lost, duplicate or late message, or even a
missing broker, makes no difference.
"""

import datetime as dt
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from threading import Event
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.db import Error, close_old_connections
from django.db.models import DateTimeField, F, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from shipping_portal.celery import publish_task
from shipping_portal.db.planned_statements import Given, PlannedSelect
from shipping_portal.http.database_outage import database_answers
from shipping_portal.jobs.models import lease_time
from shipping_portal.jobs.registry import JobKind, all_chores, all_kinds

logger = logging.getLogger(__name__)
# after this long, no further row of a type is started here, so that no type starves the rest
OWN_WORK_SECONDS = 10.0
FORGET_AFTER = 20  # leases
HANGS_AFTER = 600.0  # seconds per type or task; the longest is a purge


@dataclass(frozen=True)
class Handed:
    """A row sent to the workers `times` times in a row without being taken.

    While its `due_at` is unchanged, its message lives until `until`, and the sweep doesn't send
    another.
    """

    due_at: dt.datetime
    times: int
    until: dt.datetime


@dataclass
class Sweep:
    """One sweeping process. Its memory only saves work: losing it costs a few messages.

    `before` is called before each round, and may end the process.
    """

    stop: Event = field(default_factory=Event)
    before: Callable[[], None] = lambda: None
    handed: dict[tuple[str, int], Handed] = field(default_factory=dict)
    chore_due_at: dict[str, dt.datetime] = field(default_factory=dict)
    looked_at: float = field(default_factory=time.monotonic)

    def run(self) -> None:
        """Sweep until `stop` is set; wait while the database is down."""
        while not self.stop.is_set():
            done = self.once_or_log()
            if done:
                logger.info("swept", extra={"done": dict(done)})
            self.stop.wait(settings.SWEEP_SECONDS)

    def is_alive(self) -> bool:
        """Return whether the sweep has run recently.

        Without a database it finds nothing, but is alive.
        """
        return time.monotonic() - self.looked_at < max(HANGS_AFTER, 10 * settings.SWEEP_SECONDS)

    def once_or_log(self) -> Counter[str]:
        """Run a round and its periodic tasks. Only a database outage ends it early."""
        done: Counter[str] = Counter()
        self.looked_at = time.monotonic()
        try:
            close_old_connections()
            self.before()
            done = self.once()
            self._do_chores()
        except Error as error:
            logger.warning("database_unreachable", extra={"error": type(error).__name__})
        return done

    def once(self, swept: Collection[JobKind] = ()) -> Counter[str]:
        """Go through every type once; return counts of rows by outcome, such as `book done`."""
        counts: Counter[str] = Counter()
        for kind in swept or all_kinds():
            with log_failures(kind.name):
                self._sweep(kind, counts)
        self._forget()
        return counts

    def _sweep(self, kind: JobKind, counts: Counter[str]) -> None:
        """Send each row to the workers.

        As long as there is time, process rows that the workers missed, or all rows if there is no
        broker.
        """
        self.looked_at = time.monotonic()
        own_work_ends = self.looked_at + OWN_WORK_SECONDS
        for pk, due_at in due_rows(kind, timezone.now(), without=self._rows_sent(kind)).items():
            if self.stop.is_set():
                break
            passed = self._times_missed(kind, pk, due_at)
            if passed >= kind.patience and time.monotonic() < own_work_ends:
                counts[f"{kind.name} {self._work(kind, pk)}"] += 1
            elif publish_task(kind.task, pk):
                self.handed[kind.name, pk] = Handed(
                    due_at, passed + 1, timezone.now() + lease_time()
                )
                counts[f"{kind.name} handed over"] += 1
            elif time.monotonic() < own_work_ends:
                counts[f"{kind.name} {self._work(kind, pk)}"] += 1

    def _times_missed(self, kind: JobKind, pk: int, due_at: dt.datetime) -> int:
        """Return how often the workers missed this row since it became due at this time."""
        before = self.handed.get((kind.name, pk))
        return before.times if before and before.due_at == due_at else 0

    def _rows_sent(self, kind: JobKind) -> dict[int, dt.datetime]:
        """Return this type's rows with a live message, and their `due_at` when it was sent."""
        now = timezone.now()
        return {
            pk: one.due_at
            for (name, pk), one in self.handed.items()
            if name == kind.name and one.until > now
        }

    def _work(self, kind: JobKind, pk: int) -> str:
        self.handed.pop((kind.name, pk), None)
        went_well = False
        with log_failures(kind.name, pk):
            kind(pk)
            went_well = True
        return "done" if went_well else "failed"

    def _forget(self) -> None:
        """Forget rows that haven't been due for a while."""
        old = timezone.now() - FORGET_AFTER * lease_time()
        self.handed = {key: one for key, one in self.handed.items() if one.until > old}

    def _do_chores(self) -> None:
        now = timezone.now()
        for chore in all_chores():
            if self.chore_due_at.get(chore.name, now) <= now:
                self.chore_due_at[chore.name] = now + chore.every
                self.looked_at = time.monotonic()
                with log_failures(chore.name):
                    chore.do(now)


@contextmanager
def log_failures(what: str, row: int | None = None) -> Iterator[None]:
    """Log an error raised in the block and continue: one broken row or step mustn't stop the rest.

    It raises only if the database itself doesn't answer: a lock, a deadlock or a timeout concerns
    one row.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, Error) and not database_answers():
            raise
        logger.exception("sweep_failed", extra={"job": what, "row": row})


def due_rows(
    kind: JobKind, now: dt.datetime, *, without: Mapping[int, dt.datetime] = MappingProxyType({})
) -> dict[int, dt.datetime]:
    """Return a batch of due rows with `due_at`, oldest first, alternating between lanes.

    `without` has rows to skip as long as their due time is unchanged.
    """
    if without:
        skipped = {"pk__in": without.keys(), "due_at__in": set(without.values())}
        rows: Iterable[Any] = _batch(kind, kind.due(now).exclude(**skipped))
    else:
        rows = _planned_batch(kind).rows(now=now)
    return {row.pk: row.due_at for row in rows}


@cache
def _planned_batch(kind: JobKind) -> PlannedSelect:
    return PlannedSelect(_batch(kind, kind.due(Given("now", DateTimeField()))))


def _batch(kind: JobKind, rows: QuerySet[Any]) -> QuerySet[Any]:
    order = ["due_at"]
    if kind.lane:
        turn = Window(RowNumber(), partition_by=F(kind.lane), order_by=F("due_at").asc())
        rows, order = rows.annotate(turn=turn), ["turn", "due_at"]
    return rows.select_related(None).only("due_at").order_by(*order)[: kind.batch]
