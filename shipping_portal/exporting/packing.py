"""Pack an export, entry by entry, and store it for a week. A killed worker loses nothing."""

import datetime as dt
import logging
import random

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.mail import outbox
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.exporting import account, proof
from shipping_portal.exporting.archive import Archive
from shipping_portal.exporting.models import Export
from shipping_portal.exporting.parts import Lease, Lost, Parts
from shipping_portal.jobs.models import UNDER_WAY
from shipping_portal.jobs.registry import enqueue, job
from shipping_portal.jobs.retention import delete, term

log = logging.getLogger(__name__)
KEPT = dt.timedelta(days=7)
# anybody who has waited less than this still has the page open
NOTIFY_AFTER = dt.timedelta(seconds=60)
ROOM_MAY_BE = dt.timedelta(seconds=5 * settings.TIME_SCALE)
AT_ONCE = 2  # so that exports never take all the workers from bookings


@job(
    "export",
    queue=Export.objects.select_related("sender", "order"),
    lane="sender",
    order=150,
    patience=10,
)
def pack_due_export(export: Export) -> None:
    """Pack one due export from the start, ignoring what an earlier worker left."""
    now = timezone.now()
    others = Export.objects.filter(due_at__gt=now, last_error=UNDER_WAY).exclude(pk=export.pk)
    if others.count() >= AT_ONCE:
        # It spreads the jobs; it isn't a secret.
        export.postpone(now + ROOM_MAY_BE * random.uniform(0.5, 2.0))  # noqa: S311
        return
    try:
        _drop_earlier_parts(lease := Lease(export))
        _pack_parts(lease)
    except Lost:
        log.warning("export_lost", extra={"export": export.pk})


@transaction.atomic
def _drop_earlier_parts(lease: Lease) -> None:
    """Delete earlier parts while we hold the lease. Later they could be the next worker's."""
    lease.renew(done=0, tries=lease.export.tries + 1)
    lease.export.parts.all().delete()


def _pack_parts(lease: Lease) -> None:
    export, at = lease.export, timezone.now()
    pack = proof.pack_proof if export.what == Export.What.PROOF else account.pack_account
    with Parts(lease) as parts:
        with Archive(parts, at.astimezone(export.sender.tzinfo)) as archive:
            packed = pack(archive, lease, at=at)
            archive.finish()
        length, sha256 = parts.finish()
    now = timezone.now()
    with transaction.atomic():
        lease.end(
            done=packed,
            total=packed,
            length=length,
            sha256=sha256,
            finished_at=now,
            expires_at=now + KEPT,
            problem=_missing_labels_note(len(archive.labels.missing)),
        )
        if now - export.created_at > NOTIFY_AFTER:
            outbox.notify(_notify_ready(export, now), now=now)


def _notify_ready(export: Export, now: dt.datetime) -> outbox.Event:
    what = f"The proof pack of {export.order}" if export.order else "The copy of your account"
    return outbox.Event(
        sender=export.sender,
        kind="export",
        dedupe_key=f"export:{export.pk}",
        line=f"{what} is ready. We keep it for {KEPT.days} days.",
        path=reverse("export_progress", args=[export.uuid]),
        happened_at=now,
        batch_key=f"export:{export.pk}",
        only=export.made_by_id,
    )


def _missing_labels_note(count: int) -> str:
    if not count:
        return ""
    return (
        f"{count} {'label is' if count == 1 else 'labels are'} not in it. NOT-INCLUDED.txt says"
        " why."
    )


EXPORT_DAYS = 7  # for exports that were never packed; others store their own expiry
FILES_AT_ONCE = 5


@term("exports")
def purge_exports(now: dt.datetime) -> int:
    """Delete expired and failed files with all their parts."""
    unpacked = Q(finished_at=None, created_at__lt=now - dt.timedelta(days=EXPORT_DAYS))
    return delete(Export.objects.filter(Q(expires_at__lt=now) | unpacked), at_once=FILES_AT_ONCE)


SAME_PRESS = dt.timedelta(minutes=1)  # a second press this soon gets the first press's export


@transaction.atomic
def request_export(sender: Sender, order: Order | None, *, by: User, now: dt.datetime) -> Export:
    """Request a parcel's proof pack, or without a parcel a copy of the whole account.

    If one is in progress, return that one. A sender's requests run one at a time.
    """
    Sender.locked(sender.pk)
    what = Export.What.PROOF if order else Export.What.ACCOUNT
    same = Export.objects.filter(sender=sender, what=what, order=order)
    recent = same.filter(Q(due_at__isnull=False) | Q(created_at__gt=now - SAME_PRESS))
    export = next((export for export in recent if not export.holds_closed_label), None)
    if export is None:
        export = Export.objects.create(
            sender=sender, made_by=by, what=what, order=order, created_at=now, due_at=now
        )
        action = "proof pack asked for" if order else "account export asked for"
        Audit.write(action, order or sender, by=by, sender=sender, at=now)
    if export.due_at:
        enqueue("export", export.pk)
    return export
