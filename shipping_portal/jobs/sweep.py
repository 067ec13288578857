"""Looks for what is due, hands it to the workers, and does it itself when nobody takes it.

A plain process, not a Celery task, so that a lost, doubled or late message, or no broker at all, changes nothing.
"""

import datetime as dt
import logging
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event

from django.conf import settings
from django.db import Error, close_old_connections
from django.db.models import F, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from shipping_portal.celery import publish
from shipping_portal.jobs.chores import chores
from shipping_portal.jobs.models import lease
from shipping_portal.jobs.registry import Kind, kinds
from shipping_portal.outage import database_answers

logger = logging.getLogger(__name__)
BATCH = 50
OWN_WORK_SECONDS = 10.0  # after this long no further row of a kind is begun here, so none starves the rest
FORGET_AFTER = 20  # leases


@dataclass
class Sweep:
    """One sweeping process. Its memory only saves work: losing it costs a few messages and an early chore.

    `handed` is how often in a row it handed a row to the workers in vain, and until when it holds it for them.
    """

    stop: Event = field(default_factory=Event)
    handed: dict[tuple[str, int], tuple[int, dt.datetime]] = field(default_factory=dict)
    chore_due_at: dict[str, dt.datetime] = field(default_factory=dict)

    def run(self) -> None:
        """Sweep until `stop` is set; a database that is away is waited for."""
        while not self.stop.is_set():
            done = self.once_or_log()
            if done:
                logger.info("swept", extra={"done": dict(done)})
            self.stop.wait(settings.SWEEP_SECONDS)

    def once_or_log(self) -> Counter[str]:
        """A round and the chores after it. Only a database that is away ends it early."""
        done: Counter[str] = Counter()
        try:
            close_old_connections()
            done = self.once()
            self._do_chores()
        except Error as error:
            logger.warning("database_unreachable", extra={"error": type(error).__name__})
        return done

    def once(self, swept: Collection[Kind] = ()) -> Counter[str]:
        """One look at every kind. Counts rows as `book handed over`, `book done`, `book failed` and so on."""
        counts: Counter[str] = Counter()
        for kind in swept or kinds():
            with guarded(kind.name):
                self._sweep(kind, counts)
        self._forget()
        return counts

    def _sweep(self, kind: Kind, counts: Counter[str]) -> None:
        """Hand over what the workers have not missed before; the rest is done here."""
        rows = due(kind, timezone.now())
        handed = self._hand_over(kind, rows)
        if handed:
            counts[f"{kind.name} handed over"] += len(handed)
        own_work_ends = time.monotonic() + OWN_WORK_SECONDS
        for pk in rows:
            if self.stop.is_set() or time.monotonic() > own_work_ends:
                break
            if pk not in handed:
                counts[f"{kind.name} {self._work(kind, pk)}"] += 1

    def _hand_over(self, kind: Kind, rows: dict[int, dt.datetime]) -> set[int]:
        """Hold these rows for the workers, for as long as their messages live; returns those that a broker took.

        The hold is the new `due_at`, which the message names: of a row one message is good at a time, in however
        many processes the sweep runs. A worker that is faster than the UPDATE below has claimed the row by then.
        """
        token, handed = timezone.now() + lease(), set()
        for pk, due_at in rows.items():
            missed = self._missed(kind, pk, due_at)
            if missed >= kind.patience:
                continue
            if self.stop.is_set() or not publish(kind.task, pk, token.isoformat()):
                break
            self.handed[kind.name, pk] = (missed + 1, token)
            handed.add(pk)
        # Of the row alone, not of the kind's queue: joined to other tables, PostgreSQL would not look again at a row
        # that a worker claimed at this moment, and would take it from that worker.
        rows_themselves = kind.queue.model._default_manager.filter(parked_at=None, pk__in=handed)
        rows_themselves.filter(due_at__lte=timezone.now()).update(due_at=token)
        return handed

    def _missed(self, kind: Kind, pk: int, due_at: dt.datetime) -> int:
        """How often the workers let the row's message pass: each time it is due again just when its hold ended."""
        times, token = self.handed.get((kind.name, pk), (0, None))
        return times if due_at == token else 0

    def _work(self, kind: Kind, pk: int) -> str:
        self.handed.pop((kind.name, pk), None)
        went_well = False
        with guarded(kind.name, pk):
            kind(pk)
            went_well = True
        return "done" if went_well else "failed"

    def _forget(self) -> None:
        """Rows that were not due again for a while are settled."""
        old = timezone.now() - FORGET_AFTER * lease()
        self.handed = {key: handed for key, handed in self.handed.items() if handed[1] > old}

    def _do_chores(self) -> None:
        now = timezone.now()
        for chore in chores():
            if self.chore_due_at.get(chore.name, now) <= now:
                self.chore_due_at[chore.name] = now + chore.every
                with guarded(chore.name):
                    chore.do(now)


@contextmanager
def guarded(what: str, row: int | None = None) -> Iterator[None]:
    """Log what goes wrong inside, then go on after it: one broken row or step must not stop the rest.

    Raises only while the database itself does not answer: a lock, a deadlock or a time limit is one row's trouble.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, Error) and not database_answers():
            raise
        logger.exception("sweep_failed", extra={"job": what, "row": row})


def due(kind: Kind, now: dt.datetime) -> dict[int, dt.datetime]:
    """At most BATCH due rows and since when they are: longest first, one of every lane before the second of any."""
    rows, order = kind.due(now), ["due_at"]
    if kind.lane:
        turn = Window(RowNumber(), partition_by=F(kind.lane), order_by=F("due_at").asc())
        rows, order = rows.annotate(turn=turn), ["turn", "due_at"]
    return dict(rows.order_by(*order).values_list("pk", "due_at")[:BATCH])
