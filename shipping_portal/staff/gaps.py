"""The gap meter: how the carrier's webhooks did, by what polling had to find (interface §6, reliability 2.6)."""

import datetime as dt
import logging
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Q
from django.urls import reverse

from orders import gateway
from orders.models import CarrierAccount
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
class Alarm:
    """An account whose webhooks get lost, with what polling found first in the last hour and the list of just those."""

    account: str
    polled_first: int
    url: str


@dataclass(frozen=True)
class Meter:
    rows: list[Row]
    alarms: list[Alarm]


def meter(now: dt.datetime) -> Meter:
    """The last hour and the last 24, and each account's alarm, in one query over the scans of a day."""
    since = {title: Q(received_at__gt=now - span) for title, span in SPANS.items()}
    counts = {
        f"{kind}_{place}": Count("pk", filter=rule & span)
        for place, span in enumerate(since.values())
        for kind, rule in KINDS.items()
    }
    counts["polled_first"] = Count("pk", filter=gaps.POLLED_FIRST & since["Last hour"])
    day = gaps.owed().filter(since["Last 24 hours"], received_at__lte=now)
    found: list[Any] = list(day.values("account", "account__name").annotate(**counts).order_by("account"))
    rows = [
        Row(title, *(sum(one[f"{kind}_{place}"] for one in found) for kind in KINDS))
        for place, title in enumerate(since)
    ]
    alarmed = (one for one in found if one["polled_first"] >= gaps.ALARM)
    return Meter(rows, [_alarm(one) for one in alarmed])


def _alarm(found: dict[str, Any]) -> Alarm:
    query = urlencode({"found": "polling", "account": found["account"]})
    url = reverse("admin:tracking_trackingevent_changelist")
    return Alarm(found["account__name"], found["polled_first"], f"{url}?{query}")


@chore("gaps")
def report(now: dt.datetime) -> None:
    """One log line an hour for each account whose alarm is on, however many sweepers look."""
    for account in gateway.accounts():
        if gaps.is_alarmed(account, now):
            _log(account, now)


def _log(account: CarrierAccount, now: dt.datetime) -> None:
    if LastTime.is_first_in(gaps.WINDOW, f"webhook gap logged {account.pk}", now=now):
        found = gaps.found_first_by_polling(now).filter(account=account).count()
        told = {"account": account.name, "found_by_polling": found, "polling": "twice as often"}
        logger.error("webhook_gap", extra=told)
