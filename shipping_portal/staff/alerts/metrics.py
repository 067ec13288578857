"""Serve `/metrics`: queues, jobs, accounts and data, read from rows, so all web servers agree.

A process's own activity is at its own port: see shipping_portal/ops/metrics_port.py.
"""

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.db.models import Count, Max
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from orders.models import CarrierAccount, DailySpend, LabelBytes, Restore
from orders.models.account import BOOKINGS, QUOTES
from orders.restoring import marks
from shipping_portal.accounts.access import public
from shipping_portal.billing.charges import awaiting
from shipping_portal.billing.models import BillingReport
from shipping_portal.jobs.models import DeadLetter
from shipping_portal.jobs.registry import all_kinds
from shipping_portal.staff import queues
from shipping_portal.staff.alerts import conditions, health
from shipping_portal.staff.carrier import carrier_accounts
from shipping_portal.staff.models import Alert, Certificate, Severity
from tracking.models import WebhookDelivery
from tracking.receiving import webhook_health

# deliveries read; an account with none among them has had none since the oldest of them
LOOKED_BACK = 1000
Values = Mapping[Any, float]  # keyed by the value of the label or labels
# Each family's meaning and labels. None is "job": Prometheus uses that for its targets.
FAMILIES = {
    "queue_items": ("Items waiting for a person.", "queue"),
    "queue_oldest_seconds": ("Age of the oldest item.", "queue"),
    "queue_term_seconds": ("Time allowed to handle an item.", "queue"),
    "alerts_open": ("Open alerts.", "severity"),
    "jobs_due": ("Jobs due.", "kind"),
    "jobs_oldest_seconds": ("Time since the oldest job became due.", "kind"),
    "dead_letters": ("Jobs that failed five times in a row.", "kind"),
    "webhook_age_seconds": ("Time since the last webhook, at least.", "account"),
    "webhook_gaps": ("Scans in the last hour that polling found first.", "account"),
    "account_held": ("1 while the account is held up.", "account", "why"),
    "restore_gaps": ("Restores with an open gap.",),
    "daily_money_spent": ("Highest amount booked on any date now current in some time zone.",),
    "daily_money_limit": ("Daily booking limit for all senders.",),
    "label_store_bytes": ("Size of stored label files.",),
    "label_store_quota_bytes": ("Size allowed for label files.",),
    "backup_age_seconds": ("Time since the last backup.",),
    "billing_report_age_seconds": (
        "Time since the last billing report; before it, since the first booking.",
    ),
    "certificate_seconds_left": ("Time until the server's certificate ends.", "server"),
}


@public
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer holders of METRICS_TOKEN in Prometheus' text format.

    Anybody else gets 401, and everybody gets 404 without the setting.
    """
    if not settings.METRICS_TOKEN:
        raise Http404
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.casefold() != "bearer" or not constant_time_compare(token, settings.METRICS_TOKEN):
        return HttpResponse(status=401, headers={"WWW-Authenticate": 'Bearer realm="metrics"'})
    registry = CollectorRegistry()
    registry.register(Rows(timezone.now()))
    headers = {"Cache-Control": "no-store"}
    return HttpResponse(
        generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4, headers=headers
    )


class Rows:
    """A collector that reads everything on request, in a fixed number of queries."""

    def __init__(self, now: dt.datetime) -> None:
        self.now = now

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield every family.

        These aren't Gauges, because gunicorn's processes would store and add up their values.
        """
        for name, values in {
            **_queue_figures(self.now),
            **_job_figures(self.now),
            **_account_figures(self.now),
            **_data_figures(self.now),
        }.items():
            text, *labels = FAMILIES[name]
            family = GaugeMetricFamily(f"portal_{name}", text, labels=labels)
            for of, value in values.items():
                family.add_metric((of,) if isinstance(of, str) else of, float(value))
            yield family


