"""Show how the carrier and our own jobs are doing, on the admin's first page."""

import datetime as dt
import logging
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import (
    Count,
    DurationField,
    ExpressionWrapper,
    F,
    Max,
    Min,
    Q,
    QuerySet,
    Subquery,
    Value,
    Window,
)
from django.db.models.functions import CumeDist
from django.urls import reverse

from orders.calling import gateway
from orders.models import CarrierAccount, CarrierCall
from orders.models.account import BOOKINGS, QUOTES, Pause
from shipping_portal.billing.models import BillingReport
from shipping_portal.formats import hours_and_minutes
from shipping_portal.jobs.registry import JobKind, all_kinds, chore
from shipping_portal.staff.carrier import carrier_accounts
from shipping_portal.staff.carrier.carrier_accounts import Known
from tracking.models import IS_AHEAD, LastTime, TrackingEvent, WebhookDelivery
from tracking.receiving import webhook_health

WINDOW = dt.timedelta(minutes=15)
CLEAR = ("ok", "incomplete", "rejected")  # the carrier answered, even if only with a rejection
SLOWEST_SHARE = 0.95


@dataclass(frozen=True)
class OperationHealth:
    """Calls of one kind in the last 15 minutes. `errors` had no clear reply; `p95` is in ms."""

    name: str
    calls: int
    errors: int
    p95: int

    @property
    def label(self) -> str:
        """Return the operation's name as words."""
        return self.name.replace("_", " ").capitalize()

    @property
    def error_percent(self) -> float:
        """Return the share of calls that failed."""
        return 100 * self.errors / self.calls


@dataclass(frozen=True)
class Backlog:
    """Due rows of all job types together, without dead letters."""

    rows: int
    oldest: dt.datetime | None


@dataclass(frozen=True)
class AccountHealth:
    """What delays the bookings and prices of one account with settings."""

    known: Known
    bookings: Pause | None
    quotes: Pause | None
    resting_until: dt.datetime | None


@dataclass(frozen=True)
class Health:
    """The first page's overview: calls, each account, and the last report.

    `rows` are all carrier accounts, `accounts` those with settings.
    """

    operations: list[OperationHealth]
    last_webhook_at: dt.datetime | None
    rows: list[CarrierAccount]
    accounts: list[AccountHealth]
    last_report: BillingReport | None


def health_strip(now: dt.datetime) -> Health:
    """Read the overview in three queries, each on an index."""
    rows = _accounts_and_last_webhook()
    return Health(
        operations=_recent_operations(now),
        last_webhook_at=next((row.last_webhook_at for row in rows), None),
        rows=rows,
        accounts=[_of_account(known, now) for known in carrier_accounts.named_accounts(rows)],
        last_report=BillingReport.objects.order_by("-pk").first(),
    )


def _accounts_and_last_webhook() -> list[Any]:
    """Return all carrier accounts, each with the time of the last webhook for any of them."""
    pushed = WebhookDelivery.objects.filter(polled_for="").order_by("-received_at")
    last = Subquery(pushed.values("received_at")[:1])
    return list(CarrierAccount.objects.annotate(last_webhook_at=last))


def _of_account(known: Known, now: dt.datetime) -> AccountHealth:
    account, resting = known.account, known.account.resting_until
    return AccountHealth(
        known,
        bookings=account.pause_of(BOOKINGS, now),
        quotes=account.pause_of(QUOTES, now),
        resting_until=resting if resting and resting > now else None,
    )


def _recent_operations(now: dt.datetime) -> list[OperationHealth]:
    """Count by operation, with the 95th percentile. Only the slowest twentieth is read."""
    each: dict[str, Any] = {"partition_by": F("operation")}
    slowest = CarrierCall.objects.filter(at__gt=now - WINDOW).annotate(
        calls=Window(Count("pk"), **each),
        errors=Window(Count("pk", filter=~Q(outcome__in=CLEAR)), **each),
        share=Window(CumeDist(), order_by=F("milliseconds").asc(), **each),
    )
    rows = slowest.filter(share__gte=SLOWEST_SHARE).order_by("operation", "-milliseconds")
    # The last row of each operation, which is its fastest, overwrites the others.
    found = {
        row.operation: OperationHealth(row.operation, row.calls, row.errors, row.milliseconds)
        for row in rows.only("operation", "milliseconds")
    }
    return list(found.values())


def due_by_kind(now: dt.datetime) -> list[dict[str, Any]]:
    """Return each job type with due rows: its name as `job`, the number `n` and the `oldest`.

    One query.
    """
    first, *rest = (_due_of_kind(kind, now) for kind in all_kinds())
    return list(first.union(*rest, all=True))


def count_backlog(now: dt.datetime) -> Backlog:
    """Count the due rows of every job type, in one query."""
    found = due_by_kind(now)
    oldest = [row["oldest"] for row in found if row["oldest"]]
    return Backlog(sum(row["n"] for row in found), min(oldest, default=None))


