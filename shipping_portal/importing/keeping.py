"""Taking an import off the list: deleted while nothing of it was booked, put away otherwise."""

import datetime as dt

from django.db import transaction

from shipping_portal.accounts.models import Sender
from shipping_portal.importing.models import Import, ImportRow


class UnderWay(Exception):
    """Rows of it are being booked, or an operator holds it: it stays until that is over."""


def may_delete(file: Import) -> bool:
    """Return whether no order was made of it."""
    return not file.rows.filter(order__isnull=False).exists()


def take_off_the_list(file: Import, now: dt.datetime) -> bool:
    """Delete the import, True; or archive it, where parcels came of it: they keep their rows. Raises UnderWay."""
    with transaction.atomic():
        Sender.objects.select_for_update(no_key=True).get(pk=file.sender_id)  # a press of Book comes before or after
        is_held = Import.objects.filter(pk=file.pk).exclude(hold="").exists()
        if is_held or file.rows.filter(state=ImportRow.State.OWED).exists():
            raise UnderWay
        if may_delete(file):
            Import.objects.filter(pk=file.pk).delete()
            return True
        Import.objects.filter(pk=file.pk, archived_at=None).update(archived_at=now)
        return False


def bring_back(file: Import) -> None:
    """Put an archived import on the list again."""
    Import.objects.filter(pk=file.pk).update(archived_at=None)