def _age_seconds(since: dt.datetime | None, now: dt.datetime) -> float:
    return (now - since).total_seconds() if since else 0.0


def _queue_figures(now: dt.datetime) -> dict[str, Values]:
    found = queues.waiting_queues(now)
    open_now = dict(
        Alert.objects.filter(closed_at=None).values_list("severity").annotate(Count("pk"))
    )
    return {
        "queue_items": {queue.name: queue.count for queue in found},
        "queue_oldest_seconds": {queue.name: _age_seconds(queue.oldest, now) for queue in found},
        "queue_term_seconds": {queue.name: queue.term.total_seconds() for queue in found},
        "alerts_open": {severity: open_now.get(severity, 0) for severity in Severity.values},
    }


def _job_figures(now: dt.datetime) -> dict[str, Values]:
    nothing = {kind.name: 0 for kind in all_kinds()}
    due = health.due_by_kind(now)
    return {
        "jobs_due": nothing | {row["job"]: row["n"] for row in due},
        "jobs_oldest_seconds": (
            nothing | {row["job"]: _age_seconds(row["oldest"], now) for row in due}
        ),
        "dead_letters": nothing | dict(DeadLetter.objects.values_list("job").annotate(Count("pk"))),
    }


def _account_figures(now: dt.datetime) -> dict[str, Values]:
    rows = {
        one.configured.prefix: one.account
        for one in carrier_accounts.named_accounts()
        if one.configured
    }
    latest = WebhookDelivery.objects.filter(polled_for="").order_by("-received_at")
    # reversed, so that the newest overwrites the others
    heard = list(latest.values_list("account", "received_at")[:LOOKED_BACK])[::-1]
    last = dict(heard)
    gaps = dict(
        webhook_health.found_first_by_polling(now).values_list("account").annotate(Count("pk"))
    )
    return {
        "webhook_age_seconds": {
            name: _age_seconds(last.get(row.pk, heard[0][1]), now)
            for name, row in rows.items()
            if heard
        },
        "webhook_gaps": {name: gaps.get(row.pk, 0) for name, row in rows.items()},
        "account_held": {
            (name, why): is_so
            for name, row in rows.items()
            for why, is_so in _account_holds(row, now).items()
        },
    }


def _account_holds(account: CarrierAccount, now: dt.datetime) -> dict[str, bool]:
    return {
        "stopped": bool(account.stopped_at),
        "silent": bool(account.resting_until and account.resting_until > now),
        "bookings_paused": bool(account.pause_of(BOOKINGS, now)),
        "prices_paused": bool(account.pause_of(QUOTES, now)),
        "replays_off": bool(account.replays_off_at),
    }


def _data_figures(now: dt.datetime) -> dict[str, Values]:
    """Return certificates, and figures without labels under the key ().

    Something that has never happened has no age.
    """
    under_way = DailySpend.objects.filter(day__gte=(now - dt.timedelta(hours=12)).date())
    report = BillingReport.objects.order_by("-pk").values_list("uploaded_at", flat=True).first()
    report = report or awaiting.unbilled_orders().values_list("booked_at", flat=True).first()
    ages = {"backup_age_seconds": marks.last_backup_at(), "billing_report_age_seconds": report}
    figures = {
        "restore_gaps": Restore.objects.open().count(),
        "daily_money_spent": under_way.aggregate(most=Max("spent"))["most"] or 0,
        "daily_money_limit": settings.DAILY_MONEY_LIMIT,
        "label_store_bytes": LabelBytes.stored(),
        "label_store_quota_bytes": settings.LABEL_STORE_GB * conditions.GIGABYTE,
        **{name: _age_seconds(at, now) for name, at in ages.items() if at},
    }
    left = dict(Certificate.objects.values_list("server", "ends_at"))
    return {
        **{name: {(): float(figure)} for name, figure in figures.items()},
        "certificate_seconds_left": {
            server: -_age_seconds(ends_at, now) for server, ends_at in left.items()
        },
    }
