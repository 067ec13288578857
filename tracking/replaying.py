"""Stored webhooks read again with today's contract: first what that would change, then, with a reason, the change.

Reading is idempotent (tracking/intake.py), so a replay that stops half-way is simply pressed again.
"""

import datetime as dt
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import InterfaceError, OperationalError, transaction

from shipping_portal.accounts.models import Audit
from tracking import intake
from tracking.models import Parcel, TrackingEvent, WebhookDelivery
from tracking.previews import Move, moves

logger = logging.getLogger(__name__)
MOST = 500  # in one go
SECONDS = 20.0  # after that the rest waits for another press; a web request ends at thirty
State = WebhookDelivery.State


@dataclass(frozen=True)
class Reading:
    """One delivery, and what reading it again makes of it."""

    delivery: WebhookDelivery  # as it stands
    after: WebhookDelivery
    gives_new_scan: bool

    @property
    def changes(self) -> bool:
        now, then = self.delivery, self.after
        return (now.state, now.reason, now.event_id) != (then.state, then.reason, then.event_id)

    @property
    def words(self) -> str:
        then = State(self.after.state).label
        if self.gives_new_scan:
            return "New scan"
        return f"{then}: {self.after.reason}" if self.after.reason else then


@dataclass(frozen=True)
class Preview:
    readings: list[Reading]
    moves: list[Move]

    @property
    def changing(self) -> list[Reading]:
        return [reading for reading in self.readings if reading.changes]

    @property
    def new_scans(self) -> int:
        return sum(reading.gives_new_scan for reading in self.readings)

    @property
    def does_nothing(self) -> bool:
        return not (self.changing or self.moves)


@dataclass(frozen=True)
class Replayed:
    """How many were read, how many of them changed, how many could not be read for a fault of ours, how many wait."""

    read: int
    changed: int
    failed: int
    left: int


def preview(chosen: Sequence[int]) -> Preview:
    """What reading these again would change, found by doing it in a transaction that is rolled back.

    At most MOST, so that scans arriving for the same parcels wait a few seconds at the very worst.
    """
    before = _stored(chosen)
    with transaction.atomic():
        for pk in before:
            _read(pk)
        after = _stored(chosen)
        parcels = list(Parcel.objects.filter(events__deliveries__in=after).distinct())
        transaction.set_rollback(True)
    found = [delivery.event_id for delivery in after.values() if delivery.event_id]
    known = set(TrackingEvent.objects.filter(pk__in=found).values_list("pk", flat=True))
    readings = [
        Reading(delivery, after[pk], gives_new_scan=after[pk].event_id not in {None, *known})
        for pk, delivery in before.items()
    ]
    return Preview(readings, moves(parcels))


def replay(chosen: Sequence[int], *, by: Any, reason: str, now: dt.datetime) -> Replayed:
    """Read them again, oldest first. The audit has one row, written before the first is read."""
    before = _stored(chosen)
    first, *_ = before.values()
    what = f"{len(before)} webhooks, {min(before)} to {max(before)}: {reason}"
    Audit.write("webhooks read again", first, by=by, reason=what, at=now)
    ends, read, failed = time.monotonic() + SECONDS, 0, 0
    for pk in before:
        if time.monotonic() > ends:
            break
        read += 1
        failed += not _read(pk)
    after = _stored(chosen)
    changed = sum(
        Reading(delivery, after[pk], gives_new_scan=False).changes for pk, delivery in before.items()
    )
    return Replayed(read, changed, failed, len(before) - read)


def _read(pk: int) -> bool:
    """Whether it could be read at all; a savepoint keeps one that could not from taking the rest with it."""
    try:
        with transaction.atomic():
            intake.read(pk)
    except (OperationalError, InterfaceError):
        raise
    except Exception:  # the others are read all the same
        logger.exception("delivery_not_read", extra={"delivery": pk})
        return False
    return True


def _stored(chosen: Sequence[int]) -> dict[int, WebhookDelivery]:
    rows = WebhookDelivery.objects.filter(pk__in=chosen).order_by("pk")
    return {row.pk: row for row in rows.select_related("event__parcel").defer("body", "event__raw")[:MOST]}
