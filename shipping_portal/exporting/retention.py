"""How long files made for a download are kept."""

import datetime as dt

from django.db.models import Q

from shipping_portal.exporting.models import Export
from shipping_portal.jobs.retention import delete, term

EXPORT_DAYS = 7  # for one that was never packed; the others say themselves how long they are kept
FILES_AT_ONCE = 5


@term("exports")
def purge_exports(now: dt.datetime) -> int:
    """Delete files past their week, and those that came to nothing, with all their parts."""
    unpacked = Q(finished_at=None, created_at__lt=now - dt.timedelta(days=EXPORT_DAYS))
    return delete(Export.objects.filter(Q(expires_at__lt=now) | unpacked), at_once=FILES_AT_ONCE)
