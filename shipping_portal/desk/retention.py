"""What is not kept for ever: label files, the log of calls, unbooked quotes, drafts, imports, exports and log-ins."""

import datetime as dt
from collections import Counter

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from orders import drafting
from orders.models import CarrierCall, Export, Import, ImportRow, Label, LabelBytes, Quote
from orders.models.statuses import Status
from orders.progress import TERMINAL
from shipping_portal.accounts.models import Session

BATCH = 500
QUOTE_DAYS = 7  # holds addresses; an order copies what it needs from its quote
EXPORT_DAYS = 7  # for one that was never packed; the others say themselves how long they are kept
IMPORT_DAYS = 90  # holds addresses; its orders stay
FILES_AT_ONCE = 5  # of up to 2,000 rows each
TO_BOOK = (ImportRow.State.READY, ImportRow.State.WARNING, ImportRow.State.OWED)


def purge(now: dt.datetime) -> Counter[str]:
    """Delete what is past its time, in small transactions. Safe to stop and repeat at any point."""
    return Counter(
        {
            "label files": _purge_labels(now),
            "calls": _delete(
                CarrierCall.objects.filter(at__lt=now - dt.timedelta(days=settings.CALL_LOG_DAYS))
            ),
            "quotes": _delete(_old_quotes(now)),
            "drafts": _delete(drafting.old(now)),
            "imports": _delete(_old_imports(now), at_once=FILES_AT_ONCE),
            "exports": _delete(_old_exports(now), at_once=FILES_AT_ONCE),
            "sessions": _delete(Session.objects.filter(expire_date__lt=now)),
        }
    )


def _purge_labels(now: dt.datetime) -> int:
    """The bytes go, the checksum stays: it still proves which file was once printed."""
    purged = 0
    while ids := list(_over(now).values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            LabelBytes.objects.filter(label__in=ids).delete()
            Label.objects.filter(pk__in=ids).update(purged_at=now)
        purged += len(ids)
    return purged


def _over(now: dt.datetime) -> QuerySet[Label]:
    """Stored labels of parcels whose story ended, or that were cancelled, long enough ago."""
    before = now - dt.timedelta(days=settings.LABEL_RETENTION_DAYS)
    ended = Q(order__progress__in=sorted(TERMINAL), order__progress_at__lt=before)
    cancelled = Q(order__status=Status.CANCELLED, order__cancelled_at__lt=before)
    return Label.objects.filter(ended | cancelled, state=Label.State.STORED, purged_at=None)


def _old_quotes(now: dt.datetime) -> QuerySet[Quote]:
    """Orders still on their way to the carrier keep their quote, and so do an import's rows that may be booked."""
    waiting = Quote.objects.filter(orders__status__in=[Status.DRAFT, Status.BOOKING])
    ready = ImportRow.objects.filter(state__in=TO_BOOK, quote__isnull=False)
    old = Quote.objects.filter(made_at__lt=now - dt.timedelta(days=QUOTE_DAYS))
    return old.exclude(pk__in=waiting.values("pk")).exclude(pk__in=ready.values("quote"))


def _old_imports(now: dt.datetime) -> QuerySet[Import]:
    """Files nobody has booked from for so long; one that is held with rows still owed stays."""
    before = now - dt.timedelta(days=IMPORT_DAYS)
    owed = ImportRow.objects.filter(state=ImportRow.State.OWED)
    old = Import.objects.filter(created_at__lt=before).exclude(begun_at__gte=before)
    return old.exclude(pk__in=owed.values("file"))


def _old_exports(now: dt.datetime) -> QuerySet[Export]:
    """Files past their week, and those that came to nothing; with all their parts."""
    unpacked = Q(finished_at=None, created_at__lt=now - dt.timedelta(days=EXPORT_DAYS))
    return Export.objects.filter(Q(expires_at__lt=now) | unpacked)


def _delete(rows: QuerySet, at_once: int = BATCH) -> int:
    deleted = 0
    while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:at_once]):
        rows.model._default_manager.filter(pk__in=ids).delete()
        deleted += len(ids)
    return deleted
