"""A job's columns, and the only ways for a worker to change them."""

import datetime as dt
import random
import traceback
from pathlib import Path
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from shipping_portal.db.planned_statements import update_row

UNDER_WAY = "the process stopped before the try ended"
PARK_AFTER = 5
REST = dt.timedelta(seconds=60 * settings.TIME_SCALE)  # after an attempt that raised
MOST_TRIES = 30_000  # the column is a small integer


def lease_time() -> dt.timedelta:
    """Return how long a worker may hold a row without renewing, and how long a message lives."""
    return dt.timedelta(seconds=settings.LEASE_SECONDS)


def backoff(tries: int, *, first: float = 1.0, cap: float = 300.0) -> dt.timedelta:
    """Return a random wait below a doubling delay: first, 2 × first, … up to `cap` seconds.

    It is scaled like the leases.
    """
    ceiling = min(cap, first * 2 ** min(tries, 20)) * settings.TIME_SCALE
    # Jitter, not a secret.
    return dt.timedelta(seconds=random.uniform(ceiling * 0.1, ceiling))  # noqa: S311


def due_index(name: str) -> models.Index:
    """Return the index by which the sweep finds a table's jobs."""
    return models.Index(fields=["due_at"], name=name, condition=models.Q(due_at__isnull=False))


class Job(models.Model):
    """A job's columns, inherited by the row that the job is about, so both are committed together.

    `due_at` serves as not-before, lease and retry time; if it is empty, there is no job. `tries`
    counts attempts that ended normally but must be repeated. `failures` counts consecutive attempts
    that raised or crashed their process. If a job needs a lease, each attempt is stored before it
    begins. After PARK_AFTER of them the row is a dead letter, until a person retries it.

    Every change below is a compare-and-swap on what this worker last saw: it returns False, and
    writes nothing, if the lease has ended and another worker or a person has changed the row.
    """

    due_at = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    failures = models.PositiveSmallIntegerField(default=0)
    last_error = models.CharField(max_length=300, blank=True)
    parked_at = models.DateTimeField(null=True, blank=True)

    JOB: ClassVar[tuple[str, ...]] = ("due_at", "tries", "failures", "last_error", "parked_at")
    FENCE: ClassVar[tuple[str, ...]] = ()  # columns that must be unchanged, besides `due_at`
    # Finds rows with a job by an index that doesn't include `due_at`.
    WITH_JOB: ClassVar[dict[str, Any]] = {}
    # This changes whenever the row gets a different job.
    NOTHING_WENT_WRONG: ClassVar[dict[str, Any]] = {
        "failures": 0,
        "last_error": "",
        "parked_at": None,
    }
    AFRESH: ClassVar[dict[str, Any]] = {"tries": 0, **NOTHING_WENT_WRONG}

    _held: frozenset[dt.datetime | None] = frozenset()  # every `due_at` written by this worker

    class Meta:
        abstract = True

    def claim(self) -> bool:
        """Claim the row for one lease. True for exactly one of any number of workers."""
        return self.change(
            due_at=timezone.now() + lease_time(), failures=self.failures + 1, last_error=UNDER_WAY
        )

    def hold(self) -> bool:
        """Work on the row as read, without a lease."""
        self._held |= {self.due_at}
        return True

    def renew(
        self, until: dt.datetime | None = None, added: models.Model | None = None, /, **changes: Any
    ) -> bool:
        """Renew the lease, and write `changes` and an `added` row with it."""
        return self.change(added, due_at=until or timezone.now() + lease_time(), **changes)

    def finish(self, **changes: Any) -> bool:
        """End the job, and write `changes` with it."""
        return self.change(**{"due_at": None, **self.NOTHING_WENT_WRONG} | changes)

    def retry(self, at: dt.datetime, **changes: Any) -> bool:
        """Repeat the job at or after `at`: this attempt ended normally but without a result."""
        tries = min(self.tries + 1, MOST_TRIES)
        return self.change(**{"due_at": at, **self.NOTHING_WENT_WRONG, "tries": tries} | changes)

    def postpone(self, at: dt.datetime, **changes: Any) -> bool:
        """Run the job at or after `at`: nothing was attempted, because it was too early."""
        return self.change(**{"due_at": at, **self.NOTHING_WENT_WRONG} | changes)

    def try_later(self, now: dt.datetime, seconds: float | None = None) -> bool:
        """Make the same job due again after this many seconds, or after a back-off.

        The seconds are what the carrier requested.
        """
        return self.retry(
            now + (backoff(self.tries) if seconds is None else dt.timedelta(seconds=seconds))
        )

    def fail(self, error: Exception, *, failures: int) -> bool:
        """Back off after an attempt that raised.

        The error's type and place are stored, not its text.

        `failures` is the number of consecutive failures, including this one.
        """
        # Compared with any time this worker wrote: the error may have rolled back the last one.
        mine = type(self)._default_manager.filter(pk=self.pk, due_at__in=self._held)
        # `KeyError at labels.py 88 in _fetch`, without the error's text, which may name a person.
        frames = traceback.extract_tb(error.__traceback__)
        place = (
            f" at {Path(frames[-1].filename).name} {frames[-1].lineno} in {frames[-1].name}"
            if frames
            else ""
        )
        written = f"{type(error).__name__}{place}"[:300]
        return bool(
            mine.update(due_at=timezone.now() + REST, failures=failures, last_error=written)
        )

    def give_up(self) -> bool:
        """Park the row: no worker takes it until a person retries it (see dead_letters)."""
        return self.change(parked_at=timezone.now())

    def change(self, added: models.Model | None = None, /, **changes: Any) -> bool:
        """Write `changes` and an `added` row, if this row is as this worker last saw it."""
        seen = {name: getattr(self, name) for name in ("due_at", *self.FENCE)}
        if not update_row(self, seen, changes, added):
            return False
        for name, value in changes.items():
            setattr(self, name, value)
        self._held |= {self.due_at}
        return True


class WideJob(Job):
    """A job on a wide row with many indexes, none of which includes one of the job's columns.

    So PostgreSQL writes a claim, a new lease or a later time without touching an index. The index
    of rows with a job uses `has_job`, which changes when a job begins or ends.
    """

    has_job = models.GeneratedField(
        expression=models.ExpressionWrapper(
            models.Q(due_at__isnull=False), output_field=models.BooleanField()
        ),
        output_field=models.BooleanField(),
        db_persist=True,
    )

    WITH_JOB: ClassVar[dict[str, Any]] = {"has_job": True}

    class Meta:
        abstract = True


class DeadLetter(models.Model):
    """A row that no worker takes until a person has looked at it; deleted when it is retried."""

    job = models.CharField(max_length=20)
    row = models.PositiveBigIntegerField()
    failures = models.PositiveSmallIntegerField()
    last_error = models.CharField(max_length=300, blank=True)
    parked_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "row"], name="one_dead_letter_a_row")]

    def __str__(self) -> str:
        return f"{self.job} {self.row}"
