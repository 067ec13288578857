"""Delete what orders keep for a limited time: label files, call log, quotes and drafts."""

import datetime as dt

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from orders.drafting import drafts
from orders.labels import files, return_links
from orders.models import CarrierCall, Label, LabelBytes, PrintJob, Quote, ReturnLink
from orders.models.statuses import Status
from orders.status.progress import TERMINAL
from shipping_portal.jobs.retention import BATCH, delete, term

# Statuses of an import's rows; this app knows nothing else about them.
TO_BOOK = ("ready", "warning", "owed")
PRINT_JOBS_KEPT = dt.timedelta(days=30)


@term("calls")
def purge_calls(now: dt.datetime) -> int:
    """Delete the log of calls to the carrier after CALL_LOG_DAYS."""
    return delete(
        CarrierCall.objects.filter(at__lt=now - dt.timedelta(days=settings.CALL_LOG_DAYS))
    )


@term("quotes")
def purge_quotes(now: dt.datetime) -> int:
    """Delete quotes that nobody may book from any more."""
    # Keep the quotes of orders that aren't booked yet, and of import rows that may be booked.
    waiting = Quote.objects.filter(orders__status__in=[Status.DRAFT, Status.BOOKING])
    ready = Quote.objects.filter(import_rows__state__in=TO_BOOK)
    old = Quote.objects.filter(made_at__lt=now - dt.timedelta(days=settings.QUOTE_DAYS))
    return delete(old.exclude(pk__in=waiting.values("pk")).exclude(pk__in=ready.values("pk")))


@term("drafts")
def purge_drafts(now: dt.datetime) -> int:
    """Delete drafts that nobody came back to."""
    return delete(drafts.select_expired(now))


@term("print jobs")
def purge_print_jobs(now: dt.datetime) -> int:
    """Delete what stations were asked to print, PRINT_JOBS_KEPT after it ended."""
    return delete(PrintJob.objects.filter(ended_at__lt=now - PRINT_JOBS_KEPT))


@term("return links")
def purge_return_links(now: dt.datetime) -> int:
    """Delete links once they have ended; the return's page then says that nobody took the label."""
    return delete(ReturnLink.objects.filter(expires_at__lt=now - return_links.LASTS))


@term("label files")
def purge_labels(now: dt.datetime) -> int:
    """Delete the bytes of old labels.

    The checksum stays and still proves which file was printed.
    """
    purged = 0
    while ids := list(_labels_past_term(now).values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            files.forget(LabelBytes.objects.filter(label__in=ids))
            Label.objects.filter(pk__in=ids).update(purged_at=now)
        purged += len(ids)
    return purged


def _labels_past_term(now: dt.datetime) -> QuerySet[Label]:
    """Return stored labels of parcels that arrived, or were last scanned, long enough ago."""
    before = now - dt.timedelta(days=settings.LABEL_RETENTION_DAYS)
    ended = Q(order__progress__in=sorted(TERMINAL), order__progress_at__lt=before)
    cancelled = Q(order__status=Status.CANCELLED, order__cancelled_at__lt=before)
    never_heard_of = Q(order__progress_at=None, stored_at__lt=before)
    # Polling gives up on a silent parcel in half this time.
    silent = Q(order__progress_at__lt=before, stored_at__lt=before)
    return Label.objects.filter(
        ended | cancelled | never_heard_of | silent, state=Label.State.STORED, purged_at=None
    )
