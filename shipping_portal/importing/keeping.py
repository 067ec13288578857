"""Remove an import from the list: delete it if nothing was booked, otherwise archive it."""

import datetime as dt

from django.db import transaction

from shipping_portal.accounts.models import Sender
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.refused import Refused


def may_delete(file: Import) -> bool:
    """Return whether no order was made from this import."""
    return not file.rows.filter(order__isnull=False).exists()


@transaction.atomic
def delete_or_archive(file: Import, now: dt.datetime) -> bool:
    """Delete the import and return True, or archive it if it has parcels.

    Raises Refused while rows are being booked or an operator holds it.
    """
    # A press of Book runs before or after this, never in between.
    Sender.locked(file.sender_id)
    is_held = Import.objects.filter(pk=file.pk).exclude(hold="").exists()
    if is_held or file.rows.filter(state=ImportRow.State.DUE).exists():
        raise Refused(
            f"{file.file_name} is being booked. You can remove it once that has finished."
        )
    if may_delete(file):
        Import.objects.filter(pk=file.pk).delete()
        return True
    Import.objects.filter(pk=file.pk, archived_at=None).update(archived_at=now)
    return False


def unarchive(file: Import) -> None:
    """Restore an archived import to the list."""
    Import.objects.filter(pk=file.pk).update(archived_at=None)
