"""Hold one sender's import: none of its rows is booked until an operator releases it."""

import datetime as dt

from django.db import transaction
from django.db.models.functions import Coalesce

from orders.models import Restore
from shipping_portal.accounts.models import Audit, User
from shipping_portal.accounts.models.audit import subject_of
from shipping_portal.importing import booking, finishing
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.refused import Refused

HELD = (
    "We are comparing this import with the carrier's records after a problem on our side. Its other"
    " rows may be booked already. Don't import them again before we have told you."
)
HOLD = "import held"  # in the audit
LEFT_OUT = {"": ["The carrier has this parcel already, so the operator left the row out."]}


@transaction.atomic
def hold(file: Import, *, text: str, by: User, reason: str, now: dt.datetime) -> None:
    """Hold an import. Rows already sent continue; its sender sees the text. Raises Refused."""
    open_yet = Import.objects.filter(pk=file.pk, hold="")
    if not open_yet.update(hold=text, paused_at=Coalesce("paused_at", now)):
        raise Refused("This import is held already.")
    finishing.notify_before_pause(file, now)
    _write(HOLD, file, by, f"{reason} Its sender reads “{text}”", now)


def release_import(file: Import, *, by: User, reason: str, now: dt.datetime) -> None:
    """Release a held import. One that its sender had paused stays paused. Raises Refused."""
    with transaction.atomic():
        if not Import.objects.filter(pk=file.pk, restore=None).exclude(hold="").update(hold=""):
            raise Refused("This import goes on already.")
        _write("import let go", file, by, reason, now)
    paused_at = Import.objects.filter(pk=file.pk).values("paused_at")
    if Audit.objects.filter(subject=subject_of(file), action=HOLD, at__in=paused_at).exists():
        booking.resume(file)


@transaction.atomic
def try_again(file: Import, *, by: User, reason: str, now: dt.datetime) -> None:
    """Check an import's failed rows again, for the sender to book. Raises Refused."""
    again = booking.retry(file, now)
    if not again:
        raise Refused("No row of it failed without an order.")
    _write("import rows checked again", file, by, f"{again} rows: {reason}", now)


@transaction.atomic
def leave_file_out(file: Import, *, by: User, reason: str, now: dt.datetime) -> None:
    """Leave out the rows of an import held after a restore. Raises Refused."""
    restore = Restore.objects.filter(imports=file).first()
    if restore is None:
        raise Refused("This import is not held any more.")
    leave_out(file, restore)
    _write("held rows left out", file, by, reason, now)


def leave_out(file: Import, restore: Restore) -> None:
    """Never book the due rows of a file held after a restore: the carrier already has them."""
    due = file.rows.filter(state=ImportRow.State.DUE)
    due.update(state=ImportRow.State.SKIPPED, problems=LEFT_OUT, due_at=None, **ImportRow.AFRESH)
    release(file, restore)


def release(file: Import, restore: Restore) -> None:
    """Release a file held after a restore, unless its sender or an operator had stopped it."""
    held = Import.objects.filter(pk=file.pk)
    held.update(restore=None)
    held.filter(hold=HELD).update(hold="")
    if file.paused_at == restore.restored_at:
        booking.resume(file)


def _write(action: str, file: Import, by: User, reason: str, now: dt.datetime) -> None:
    Audit.write(action, file, by=by, sender=file.sender, reason=reason, at=now)
