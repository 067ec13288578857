"""Watch webhooks: gaps when nothing was stored, catch-up polls, and scans found first by polls.

The carrier repeats a delivery up to three times and then never again. So each process that receives
deliveries stores the time every few seconds; the first such beat after a longer silence makes polls
of all active parcels due.
"""

import datetime as dt
import logging
import threading
from typing import Self

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, models, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from orders.calling import gateway
from orders.calling.contract import contract_of
from orders.models import CarrierAccount
from shipping_portal.db.planned_statements import Given, PlannedSelect
from shipping_portal.jobs.models import UNDER_WAY
from shipping_portal.jobs.registry import chore
from tracking.models import LastTime, Parcel, Poll, TrackingEvent, WebhookDelivery

logger = logging.getLogger(__name__)
AWAY_SECONDS = 60.0
BEATS = 4  # beats within AWAY_SECONDS
# Polls are brought forward in slots, one statement each.
SLOT_SECONDS = 10.0


class Heartbeat(threading.Thread):
    """Beats while its process lives and reaches the database. One process per name is enough."""

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
            # Skip this beat: nothing is stored while the database is down, and the next beat covers
            # that time.
            logger.warning("beat_missed", extra={"of": self.of, "error": type(error).__name__})
        finally:
            connection.close()


def record_beat(name: str, *, now: dt.datetime) -> int | None:
    """Store the time. Return how many polls were brought forward after a silence, or None."""
    # A beat whose process dies while catching up doesn't count: the next beat starts over.
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
    """Poll every active parcel soon, at its carrier's rate, and no later than it was due.

    None is polled within an interval of its last poll.
    """
    return sum(_catch_up(account, now) for account in gateway.all_accounts())


def _catch_up(account: CarrierAccount, now: dt.datetime) -> int:
    waiting = Poll.objects.filter(pk__in=waiting_polls(account, now))
    waiting.update(is_optional=False)
    hour = dt.timedelta(seconds=settings.POLL_SECONDS)
    moved = waiting.filter(polled_at__gt=now - hour, due_at__gt=F("polled_at") + hour).update(
        due_at=F("polled_at") + hour
    )
    rate = contract_of(account).tracking_per_second
    active = list(waiting_polls(account, now).exclude(polled_at__gt=now - hour))
    each = max(1, int(rate * SLOT_SECONDS))
    for start in range(0, len(active), each):
        slot = now + dt.timedelta(seconds=start / rate)
        chunk = Poll.objects.filter(pk__in=active[start : start + each], due_at__gt=slot)
        moved += chunk.update(due_at=slot)
    return moved


def waiting_polls(account: CarrierAccount, now: dt.datetime) -> QuerySet[Poll, int]:
    """Return the polls of an account's active parcels by key, those due soonest first."""
    # Not `parcel__account`: SQLite would read and sort all parcels the account ever had.
    theirs = Exists(Parcel.objects.filter(pk=OuterRef("parcel"), account=account))
    active = Poll.objects.filter(theirs, due_at__gt=now, parked_at=None)
    return active.exclude(last_error=UNDER_WAY).order_by("due_at").values_list("pk", flat=True)


WINDOW = dt.timedelta(hours=1)
ALARM = 3  # this many scans in one window raise the alarm
# A poll may overtake a delivery in transit; that is no gap.
HEAD_START = dt.timedelta(minutes=1)
LATE_AFTER = dt.timedelta(minutes=15)
# What proves a webhook (docs/decisions/0049): this many scans in one window, and none missing for
# the time that it takes to poll every parcel.
PROOF, DOUBT = 3, dt.timedelta(hours=2)
# Only this many of the newest scans are read: if an hour had none, all scans ever made would be
# read each minute. An account with few scans among so many others is polled hourly, which costs
# little.
NEWEST_SCANS = 20_000
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
    """Return when webhooks stopped bringing the account's scans, if only polls have for hours.

    This covers the case of a small shop with few parcels, or of a listener that was never
    registered with the carrier.
    """
    found = found_first_by_polling(now, within=SILENT_LOOKS_BACK).filter(account=account)
    last = list(found.order_by("-received_at").values_list("received_at", flat=True)[:ALARM])
    if len(last) < ALARM or last[-1] > now - SILENT_AFTER:
        return None
    pushed = WebhookDelivery.objects.filter(
        account=account, polled_for="", received_at__gt=last[-1]
    )
    return None if pushed.exists() else last[-1]


FOUND_FIRST = PlannedSelect(
    missing_webhooks()
    .filter(
        POLLED_FIRST,
        received_at__gt=Given("since", models.DateTimeField()),
        received_at__lte=Given("now", models.DateTimeField()),
        account=Given("account", models.BigIntegerField()),
    )
    .only("pk")[:ALARM]
)


def is_alarmed(account: CarrierAccount, now: dt.datetime) -> bool:
    """Return whether this account's deliveries are being lost, even if others' arrive.

    One query on the index of what polling found first; it stops counting at the alarm.
    """
    return len(FOUND_FIRST.rows(since=now - WINDOW, now=now, account=account.pk)) == ALARM


@chore("webhook proof", every=60)
def update_webhook_proof(now: dt.datetime) -> None:
    """Note which accounts' webhooks are proven, and poll the parcels of any that no longer are.

    Any number of sweepers may run this: only one records each change.
    """
    for account in gateway.all_accounts():
        row = CarrierAccount.objects.filter(pk=account.pk)
        if account.webhook_proven_at is None and has_webhook_proof(account, now):
            if row.filter(webhook_proven_at=None).update(webhook_proven_at=now):
                logger.info("webhook_proven", extra={"account": account.name})
        elif account.webhook_proven_at and not has_webhook_proof(account, now):
            with transaction.atomic():
                moved = row.exclude(webhook_proven_at=None).update(webhook_proven_at=None)
                polls = _catch_up(account, now) if moved else 0
            if moved:
                logger.warning("webhook_doubted", extra={"account": account.name, "polls": polls})


def has_webhook_proof(account: CarrierAccount, now: dt.datetime) -> bool:
    """Return whether webhooks now bring the account's scans, and polls lately found none missing.

    A webhook that is late by less than a quarter of an hour isn't missing.
    """
    scans = missing_webhooks().filter(account=account)
    missing = scans.filter(
        Q(pushed_at=None) | Q(pushed_at__gt=F("received_at") + LATE_AFTER),
        source=TrackingEvent.Source.POLL,
        received_at__gt=now - DOUBT,
        received_at__lte=now - LATE_AFTER,
    )
    if missing.exists():
        return False
    newest = TrackingEvent.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    pushed = scans.filter(
        source=TrackingEvent.Source.PUSH,
        received_at__gt=now - WINDOW,
        received_at__lte=now,
        pk__gt=newest - NEWEST_SCANS,
    )
    return len(pushed.values_list("pk", flat=True)[:PROOF]) == PROOF
