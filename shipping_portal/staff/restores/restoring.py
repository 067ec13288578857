"""Handle the gap after a restore: only the carrier knows what was booked since the backup.

Work held by after_restore is released or left out here, by the carrier's records; then an operator
closes the gap.
"""

import datetime as dt
from dataclasses import dataclass
from urllib.parse import urlencode

from django.db import transaction
from django.urls import reverse

from orders.cancelling import replacing
from orders.models import CarrierAccount, Label, Replacement, Restore
from orders.models.account import BOOKINGS
from orders.restoring import comparing
from shipping_portal.accounts.models import Audit, User
from shipping_portal.importing import holding
from shipping_portal.importing.models import ImportRow
from shipping_portal.jobs.registry import enqueue
from shipping_portal.refused import Refused
from shipping_portal.staff.carrier import pausing


@dataclass(frozen=True)
class Gap:
    """A restore with an open gap, and the lists where its bookings appear."""

    restore: Restore
    scans_url: str
    lines_url: str
    unclear_url: str


def open_gaps() -> list[Gap]:
    """Return the open gaps, usually none. One query."""
    return [gap_of(restore) for restore in Restore.objects.open().order_by("backup_at")]


def gap_of(restore: Restore) -> Gap:
    """Return the lists where this gap's bookings may appear."""
    since = restore.backup_at.isoformat()
    parcels = reverse("admin:tracking_parcel_changelist")
    charges = reverse("admin:billing_charge_changelist")
    return Gap(
        restore,
        f"{parcels}?{urlencode({'whose': 'nobody', 'created_at__gte': since})}",
        f"{charges}?{urlencode({'owner': 'nobody', 'posted_at__gte': since})}",
        reverse("admin:orders_order_changelist") + "?needs=unconfirmed",
    )


def count_held(restore: Restore) -> int:
    """Return how many parcels of import rows and replacements are held for this restore."""
    rows = ImportRow.objects.filter(file__restore=restore, state=ImportRow.State.DUE)
    return rows.count() + restore.replacements.filter(ended_at=None).count()


@transaction.atomic
def release_held(restore: Restore, count: int, *, by: User, reason: str, now: dt.datetime) -> None:
    """Book all held work once the gap is closed: the carrier has none of it. Raises Refused."""
    _refuse_another_count(restore, count)
    for file in restore.imports.all():
        holding.release(file, restore)
    due = Replacement.objects.filter(restore=restore)
    enqueue("replace", *due.values_list("pk", flat=True))
    due.update(restore=None, due_at=now)
    Audit.write("held parcels released", restore, by=by, reason=f"{count}: {reason}", at=now)


@transaction.atomic
def leave_out(restore: Restore, count: int, *, by: User, reason: str, now: dt.datetime) -> None:
    """Never book what is held: the carrier has it, or nobody wants it. Raises Refused."""
    _refuse_another_count(restore, count)
    for file in restore.imports.all():
        holding.leave_out(file, restore)
    for replacement in restore.replacements.filter(ended_at=None).select_related("order__sender"):
        replacing.leave_out(replacement, now=now)
    Audit.write("held parcels left out", restore, by=by, reason=f"{count}: {reason}", at=now)


@transaction.atomic
def lift_gap(restore: Restore, *, by: User, reason: str, now: dt.datetime) -> None:
    """Resume bookings, and show labels that weren't compared. Raises Refused."""
    if not Restore.objects.open().filter(pk=restore.pk).update(lifted_at=now, lifted_by=by):
        raise Refused("Someone else has already closed it.")
    Audit.write("gap lifted", restore, by=by, reason=f"{restore}: {reason}", at=now)
    if Restore.objects.open().exists():
        return
    comparing.show_labels(Label.objects.all(), now=now)
    for account in CarrierAccount.objects.filter(paused_at__isnull=False):
        pausing.resume_account(account, BOOKINGS, by=by, reason=reason, now=now)


def _refuse_another_count(restore: Restore, count: int) -> None:
    waiting = count_held(restore)
    if count != waiting:
        raise Refused(
            f"{waiting} parcels are held now, but you entered {count}. Nothing was changed."
        )
