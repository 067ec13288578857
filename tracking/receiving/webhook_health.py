"""Watch webhooks: downtime without storing, catch-up polling, and what polling found first.

The carrier repeats a delivery up to three times and then never again. So each process that receives
deliveries stores its time every few seconds; the first beat after a longer silence makes polls of
all active parcels due.
"""

import datetime as dt
import logging
import threading
from typing import Self

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from orders.calling import gateway
from orders.calling.contract import contract_of
from orders.models import CarrierAccount
from shipping_portal.jobs.models import UNDER_WAY
from tracking.models import LastTime, Parcel, Poll, TrackingEvent, WebhookDelivery

logger = logging.getLogger(__name__)
AWAY_SECONDS = 60.0
BEATS = 4  # in that time
# Polls are brought forward in slots, one statement each.
SLOT_SECONDS = 10.0


class Heartbeat(threading.Thread):
    """Beats while its process lives and reaches the database. One of several per name is enough."""

    def __init__(self, name: str) -> None:
        super().__init__(name=f"heartbeat of {name}", daemon=True)
        self.of = name
        self.stopped = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.stopped.set()
        self.join()

    def run(self) -> None:
        while not self.stopped.is_set():
            self._beat_or_miss()
            self.stopped.wait(AWAY_SECONDS * settings.TIME_SCALE / BEATS)

    def _beat_or_miss(self) -> None:
        try:
            record_beat(self.of, now=timezone.now())
        except (OperationalError, InterfaceError) as error:
            # Don't beat: while the database is down nothing is stored, and the next beat includes
            # that time.
            logger.warning("beat_missed", extra={"of": self.of, "error": type(error).__name__})
        finally:
            connection.close()


def record_beat(name: str, *, now: dt.datetime) -> int | None:
    """Store the time. Return how many polls were brought forward after an absence, else None."""
    # A beat that dies while catching up doesn't count: the next one begins again.
    with transaction.atomic():
        last = LastTime.move(name, now=now)
        if last is None or now - last < dt.timedelta(seconds=AWAY_SECONDS * settings.TIME_SCALE):
            return None
        moved = catch_up(now)
    logger.warning(
        "was_away", extra={"of": name, "seconds": (now - last).total_seconds(), "polls": moved}
    )
    return moved


def catch_up(now: dt.datetime) -> int:
    """Poll every active parcel soon, at its carrier's rate, none later than it was due.

    Limited to what the rate allows in one interval: the rest become due in that time anyway.
    """
    return sum(_catch_up(account, now) for account in gateway.all_accounts())


def _catch_up(account: CarrierAccount, now: dt.datetime) -> int:
    rate = contract_of(account).tracking_per_second
    active = list(waiting_polls(account, now)[: max(1, int(rate * settings.POLL_SECONDS))])
    each = max(1, int(rate * SLOT_SECONDS))
    moved = 0
    for start in range(0, len(active), each):
        slot = now + dt.timedelta(seconds=start / rate)
        chunk = Poll.objects.filter(pk__in=active[start : start + each], due_at__gt=slot)
        moved += chunk.update(due_at=slot)
    return moved


def waiting_polls(account: CarrierAccount, now: dt.datetime) -> QuerySet[Poll, int]:
    """Return the polls of its active parcels by key, those due soonest first."""
    # Not `parcel__account`: SQLite would read and sort all parcels the account ever had.
    theirs = Exists(Parcel.objects.filter(pk=OuterRef("parcel"), account=account))
    active = Poll.objects.filter(theirs, due_at__gt=now, parked_at=None)
    return active.exclude(last_error=UNDER_WAY).order_by("due_at").values_list("pk", flat=True)


WINDOW = dt.timedelta(hours=1)
ALARM = 3  # so many in one window
# A poll may overtake a delivery in transit; that is no gap.
HEAD_START = dt.timedelta(minutes=1)
LATE_AFTER = dt.timedelta(minutes=15)
SILENT_AFTER, SILENT_LOOKS_BACK = dt.timedelta(hours=6), dt.timedelta(days=7)

POLLED_FIRST = Q(source=TrackingEvent.Source.POLL) & (
    Q(pushed_at=None) | Q(pushed_at__gt=F("received_at") + HEAD_START)
)
LATE = Q(pushed_at__gt=F("scan_time") + LATE_AFTER)


def missing_webhooks() -> QuerySet[TrackingEvent]:
    """Match scans that the carrier should have sent by webhook: of our orders and subscriptions."""
    subscribed = Q(
        parcel__subscription=Parcel.Subscription.ON, scan_time__gte=F("parcel__created_at")
    )
    return TrackingEvent.objects.filter(Q(parcel__order__isnull=False) | subscribed)


def found_first_by_polling(
    now: dt.datetime, *, within: dt.timedelta = WINDOW
) -> QuerySet[TrackingEvent]:
    return missing_webhooks().filter(
        POLLED_FIRST, received_at__gt=now - within, received_at__lte=now
    )


def silent_since(account: CarrierAccount, now: dt.datetime) -> dt.datetime | None:
    """Return since when only polling has brought the account's scans, for hours without a webhook.

    For the few parcels of a small shop, or a listener that the carrier never knew.
    """
    found = found_first_by_polling(now, within=SILENT_LOOKS_BACK).filter(account=account)
    last = list(found.order_by("-received_at").values_list("received_at", flat=True)[:ALARM])
    if len(last) < ALARM or last[-1] > now - SILENT_AFTER:
        return None
    pushed = WebhookDelivery.objects.filter(
        account=account, polled_for="", received_at__gt=last[-1]
    )
    return None if pushed.exists() else last[-1]


def is_alarmed(account: CarrierAccount, now: dt.datetime) -> bool:
    """Return whether this account's deliveries get lost, even if other accounts' arrive.

    One query on the index of what polling found first; it never counts further than the alarm.
    """
    found = found_first_by_polling(now).filter(account=account)
    return len(found.values_list("pk", flat=True)[:ALARM]) == ALARM
