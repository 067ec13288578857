"""Looks for what is due, hands it to the workers, and does it itself when nobody takes it.

A plain process, not a Celery task, so that a lost, doubled or late message, or no broker at all, changes nothing.
"""

import datetime as dt
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from django.conf import settings
from django.db import Error, close_old_connections
from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from orders import awaiting_prices, booking, cancelling, labels, reminders, replacing, resolving
from orders.billing import checking as billing
from orders.billing import matching
from orders.importing import booking as importing
from orders.importing import checking, finishing
from orders.models import BillingReport, Export, ImportRow, Label, Order, Replacement
from orders.models.statuses import Status
from shipping_portal.accounts import mailing
from shipping_portal.accounts.models import Notice
from shipping_portal.celery import nudge
from shipping_portal.desk import gaps, parking, pausing, retention
from shipping_portal.desk.outage import database_answers
from tracking import intake, polling, scans
from tracking.exporting import packing
from tracking.models import Parcel, WebhookDelivery

logger = logging.getLogger(__name__)
BATCH = 50
NUDGES = 3  # a row still due after so many is done here
PATIENCE = 60  # of what takes minutes, and would hold up the sweep, so long as there is a broker
OWN_WORK_SECONDS = 10.0  # after this long no further row of a journey is begun here, so none starves the rest
UNREAD_AFTER = dt.timedelta(seconds=10)
RETENTION_EVERY = dt.timedelta(hours=1)
REMINDERS_EVERY = dt.timedelta(seconds=60 * settings.TIME_SCALE)

Due = Callable[[dt.datetime], QuerySet[Any]]


@dataclass(frozen=True)
class Journey:
    """One kind of owed work: which rows, the task that is nudged, and the same work done here.

    `sender` leads from a row to its sender; "" where rows have none. `nudges` are given before it is done here.
    """

    name: str
    task: str
    due: Due
    work: Callable[[int], None]
    due_field: str = "due_at"
    sender: str = "sender"
    nudges: int = NUDGES


def _orders(*statuses: str) -> Due:
    return lambda now: Order.objects.filter(status__in=statuses, due_at__lte=now)


def _labels(now: dt.datetime) -> QuerySet[Any]:
    return Label.objects.filter(due_at__lte=now).exclude(state=Label.State.STORED)


def _notices(now: dt.datetime) -> QuerySet[Any]:
    return Notice.objects.filter(due_at__lte=now)


def _reports(now: dt.datetime) -> QuerySet[Any]:
    return BillingReport.objects.filter(state=BillingReport.State.READING, due_at__lte=now)


def _exports(now: dt.datetime) -> QuerySet[Any]:
    return Export.objects.filter(due_at__lte=now)


def _folds(now: dt.datetime) -> QuerySet[Any]:
    return Parcel.objects.filter(fold_due_at__lte=now)


def _unread(now: dt.datetime) -> QuerySet[Any]:
    """A delivery is read where it is received; one that is not was left by a crash."""
    new = WebhookDelivery.State.NEW
    return WebhookDelivery.objects.filter(state=new, received_at__lte=now - UNREAD_AFTER)


# In the order in which waiting hurts: money first, then what a sender looks at, then what can wait.
JOURNEYS = (
    Journey("book", "orders.tasks.book", _orders(Status.BOOKING), booking.work),
    Journey("resolve", "orders.tasks.resolve", _orders(Status.UNCONFIRMED), resolving.work),
    Journey(
        "cancel",
        "orders.tasks.cancel",
        _orders(Status.CANCELLING, Status.CANCEL_UNCONFIRMED),
        cancelling.work,
    ),
    Journey(
        "replace",
        "orders.tasks.replace",
        Replacement.objects.answered,
        replacing.work,
        due_field="asked_at",
        sender="order__sender",
    ),
    Journey("open", "tracking.tasks.open_parcel", _orders(*polling.TRACKED), polling.open_parcel),
    Journey("label", "orders.tasks.fetch_label", _labels, labels.work, sender="order__sender"),
    Journey("read", "tracking.tasks.read_delivery", _unread, intake.read, due_field="received_at", sender=""),
    Journey("fold", "tracking.tasks.project", _folds, scans.project, "fold_due_at", "order__sender"),
    Journey(
        "book a row",
        "orders.tasks.book_row",
        ImportRow.objects.to_book,
        importing.work,
        sender="file__sender",
    ),
    Journey(
        "check a row",
        "orders.tasks.check_row",
        ImportRow.objects.to_check,
        checking.work,
        sender="file__sender",
    ),
    Journey(
        "prices",
        "orders.tasks.ask_again",
        awaiting_prices.due,
        awaiting_prices.work,
        sender="draft__sender",
    ),
    Journey("news", "shipping_portal.accounts.tasks.mail", _notices, mailing.work),
    Journey("report", "orders.tasks.read_report", _reports, billing.work, sender=""),
    Journey("poll", "tracking.tasks.poll", Parcel.objects.due, polling.work, "poll_due_at", "order__sender"),
    Journey("export", "tracking.tasks.pack", _exports, packing.work, nudges=PATIENCE),
)


@dataclass
class Seen:
    """What this process remembers of a row that was due: how often it was nudged, and until when it is left alone."""

    nudges: int
    rests_until: dt.datetime