def _due_of_kind(kind: JobKind, now: dt.datetime) -> QuerySet[Any]:
    rows = (
        kind.due(now).select_related(None).order_by().annotate(job=Value(kind.name)).values("job")
    )
    return rows.annotate(n=Count("pk"), oldest=Min("due_at"))


logger = logging.getLogger(__name__)
SPANS = {"Last hour": dt.timedelta(hours=1), "Last 24 hours": dt.timedelta(hours=24)}
KINDS = {
    "in_time": Q(pushed_at__isnull=False) & ~webhook_health.LATE & ~webhook_health.POLLED_FIRST,
    "late": Q(pushed_at__isnull=False) & (webhook_health.LATE | webhook_health.POLLED_FIRST),
    "only_polled": Q(pushed_at=None),
}


@dataclass(frozen=True)
class HealthRow:
    """Scans first seen in a period, by what happened to their webhook."""

    title: str
    in_time: int
    late: int
    only_polled: int


@dataclass(frozen=True)
class Alarm:
    """An account that loses webhooks, with what polling found in the last hour, and a link."""

    account: str
    polled_first: int
    url: str


@dataclass(frozen=True)
class ClockAhead:
    """An account with recent scans dated after their receipt: how many, and by how much."""

    account: str
    scans: int
    by: str
    url: str


@dataclass(frozen=True)
class Meter:
    """Scans by how they arrived, each account's alarm, and fast clocks."""

    rows: list[HealthRow]
    alarms: list[Alarm]
    clocks: list[ClockAhead]


def webhook_meter(now: dt.datetime) -> Meter:
    """Return the last hour and the last 24, and each account's alarm, in one query.

    Another query finds fast clocks, whatever the parcels.
    """
    since = {title: Q(received_at__gt=now - span) for title, span in SPANS.items()}
    counts = {
        f"{kind}_{place}": Count("pk", filter=rule & span)
        for place, span in enumerate(since.values())
        for kind, rule in KINDS.items()
    }
    counts["polled_first"] = Count("pk", filter=webhook_health.POLLED_FIRST & since["Last hour"])
    day = webhook_health.missing_webhooks().filter(since["Last 24 hours"], received_at__lte=now)
    found: list[Any] = list(
        day.values("account", "account__name").annotate(**counts).order_by("account")
    )
    rows = [
        HealthRow(title, *(sum(one[f"{kind}_{place}"] for one in found) for kind in KINDS))
        for place, title in enumerate(since)
    ]
    alarmed = (one for one in found if one["polled_first"] >= webhook_health.ALARM)
    return Meter(rows, [_make_alarm(one) for one in alarmed], clocks_ahead(now))


def clocks_ahead(now: dt.datetime) -> list[ClockAhead]:
    """Return the accounts with fast clocks in the last 24 hours, in one query."""
    ahead = TrackingEvent.objects.filter(
        IS_AHEAD, received_at__gt=now - SPANS["Last 24 hours"], received_at__lte=now
    )
    most = Max(ExpressionWrapper(F("scan_time") - F("received_at"), DurationField()))
    found: list[Any] = list(
        ahead.order_by("account")
        .values("account", "account__name")
        .annotate(n=Count("pk"), by=most)
    )
    return [
        ClockAhead(
            one["account__name"],
            one["n"],
            hours_and_minutes(one["by"]),
            _scans_url(clock="ahead", account=one["account"]),
        )
        for one in found
    ]


def webhook_alarms(now: dt.datetime) -> list[Alarm]:
    """Return the accounts that lose webhooks, in one query over the scans of an hour."""
    found = (
        webhook_health.found_first_by_polling(now)
        .values("account", "account__name")
        .order_by("account")
    )
    counted: list[Any] = list(found.annotate(polled_first=Count("pk")))
    return [_make_alarm(one) for one in counted if one["polled_first"] >= webhook_health.ALARM]


def _make_alarm(found: dict[str, Any]) -> Alarm:
    url = _scans_url(found="polling", account=found["account"])
    return Alarm(found["account__name"], found["polled_first"], url)


def _scans_url(**query: Any) -> str:
    return f"{reverse('admin:tracking_trackingevent_changelist')}?{urlencode(query)}"


@chore("gaps")
def log_alarms(now: dt.datetime) -> None:
    """Log one line an hour for each account whose alarm is on, however many sweepers run."""
    for account in gateway.all_accounts():
        once = f"webhook gap logged {account.pk}"
        if webhook_health.is_alarmed(account, now) and LastTime.is_first_in(
            webhook_health.WINDOW, once, now=now
        ):
            found = webhook_health.found_first_by_polling(now).filter(account=account).count()
            details = {
                "account": account.name,
                "found_by_polling": found,
                "polling": "each parcel hourly",
            }
            logger.error("webhook_gap", extra=details)
