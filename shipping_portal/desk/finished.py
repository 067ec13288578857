"""Imports whose booking came to an end: written down once, and told to whoever pressed Book and has left the page."""

import datetime as dt
from collections.abc import Iterator

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.urls import reverse

from orders.importing import standing
from orders.models import Import, ImportRow
from orders.models.statuses import Status
from shipping_portal.accounts import notices
from shipping_portal.accounts.notices import Fact

LEFT_AFTER = dt.timedelta(seconds=30)  # an open page looks every two to ten seconds
NEWS_FOR = dt.timedelta(days=2)


def look(now: dt.datetime) -> None:
    """The end and the news of it are one step, so that neither is there without the other."""
    rows = ImportRow.objects.filter(file=OuterRef("pk"))
    owed = Exists(rows.filter(state=ImportRow.State.OWED))
    sending = Exists(rows.filter(state=ImportRow.State.BOOKED, order__status=Status.BOOKING))
    under_way = Import.objects.filter(state=Import.State.BOOKING, finished_at=None, begun_at__isnull=False)
    for file in under_way.filter(~owed, ~sending).select_related("sender"):
        with transaction.atomic():
            mine = Import.objects.filter(pk=file.pk, finished_at=None, begun_at=file.begun_at)
            if mine.update(finished_at=now):
                for fact in _news(file, now):
                    notices.tell(fact, now=now)


def _news(file: Import, now: dt.datetime) -> Iterator[Fact]:
    begun, looked = file.begun_at, file.looked_at
    if begun is None or now - begun > NEWS_FOR or (looked and now - looked < LEFT_AFTER):
        return
    yield Fact(
        sender=file.sender,
        kind="import",
        once=f"import:{file.pk}:{begun:%Y%m%dT%H%M%S.%f}",
        line=f"{file.file_name}: {_summary(standing.counts(file))}.",
        path=reverse("import", args=[file.uuid]),
        happened_at=now,
        bundle=f"import:{file.pk}",
        only=file.begun_by_id,
    )


def _summary(counts: standing.Counts) -> str:
    parts = {
        "booked": counts.booked,
        "not booked": counts.failed,
        "being checked": counts.unclear,
        "waiting for your yes": counts.asked,
    }
    return ", ".join(f"{count:,} {words}" for words, count in parts.items() if count or words == "booked")
