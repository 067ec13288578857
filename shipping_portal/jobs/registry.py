"""Every kind of job in one table: which rows owe it, the work, and the Celery task that does it for one row.

    @job("label", queue=Label.objects.exclude(state=STORED), lane="order__sender", order=60)
    def work(label: Label) -> None: ...

registers a kind. The decorated name is the kind: called with a row's number it does the work, if the row is due and
nobody else has it. Beside the jobs stand the chores: what the clock alone causes, small checks of the sweep's.
"""

import datetime as dt
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import structlog
from celery import shared_task
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from shipping_portal.celery import publish
from shipping_portal.http.database_outage import database_answers
from shipping_portal.jobs.models import PARK_AFTER, DeadLetter, Job

logger = logging.getLogger(__name__)


class NotYet(Exception):
    """Raised by the work of a row that has not begun: it is due again `at` that time, and this was no attempt."""

    def __init__(self, at: dt.datetime) -> None:
        super().__init__(f"not before {at}")
        self.at = at


_KINDS: dict[str, "JobKind"] = {}


@dataclass(frozen=True, eq=False)
class JobKind:
    """One kind of owed work.

    `queue` holds the rows that may owe it, whenever they are due. `lane` leads from a row to its sender ("" where
    rows have none): lanes take turns. `order` is its place in the sweep: what hurts most while it waits comes first.
    The sweep does itself what it has handed to the workers `patience` times in vain. Work that is one short
    transaction, and ends with `finish`, needs no lease (`is_leased`): whoever comes second changes nothing.
    """

    name: str
    queue: QuerySet[Any] = field(repr=False)  # its repr would ask the database
    work: Callable[[Any], None]
    lane: str
    order: int
    patience: int
    is_leased: bool

    @property
    def task(self) -> str:
        return f"jobs.{self.name}"

    def due(self, now: dt.datetime) -> QuerySet[Any]:
        """Select the rows to be worked on now, without dead letters."""
        return self.queue.filter(due_at__lte=now, parked_at=None)

    def __call__(self, pk: int) -> None:
        """Do the work of one row, if it is due. Safe to run twice, late, or never."""
        row = self.due(timezone.now()).filter(pk=pk).first()
        if row is None:
            return
        if row.failures >= PARK_AFTER:
            self._park(row)
            return
        failures = row.failures
        if row.claim() if self.is_leased else row.hold():
            try:
                with structlog.contextvars.bound_contextvars(job=self.name, row=row.pk):
                    self.work(row)
            except NotYet as later:
                row.postpone(later.at, failures=failures)  # this was no try, and those before it count on
            except Exception as error:
                if database_answers():
                    row.fail(error, failures=failures + 1)
                raise

    def _park(self, row: Job) -> None:
        with transaction.atomic():
            if not row.give_up():
                return
            facts = {"failures": row.failures, "last_error": row.last_error, "parked_at": row.parked_at}
            DeadLetter.objects.update_or_create(job=self.name, row=row.pk, defaults=facts)
        logger.error("dead_letter", extra={"job": self.name, "row": row.pk, "error": row.last_error})


def job(
    name: str, *, queue: QuerySet[Any], order: int, lane: str = "", patience: int = 1, is_leased: bool = True
) -> Callable[[Callable[[Any], None]], JobKind]:
    """Register the decorated function as the work of one kind: its task, and its place in the sweep."""

    if name in _KINDS:
        raise ValueError(f"there is a job {name!r} already")

    def register(work: Callable[[Any], None]) -> JobKind:
        kind = _KINDS[name] = JobKind(name, queue, work, lane, order, patience, is_leased)

        @shared_task(name=kind.task)
        def run(pk: int) -> None:
            kind(pk)

        return kind

    return register


def kinds() -> list[JobKind]:
    """Return all kinds, those first that hurt most while they wait."""
    return sorted(_KINDS.values(), key=lambda kind: kind.order)


def kind_of(name: str) -> JobKind | None:
    return _KINDS.get(name)


def enqueue(name: str, *rows: int) -> None:
    """Tell the workers of rows that are due, once the transaction is committed. What they miss, the sweep finds."""
    if rows:
        transaction.on_commit(partial(_publish_all, _KINDS[name].task, rows))


def _publish_all(task: str, rows: tuple[int, ...]) -> None:
    for pk in rows:
        if not publish(task, pk):
            break


@dataclass(frozen=True)
class Chore:
    name: str
    every: dt.timedelta
    do: Callable[[dt.datetime], object]


_CHORES: dict[str, Chore] = {}
Do = TypeVar("Do", bound=Callable[[dt.datetime], object])


def chore(name: str, *, every: float = 0) -> Callable[[Do], Do]:
    """Register a check to be made every so many seconds, or at each round of the sweep, maybe by several processes."""

    def register(do: Do) -> Do:
        _CHORES[name] = Chore(name, dt.timedelta(seconds=every * settings.TIME_SCALE), do)
        return do

    return register


def chores() -> list[Chore]:
    """Return all chores, the most frequent first."""
    return sorted(_CHORES.values(), key=lambda chore: chore.every)
