"""The columns of a row that work is owed for, and the only ways in which a worker changes them."""

import datetime as dt
import traceback
from pathlib import Path
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

UNDER_WAY = "the process stopped before the try ended"
PARK_AFTER = 5
REST = dt.timedelta(seconds=60 * settings.TIME_SCALE)  # after a try that raised
MOST_TRIES = 30_000  # the column is a small integer


def lease() -> dt.timedelta:
    """Return how long a worker may keep a row without saying so again, and how long a message about one is good."""
    return dt.timedelta(seconds=settings.LEASE_SECONDS)


class Job(models.Model):
    """A row that may be owed work: inherited by the row the work is about, and committed with its cause.

    `due_at` is not-before, lease and retry time in one; empty, nothing is owed. `tries` counts tries that ended in
    order and were to be made again. `failures` counts tries in a row that raised, or took their process with them: each
    is written down before it begins, where it needs a lease. After PARK_AFTER of them the row is a dead letter, until
    a person lets it go on.

    Every change below is a compare-and-swap on what this worker last saw: it returns False, and writes nothing, once
    the lease ran out and another worker or a person has changed the row.
    """

    due_at = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    failures = models.PositiveSmallIntegerField(default=0)
    last_error = models.CharField(max_length=300, blank=True)
    parked_at = models.DateTimeField(null=True, blank=True)

    JOB: ClassVar[tuple[str, ...]] = ("due_at", "tries", "failures", "last_error", "parked_at")
    FENCE: ClassVar[tuple[str, ...]] = ()  # what must be unchanged besides `due_at`
    # Written wherever a row begins to owe other work than before.
    NOTHING_WENT_WRONG: ClassVar[dict[str, Any]] = {"failures": 0, "last_error": "", "parked_at": None}
    AFRESH: ClassVar[dict[str, Any]] = {"tries": 0, **NOTHING_WENT_WRONG}

    _held: frozenset[dt.datetime | None] = frozenset()  # every `due_at` that this worker wrote

    class Meta:
        abstract = True

    def claim(self) -> bool:
        """Take the row for one lease. True for exactly one of any number of workers that saw it due."""
        return self.change(due_at=timezone.now() + lease(), failures=self.failures + 1, last_error=UNDER_WAY)

    def hold(self) -> bool:
        """Work on the row as it was read, without a lease."""
        self._held |= {self.due_at}
        return True

    def renew(self, until: dt.datetime | None = None, **changes: Any) -> bool:
        """Keep the row for one more lease, and write `changes` with it."""
        return self.change(due_at=until or timezone.now() + lease(), **changes)

    def finish(self, **changes: Any) -> bool:
        """Owe nothing any more, and write `changes` with it."""
        return self.change(**{"due_at": None, **self.NOTHING_WENT_WRONG} | changes)

    def retry(self, at: dt.datetime, **changes: Any) -> bool:
        """Owe the same again from `at` on: this try ended in order, without what was wanted."""
        tries = min(self.tries + 1, MOST_TRIES)
        return self.change(**{"due_at": at, **self.NOTHING_WENT_WRONG, "tries": tries} | changes)

    def postpone(self, at: dt.datetime, **changes: Any) -> bool:
        """Owe the same from `at` on: nothing was tried, as it was not the time for it."""
        return self.change(**{"due_at": at, **self.NOTHING_WENT_WRONG} | changes)

    def fail(self, error: Exception, *, failures: int) -> bool:
        """Let the row rest after a try that raised; which kind of error and where is kept, not its text.

        `failures` in a row there were with this one.
        """
        # Held until any time this worker wrote: what it wrote last may have been rolled back by the error.
        mine = type(self)._default_manager.filter(pk=self.pk, due_at__in=self._held)
        # `KeyError at labels.py 88 in _fetch`; the error's text is left out, as it may name a person.
        frames = traceback.extract_tb(error.__traceback__)
        place = f" at {Path(frames[-1].filename).name} {frames[-1].lineno} in {frames[-1].name}" if frames else ""
        written = f"{type(error).__name__}{place}"[:300]
        return bool(mine.update(due_at=timezone.now() + REST, failures=failures, last_error=written))

    def give_up(self) -> bool:
        """Park the row: nobody works on it until a person lets it go on (see dead_letters)."""
        return self.change(parked_at=timezone.now())

    def change(self, **changes: Any) -> bool:
        """Write `changes` if the row is as this worker last saw it."""
        seen = {name: getattr(self, name) for name in ("due_at", *self.FENCE)}
        if not type(self)._default_manager.filter(pk=self.pk, **seen).update(**changes):
            return False
        for name, value in changes.items():
            setattr(self, name, value)
        self._held |= {self.due_at}
        return True


class DeadLetter(models.Model):
    """A row that no worker takes any more until a person has looked at it; deleted once it may be tried again."""

    job = models.CharField(max_length=20)
    row = models.PositiveBigIntegerField()
    failures = models.PositiveSmallIntegerField()
    last_error = models.CharField(max_length=300, blank=True)
    parked_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "row"], name="one_dead_letter_a_row")]

    def __str__(self) -> str:
        return f"{self.job} {self.row}"
