"""Retention terms of what orders do not keep for ever: label files, the log of calls, quotes and drafts."""

import datetime as dt

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from orders.drafting import saved_drafts
from orders.models import CarrierCall, Label, LabelBytes, Quote
from orders.models.statuses import Status
from orders.status.progress import TERMINAL
from shipping_portal.jobs.retention import BATCH, delete, term

TO_BOOK = ("ready", "warning", "owed")  # of the rows of an import: this app knows no more of them


@term("calls")
def purge_calls(now: dt.datetime) -> int:
    """Delete the log of calls to the carrier after CALL_LOG_DAYS."""
    return delete(CarrierCall.objects.filter(at__lt=now - dt.timedelta(days=settings.CALL_LOG_DAYS)))


@term("quotes")
def purge_quotes(now: dt.datetime) -> int:
    """Delete quotes nobody may book from any more."""
    # Orders still on their way to the carrier keep their quote, and so do an import's rows that may be booked.
    waiting = Quote.objects.filter(orders__status__in=[Status.DRAFT, Status.BOOKING])
    ready = Quote.objects.filter(import_rows__state__in=TO_BOOK)
    old = Quote.objects.filter(made_at__lt=now - dt.timedelta(days=settings.QUOTE_DAYS))
    return delete(old.exclude(pk__in=waiting.values("pk")).exclude(pk__in=ready.values("pk")))


@term("drafts")
def purge_drafts(now: dt.datetime) -> int:
    """Delete half-typed parcels nobody came back to."""
    return delete(saved_drafts.old(now))


@term("label files")
def purge_labels(now: dt.datetime) -> int:
    """Delete the bytes of old labels. The checksum stays: it still proves which file was once printed."""
    purged = 0
    while ids := list(_over(now).values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            LabelBytes.objects.filter(label__in=ids).delete()
            Label.objects.filter(pk__in=ids).update(purged_at=now)
        purged += len(ids)
    return purged


def _over(now: dt.datetime) -> QuerySet[Label]:
    """Return stored labels whose parcel's story ended, or was last heard of, long enough ago."""
    before = now - dt.timedelta(days=settings.LABEL_RETENTION_DAYS)
    ended = Q(order__progress__in=sorted(TERMINAL), order__progress_at__lt=before)
    cancelled = Q(order__status=Status.CANCELLED, order__cancelled_at__lt=before)
    never_heard_of = Q(order__progress_at=None, stored_at__lt=before)
    # Polling asks half as long for what is silent, then gives it up.
    silent = Q(order__progress_at__lt=before, stored_at__lt=before)
    return Label.objects.filter(ended | cancelled | never_heard_of | silent, state=Label.State.STORED, purged_at=None)
