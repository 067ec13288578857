"""Finish imports: one notification sums up each, and IMPORT_DAYS later the file is deleted."""

import datetime as dt
from dataclasses import replace

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.urls import reverse

from orders.models.statuses import Status
from orders.notices.notifications import cut_words
from shipping_portal.accounts.mail import outbox
from shipping_portal.accounts.mail.outbox import Event
from shipping_portal.db.planned_statements import PlannedSelect
from shipping_portal.importing import progress
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.jobs.registry import chore
from shipping_portal.jobs.retention import delete, term

LEFT_AFTER = dt.timedelta(seconds=30)  # an open page refreshes every two to ten seconds
NEWS_FOR = dt.timedelta(days=2)


_ROWS = ImportRow.objects.filter(file=OuterRef("pk"))
_DUE = _ROWS.filter(state=ImportRow.State.DUE, parked_at=None)
_BOOKING = _ROWS.filter(
    state=ImportRow.State.BOOKED, order__status=Status.BOOKING, order__parked_at=None
)
DONE = PlannedSelect(
    Import.objects.filter(state=Import.State.BOOKING, finished_at=None, begun_at__isnull=False)
    .filter(~Exists(_DUE), ~Exists(_BOOKING))
    .select_related("sender")
)


@chore("imports")
def finish_done_imports(now: dt.datetime) -> None:
    """Finish every import that has nothing left to book or send. Dead letters may remain."""
    for file in DONE.rows():
        _finish(file, now)


@transaction.atomic
def _finish(file: Import, now: dt.datetime) -> None:
    mine = Import.objects.filter(pk=file.pk, finished_at=None, begun_at=file.begun_at)
    if not file.begun_at or not mine.update(finished_at=now):
        return
    # Counted after the update, whose lock a failing booking waits for (see notifications.py).
    counts = progress.counts(file)
    _notify_of_failures(file, counts, now)
    # Its key is the same, so nobody is notified of the failures twice.
    if _is_left(file, now) and now - file.begun_at <= NEWS_FOR:
        outbox.notify(_event(file, counts, now), now=now)


def notify_before_pause(file: Import, now: dt.datetime) -> None:
    """Notify of failures before a pause that may be permanent, in the same transaction."""
    if file.state == Import.State.BOOKING and file.finished_at is None:
        _notify_of_failures(file, progress.counts(file), now)


def _notify_of_failures(file: Import, counts: progress.Counts, now: dt.datetime) -> None:
    """Notify everybody of failed rows, if any: their bookings wrote no separate notifications."""
    if counts.failed or counts.needs_yes:
        outbox.notify(replace(_event(file, counts, now), kind="booking", only=None), now=now)


def _is_left(file: Import, now: dt.datetime) -> bool:
    return file.looked_at is None or now - file.looked_at >= LEFT_AFTER


def _event(file: Import, counts: progress.Counts, now: dt.datetime) -> Event:
    why = progress.first_reason(file) if counts.failed else ""
    return Event(
        sender=file.sender,
        kind="import",
        dedupe_key=f"import:{file.pk}:{now:%Y%m%dT%H%M%S.%f}",
        line=f"{file.file_name}: {_summary(counts)}. {cut_words(why)}".strip(),
        path=reverse("import", args=[file.uuid]),
        happened_at=now,
        batch_key=f"import:{file.pk}",
        only=file.begun_by_id,
    )


def _summary(counts: progress.Counts) -> str:
    parts = {
        "booked": counts.booked,
        "not": counts.failed,
        "being checked": counts.unclear,
        "waiting for your approval": counts.needs_yes,
    }
    return ", ".join(
        f"{count:,} {words}" for words, count in parts.items() if count or words == "booked"
    )


FILES_AT_ONCE = 5  # files of up to 2,000 rows each


@term("imports")
def purge_imports(now: dt.datetime) -> int:
    """Delete files long after their last booking; their orders stay."""
    return delete(_old_imports(now), at_once=FILES_AT_ONCE)


def _old_imports(now: dt.datetime) -> QuerySet[Import]:
    """Return files without recent bookings, except held ones with rows still due."""
    before = now - dt.timedelta(days=settings.IMPORT_DAYS)
    due = ImportRow.objects.filter(state=ImportRow.State.DUE)
    old = Import.objects.filter(created_at__lt=before).exclude(begun_at__gte=before)
    return old.exclude(pk__in=due.values("file"))
