"""How long files of parcels are kept."""

import datetime as dt

from django.db.models import QuerySet

from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.jobs.retention import delete, term

IMPORT_DAYS = 90  # holds addresses; its orders stay
FILES_AT_ONCE = 5  # of up to 2,000 rows each


@term("imports")
def purge_imports(now: dt.datetime) -> int:
    """Delete files long after their last booking; their orders stay."""
    return delete(_old_imports(now), at_once=FILES_AT_ONCE)


def _old_imports(now: dt.datetime) -> QuerySet[Import]:
    """Files nobody has booked from for so long; one that is held with rows still owed stays."""
    before = now - dt.timedelta(days=IMPORT_DAYS)
    owed = ImportRow.objects.filter(state=ImportRow.State.OWED)
    old = Import.objects.filter(created_at__lt=before).exclude(begun_at__gte=before)
    return old.exclude(pk__in=owed.values("file"))
