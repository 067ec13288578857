"""Packing an owed export: claim → entries → parts → finished. Where a worker is killed, the next begins anew."""

import datetime as dt
import logging

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from orders.models import Export
from shipping_portal.accounts import notices
from tracking.exporting import account, proof
from tracking.exporting.archive import Archive
from tracking.exporting.leasing import Lease, Lost
from tracking.exporting.parts import Parts

log = logging.getLogger(__name__)
KEPT = dt.timedelta(days=7)
TOLD_AFTER = dt.timedelta(seconds=60)  # who waited less has the page before them
AT_ONCE = 2  # so that exports never take all workers from the bookings


def work(export_id: int) -> None:
    """Pack one owed export, if it is due. Safe to run twice, late, or never."""
    now = timezone.now()
    export = Export.objects.select_related("sender", "order").get(pk=export_id)
    if export.due_at is None or export.due_at > now or _is_busy(export, now):
        return
    lease = Lease.take(export)
    if lease is None:
        return
    try:
        _pack(lease)
    except Lost:
        log.warning("export_lost", extra={"export": export_id})


def _is_busy(export: Export, now: dt.datetime) -> bool:
    """Are enough others being packed? This one waits for the next sweep then. No lease is longer than this."""
    leased = (now, now + dt.timedelta(seconds=settings.LEASE_SECONDS))
    others = Export.objects.filter(due_at__range=leased).exclude(pk=export.pk)
    return others.count() >= AT_ONCE


def _pack(lease: Lease) -> None:
    export, at = lease.export, timezone.now()
    pack = proof.pack if export.what == Export.What.PROOF else account.pack
    with Parts(lease) as parts:
        with Archive(parts, at.astimezone(export.sender.tzinfo)) as archive:
            packed = pack(archive, lease, at=at)
            archive.finish()
        length, sha256 = parts.finish()
    now = timezone.now()
    with transaction.atomic():
        lease.end(
            done=packed, total=packed, length=length, sha256=sha256, finished_at=now, expires_at=now + KEPT,
            problem=_missing(len(archive.labels.missing)),
        )  # fmt: skip
        if now - export.created_at > TOLD_AFTER:
            notices.tell(_news(export, now), now=now)


def _news(export: Export, now: dt.datetime) -> notices.Fact:
    what = f"The proof pack of {export.order}" if export.order else "Everything of your account"
    return notices.Fact(
        sender=export.sender,
        kind="export",
        once=f"export:{export.pk}",
        line=f"{what} is packed. It is kept for {KEPT.days} days.",
        path=reverse("export_progress", args=[export.uuid]),
        happened_at=now,
        bundle=f"export:{export.pk}",
        only=export.made_by_id,
    )


def _missing(count: int) -> str:
    if not count:
        return ""
    return f"{count} {'label is' if count == 1 else 'labels are'} not in it. NOT-INCLUDED.txt says why."