@dataclass
class Sweep:
    """One sweeping process. Its memory only saves work: losing it costs a few nudges."""

    stop: Event = field(default_factory=Event)
    seen: dict[tuple[str, int], Seen] = field(default_factory=dict)
    retention_due_at: dt.datetime | None = None
    reminders_due_at: dt.datetime | None = None

    def run(self) -> None:
        """Sweep until `stop` is set; a database that is away is waited for."""
        while not self.stop.is_set():
            done = self.once_or_log()
            if done:
                logger.info("swept", extra={"done": dict(done)})
            self.stop.wait(settings.SWEEP_SECONDS)

    def once_or_log(self) -> Counter[str]:
        """A round and the housekeeping after it. Only a database that is away ends it early."""
        done: Counter[str] = Counter()
        try:
            close_old_connections()
            done = self.once()
            self._keep_house()
        except Error as error:
            logger.warning("database_unreachable", extra={"error": type(error).__name__})
        return done

    def once(self, journeys: Collection[Journey] = JOURNEYS) -> Counter[str]:
        """One look at every journey. Counts what was nudged, done here and failed, as `book nudged` and so on."""
        counts: Counter[str] = Counter()
        with going_on("parking"):
            parking.settle(timezone.now())
        for journey in journeys:
            with going_on(journey.name):
                self._sweep(journey, counts)
        self._forget()
        return counts

    def _sweep(self, journey: Journey, counts: Counter[str]) -> None:
        own_work_ends = time.monotonic() + OWN_WORK_SECONDS
        for pk in due(journey, timezone.now(), without=self._resting(journey)):
            if self.stop.is_set():
                break
            if self._nudged(journey, pk):
                counts[f"{journey.name} nudged"] += 1
            elif time.monotonic() < own_work_ends:
                counts[f"{journey.name} {self._work(journey, pk)}"] += 1

    def _nudged(self, journey: Journey, pk: int) -> bool:
        """Handed to a worker; False when the broker does not take it or the workers had their chances."""
        before = self.seen.get((journey.name, pk))
        nudges = before.nudges if before else 0
        if nudges >= journey.nudges or not nudge(journey.task, pk):
            return False
        # Left alone for most of a round, so that the next round reaches the rows behind it.
        rest = dt.timedelta(seconds=settings.SWEEP_SECONDS * 1.5)
        self.seen[journey.name, pk] = Seen(nudges + 1, timezone.now() + rest)
        return True

    def _work(self, journey: Journey, pk: int) -> str:
        self.seen.pop((journey.name, pk), None)
        went_well = False
        with going_on(journey.name, pk):
            with parking.counted(journey.name, pk, timezone.now()):
                journey.work(pk)
            went_well = True
        if not went_well:  # it rests for a minute, and the workers had their chances
            self.seen[journey.name, pk] = Seen(journey.nudges, timezone.now() + parking.REST)
        return "done" if went_well else "failed"

    def _resting(self, journey: Journey) -> list[int]:
        now = timezone.now()
        return [
            pk for (name, pk), seen in self.seen.items() if name == journey.name and seen.rests_until > now
        ]

    def _forget(self) -> None:
        """Rows that were not due again for ten minutes are settled."""
        old = timezone.now() - dt.timedelta(minutes=10)
        self.seen = {key: seen for key, seen in self.seen.items() if seen.rests_until > old}

    def _keep_house(self) -> None:
        now = timezone.now()
        with going_on("pauses"):
            pausing.end_what_is_over(now)
        with going_on("gaps"):
            gaps.report(now)
        with going_on("imports"):
            finishing.look(now)
        with going_on("charges"):
            matching.match_late()
        if self.reminders_due_at is None or self.reminders_due_at <= now:
            self.reminders_due_at = now + REMINDERS_EVERY
            with going_on("reminders"):
                reminders.look(now)
        if self.retention_due_at is None or self.retention_due_at <= now:
            self.retention_due_at = now + RETENTION_EVERY
            with going_on("retention"):
                retention.purge(now)


@contextmanager
def going_on(what: str, row: int | None = None) -> Iterator[None]:
    """Log what goes wrong inside, then go on after it: one broken row or step must not stop the rest.

    Raises only while the database itself does not answer: a lock, a deadlock or a time limit is one row's trouble.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, Error) and not database_answers():
            raise
        logger.exception("sweep_failed", extra={"journey": what, "row": row})


def owed(journey: Journey, now: dt.datetime) -> QuerySet[Any]:
    """All due rows that are not parked."""
    return journey.due(now).filter(~parking.parked(journey.name))


def due(journey: Journey, now: dt.datetime, *, without: Collection[int] = ()) -> list[int]:
    """At most BATCH due rows, longest due first, one of every sender before the second of any."""
    rows = owed(journey, now).filter(~parking.resting(journey.name, now)).exclude(pk__in=without)
    order = [journey.due_field]
    if journey.sender:
        turn = Window(RowNumber(), partition_by=F(journey.sender), order_by=F(journey.due_field).asc())
        rows, order = rows.annotate(turn=turn), ["turn", journey.due_field]
    return list(rows.order_by(*order).values_list("pk", flat=True)[:BATCH])
