"""The gap meter: how the carrier's webhooks did, by what polling had to find (interface §6, reliability 2.6)."""

import datetime as dt
import logging
from dataclasses import dataclass

from django.db.models import Count, Q
from django.urls import reverse

from shipping_portal.jobs.chores import chore
from tracking import gaps
from tracking.models import LastTime

logger = logging.getLogger(__name__)
SPANS = {"Last hour": dt.timedelta(hours=1), "Last 24 hours": dt.timedelta(hours=24)}
KINDS = {
    "in_time": Q(pushed_at__isnull=False) & ~gaps.LATE & ~gaps.POLLED_FIRST,
    "late": Q(pushed_at__isnull=False) & (gaps.LATE | gaps.POLLED_FIRST),
    "only_polled": Q(pushed_at=None),
}


@dataclass(frozen=True)
class Row:
    """Scans first seen in one span of time, by how their webhook did."""

    title: str
    in_time: int
    late: int
    only_polled: int


@dataclass(frozen=True)
class Meter:
    rows: list[Row]
    polled_first: int  # in the last hour; what the alarm counts
    url: str  # the list of exactly those

    @property
    def is_alarmed(self) -> bool:
        return self.polled_first >= gaps.ALARM


def meter(now: dt.datetime) -> Meter:
    """The last hour and the last 24, in one query over the scans of a day."""
    since = {title: Q(received_at__gt=now - span) for title, span in SPANS.items()}
    counts = {
        f"{kind}_{place}": Count("pk", filter=rule & span)
        for place, span in enumerate(since.values())
        for kind, rule in KINDS.items()
    }
    counts["polled_first"] = Count("pk", filter=gaps.POLLED_FIRST & since["Last hour"])
    day = gaps.owed().filter(since["Last 24 hours"], received_at__lte=now)
    found = day.aggregate(**counts)
    rows = [Row(title, *(found[f"{kind}_{place}"] for kind in KINDS)) for place, title in enumerate(since)]
    url = reverse("admin:tracking_trackingevent_changelist") + "?found=polling"
    return Meter(rows, found["polled_first"], url)


@chore("gaps")
def report(now: dt.datetime) -> None:
    """One log line an hour while the alarm is on, however many sweepers look."""
    if not gaps.is_alarmed(now):
        return
    if LastTime.is_first_in(gaps.WINDOW, "webhook gap logged", now=now):
        found = gaps.found_first_by_polling(now).count()
        logger.error("webhook_gap", extra={"found_by_polling": found, "polling": "twice as often"})
