"""Register every job type: which rows have it, the function, and the Celery task for one row.

    @job("label", queue=Label.objects.exclude(state=STORED), lane="order__sender", order=60)
    def work(label: Label) -> None: ...

registers a type. The decorated name is the type: called with a row's number it does the job, if the
row is due and unclaimed. Periodic tasks (`chore`) are small checks that only the clock causes.
"""

import datetime as dt
import logging
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import structlog
from celery import shared_task
from django.conf import settings
from django.db import transaction
from django.db.models import BigIntegerField, DateTimeField, QuerySet
from django.utils import timezone

from shipping_portal.celery import publish_task
from shipping_portal.db.planned_statements import Given, PlannedSelect
from shipping_portal.http.database_outage import database_answers
from shipping_portal.jobs.models import PARK_AFTER, DeadLetter, Job

logger = logging.getLogger(__name__)
# Longer than any queue of calls. Waiting messages are held in a worker's memory.
SOON = dt.timedelta(seconds=10)
BATCH = 50


class NotYet(Exception):
    """Raised by a job that can't begin yet: it is due again `at` that time.

    No attempt is counted.
    """

    def __init__(self, at: dt.datetime) -> None:
        super().__init__(f"not before {at}")
        self.at = at


_KINDS: dict[str, "JobKind"] = {}
# The jobs that this worker does next; None outside a worker's task.
_NEXT: ContextVar[list[tuple[str, int]] | None] = ContextVar("next", default=None)


@dataclass(frozen=True, eq=False)
class JobKind:
    """One type of job.

    `queue` has the rows that may have this job, whenever they are due. `lane` leads from a row to
    its sender ("" if there is none): lanes take turns. `order` is the priority in the sweep, the
    most urgent first. The sweep runs a job itself after sending it to the workers `patience` times
    without success. Each round of the sweep sends `batch` rows. A job of one short transaction that
    ends with `Job.finish` needs no lease (`is_leased`): a second worker changes nothing.
    """

    name: str
    queue: QuerySet[Any] = field(repr=False)  # its repr would query the database
    work: Callable[[Any], None]
    lane: str
    order: int
    patience: int
    is_leased: bool
    batch: int

    @property
    def task(self) -> str:
        return f"jobs.{self.name}"

    def due(self, now: dt.datetime | Given) -> QuerySet[Any]:
        """Return the rows to process now, without dead letters."""
        return self.queue.filter(due_at__lte=now, parked_at=None, **self.queue.model.WITH_JOB)

    @cached_property
    def _due_row(self) -> PlannedSelect:
        due = self.due(Given("now", DateTimeField()))
        return PlannedSelect(due.filter(pk=Given("pk", BigIntegerField())).order_by("pk")[:1])

    def __call__(self, pk: int) -> None:
        """Do one row's job if it is due. This may run twice, late, or never."""
        row = self._due_row.first(now=timezone.now(), pk=pk)
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
                # This doesn't count as an attempt, and earlier ones still count.
                is_postponed = row.postpone(later.at, failures=failures)
                # The sweep would find it only seconds later, and slots would be wasted until then.
                if is_postponed and later.at - timezone.now() < SOON:
                    publish_task(self.task, row.pk, later.at)
            except Exception as error:
                if database_answers():
                    row.fail(error, failures=failures + 1)
                raise

    def run(self, pk: int) -> None:
        """Do one row's job as a worker's task, and then those it made due by `enqueue_next`."""
        rows = [(self.name, pk)]
        token = _NEXT.set(rows)
        try:
            for name, row in rows:  # the list grows while it is read
                _KINDS[name](row)
        finally:
            _NEXT.reset(token)

    def _park(self, row: Job) -> None:
        with transaction.atomic():
            if not row.give_up():
                return
            facts = {
                "failures": row.failures,
                "last_error": row.last_error,
                "parked_at": row.parked_at,
            }
            DeadLetter.objects.update_or_create(job=self.name, row=row.pk, defaults=facts)
        logger.error(
            "dead_letter", extra={"job": self.name, "row": row.pk, "error": row.last_error}
        )


def job(
    name: str,
    *,
    queue: QuerySet[Any],
    order: int,
    lane: str = "",
    patience: int = 1,
    is_leased: bool = True,
    batch: int = BATCH,
) -> Callable[[Callable[[Any], None]], JobKind]:
    """Register the decorated function as a job type, with its task and its place in the sweep."""

    if name in _KINDS:
        raise ValueError(f"there is a job {name!r} already")

    def register(work: Callable[[Any], None]) -> JobKind:
        kind = _KINDS[name] = JobKind(name, queue, work, lane, order, patience, is_leased, batch)

        @shared_task(name=kind.task)
        def run(pk: int) -> None:
            kind.run(pk)

        return kind

    return register


def all_kinds() -> list[JobKind]:
    """Return all types, the most urgent first."""
    return sorted(_KINDS.values(), key=lambda kind: kind.order)


def kind_of(name: str) -> JobKind | None:
    return _KINDS.get(name)


def enqueue(name: str, *rows: int) -> None:
    """Notify the workers of due rows after the commit. The sweep finds any that they miss."""
    if rows:
        transaction.on_commit(partial(_publish_all, _KINDS[name].task, rows))


def enqueue_next(name: str, row: int) -> None:
    """Make this worker do a due row's job right after its own, which saves a message.

    Outside a worker, this notifies the workers. The sweep finds the row if this process ends first.
    """
    rows = _NEXT.get()
    if rows is None:
        enqueue(name, row)
    else:
        transaction.on_commit(partial(rows.append, (name, row)))


def _publish_all(task: str, rows: tuple[int, ...]) -> None:
    for pk in rows:
        if not publish_task(task, pk):
            break


@dataclass(frozen=True)
class Chore:
    name: str
    every: dt.timedelta
    do: Callable[[dt.datetime], object]


_CHORES: dict[str, Chore] = {}
Do = TypeVar("Do", bound=Callable[[dt.datetime], object])


def chore(name: str, *, every: float = 0) -> Callable[[Do], Do]:
    """Register a check to run every few seconds, or in each round.

    It may run in several processes at the same time.
    """

    def register(do: Do) -> Do:
        _CHORES[name] = Chore(name, dt.timedelta(seconds=every * settings.TIME_SCALE), do)
        return do

    return register


def all_chores() -> list[Chore]:
    """Return all periodic tasks, the most frequent first."""
    return sorted(_CHORES.values(), key=lambda chore: chore.every)
