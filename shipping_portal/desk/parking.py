"""Work that fails again and again is set aside, so that it neither runs for ever nor holds up the rest.

A try is written down before it begins and struck out after it went well. So a crash that takes the whole process
with it (a segmentation fault, out of memory, kill -9) counts like any other failure.
"""

import datetime as dt
import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet

from orders.models import StuckWork
from shipping_portal.accounts.models import Audit, User
from shipping_portal.desk.outage import database_answers

logger = logging.getLogger(__name__)
PARK_AFTER = 5
REST = dt.timedelta(seconds=60 * settings.TIME_SCALE)  # between two tries of a row that failed
FORGET_AFTER = dt.timedelta(hours=1)  # by then others did the work: failures far apart are not in a row
NO_END = "the process stopped before the try had ended"


class Gone(Exception):
    """Somebody else let it try again already; the text is for the operator."""


def parked(journey: str) -> Exists:
    """A condition on a journey's rows: set aside until an operator lets it try again."""
    return Exists(_notes(journey).filter(failures__gte=PARK_AFTER))


def resting(journey: str, now: dt.datetime) -> Exists:
    """A condition on a journey's rows: being tried by a sweeper now, or failed a moment ago."""
    return Exists(_notes(journey).filter(last_at__gt=now - REST))


@contextmanager
def counted(journey: str, row: int, now: dt.datetime) -> Iterator[None]:
    """One try of one row, done inside. Outside any transaction: the note has to outlive this process.

    What goes wrong inside is noted and raised on.
    """
    _begin(journey, row, now)
    try:
        yield
    except Exception as error:
        if database_answers():
            StuckWork.objects.filter(journey=journey, row=row).update(last_error=_placed(error)[:300])
        raise
    StuckWork.objects.filter(journey=journey, row=row).delete()  # what failed before is forgotten


def settle(now: dt.datetime) -> None:
    """Park what has failed five times, and forget what did not fail again for an hour."""
    StuckWork.objects.filter(failures__lt=PARK_AFTER, last_at__lt=now - FORGET_AFTER).delete()
    spent = StuckWork.objects.filter(failures__gte=PARK_AFTER, parked_at=None, last_at__lte=now - REST)
    for note in spent:
        if StuckWork.objects.filter(pk=note.pk, parked_at=None).update(parked_at=now):
            extra = {"journey": note.journey, "row": note.row, "error": note.last_error}
            logger.error("work_parked", extra=extra)


def try_again(note: StuckWork, *, by: User, reason: str, now: dt.datetime) -> None:
    """Its five tries begin anew, at the next sweep. Raises Gone."""
    with transaction.atomic():
        if not StuckWork.objects.filter(pk=note.pk, parked_at__isnull=False).delete()[0]:
            raise Gone("It is not parked any more.")
        Audit.write("parked work tried again", note, by=by, reason=f"{note}: {reason}", at=now)


def _begin(journey: str, row: int, now: dt.datetime) -> None:
    """Count one more try, committed before the work is touched."""
    fresh = {"failures": 1, "last_error": NO_END, "first_at": now, "last_at": now}
    note, made = StuckWork.objects.get_or_create(journey=journey, row=row, defaults=fresh)
    if not made:
        again = StuckWork.objects.filter(pk=note.pk)
        again.update(failures=F("failures") + 1, last_error=NO_END, last_at=now)


def _notes(journey: str) -> QuerySet[StuckWork]:
    return StuckWork.objects.filter(journey=journey, row=OuterRef("pk"))


def _placed(error: Exception) -> str:
    """`KeyError at labels.py 88 in _fetch`. Which kind of error and where; its text may name a person."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name} {frames[-1].lineno} in {frames[-1].name}" if frames else ""
    return f"{type(error).__name__}{place}"
