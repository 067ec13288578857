"""`/metrics`: how queues, jobs, accounts and data stand, read from rows, so that each of any number of webs says the
same. What a process does itself is told at its own port: see shipping_portal/metrics_port.py.
"""

import datetime as dt
from collections.abc import Iterable, Iterator

from django.conf import settings
from django.db.models import Count, Max, Min
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from orders.models import DailySpend, LabelBytes, Restore
from orders.models.account import BOOKINGS, QUOTES
from orders.restoring import marks
from shipping_portal.accounts.access import public
from shipping_portal.billing.models import BillingReport
from shipping_portal.jobs.models import DeadLetter
from shipping_portal.jobs.registry import kinds
from shipping_portal.staff import carrier_accounts, conditions, health, queues
from shipping_portal.staff.models import Alert, Severity
from tracking import webhook_health
from tracking.models import WebhookDelivery

LOOKED_BACK = 1000  # deliveries: an account without one among them is told by the oldest of them, at least
Values = Iterable[tuple[tuple[str, ...], float]]


@public
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer whoever sends METRICS_TOKEN, in Prometheus' text form. Without the setting 404, without the token 401."""
    if not settings.METRICS_TOKEN:
        raise Http404
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.casefold() != "bearer" or not constant_time_compare(token, settings.METRICS_TOKEN):
        return HttpResponse(status=401, headers={"WWW-Authenticate": 'Bearer realm="metrics"'})
    registry = CollectorRegistry()
    registry.register(Rows(timezone.now()))
    headers = {"Cache-Control": "no-store"}
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4, headers=headers)


class Rows:
    """A collector: reads everything when it is asked, in a number of queries that no number of rows changes."""

    def __init__(self, now: dt.datetime) -> None:
        self.now = now

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Give every family, those with nothing to tell as 0."""
        yield from self._queues()
        yield from self._jobs()
        yield from self._accounts()
        yield from self._data()

    def _age(self, since: dt.datetime | None) -> float:
        return (self.now - since).total_seconds() if since else 0.0

    def _queues(self) -> Iterator[GaugeMetricFamily]:
        found = queues.waiting(self.now)
        yield gauge("queue_items", "What waits for a person.", ["queue"], (((q.name,), q.count) for q in found))
        oldest = (((q.name,), self._age(q.oldest)) for q in found)
        yield gauge("queue_oldest_seconds", "How long its oldest waits.", ["queue"], oldest)
        terms = (((q.name,), q.term.total_seconds()) for q in found)
        yield gauge("queue_term_seconds", "How soon it should be dealt with.", ["queue"], terms)
        of_severity = dict(Alert.objects.filter(closed_at=None).values_list("severity").annotate(Count("pk")))
        alerts = (((severity,), of_severity.get(severity, 0)) for severity in Severity.values)
        yield gauge("alerts_open", "Incidents that are open.", ["severity"], alerts)

    def _jobs(self) -> Iterator[GaugeMetricFamily]:
        # Not "job": that is Prometheus' own label, for what it scrapes.
        due = {row["job"]: row for row in health.due_by_kind(self.now)}
        names = [kind.name for kind in kinds()]
        counts = (((name,), due[name]["n"] if name in due else 0) for name in names)
        yield gauge("jobs_due", "Work that is due.", ["kind"], counts)
        oldest = (((name,), self._age(due[name]["oldest"] if name in due else None)) for name in names)
        yield gauge("jobs_oldest_seconds", "How long the oldest of it has been due.", ["kind"], oldest)
        dead = dict(DeadLetter.objects.values_list("job").annotate(Count("pk")))
        letters = (((name,), dead.get(name, 0)) for name in names)
        yield gauge("dead_letters", "Work that failed five times in a row.", ["kind"], letters)

    def _accounts(self) -> Iterator[GaugeMetricFamily]:
        accounts = [(one.configured.prefix, one.account) for one in carrier_accounts.named() if one.configured]
        last, at_least = self._webhooks()
        heard = (((name,), self._age(last.get(row.pk, at_least))) for name, row in accounts if last)
        yield gauge("webhook_age_seconds", "Since the last webhook, at least.", ["account"], heard)
        found = webhook_health.found_first_by_polling(self.now).values_list("account").annotate(Count("pk"))
        lost = dict(found)
        gaps = (((name,), lost.get(row.pk, 0)) for name, row in accounts)
        yield gauge("webhook_gaps", "Scans of an hour that polling found first.", ["account"], gaps)
        held = (
            ((name, why), float(bool(since)))
            for name, row in accounts
            for why, since in {
                "stopped": row.stopped_at,
                "silent": row.resting_until and row.resting_until > self.now,
                "bookings_paused": row.pause_of(BOOKINGS, self.now),
                "prices_paused": row.pause_of(QUOTES, self.now),
                "replays_off": row.replays_off_at,
            }.items()
        )
        yield gauge("account_held", "1 where something holds the account up.", ["account", "why"], held)

    def _webhooks(self) -> tuple[dict[int, dt.datetime], dt.datetime | None]:
        """Return the last delivery of each account among the latest, and the oldest of those."""
        latest = WebhookDelivery.objects.filter(polled_for="").order_by("-received_at")
        rows = list(latest.values_list("account", "received_at")[:LOOKED_BACK])
        return dict(reversed(rows)), rows[-1][1] if rows else None

    def _data(self) -> Iterator[GaugeMetricFamily]:
        restores = Restore.objects.open().aggregate(n=Count("pk"), since=Min("restored_at"))
        yield gauge("restore_gaps", "Restores whose gap is open.", [], [((), restores["n"])])
        yield gauge("restore_gap_seconds", "How long the oldest is open.", [], [((), self._age(restores["since"]))])
        today = DailySpend.objects.filter(day__gte=(self.now - dt.timedelta(hours=12)).date())
        spent = today.aggregate(most=Max("spent"))["most"] or 0
        yield gauge("daily_money_spent", "Booked on the day that has most.", [], [((), spent)])
        yield gauge("daily_money_limit", "What all may book in a day.", [], [((), settings.DAILY_MONEY_LIMIT)])
        quota = settings.LABEL_STORE_GB * conditions.GIGABYTE
        yield gauge("label_store_bytes", "What label files take.", [], [((), LabelBytes.stored())])
        yield gauge("label_store_quota_bytes", "What they may take.", [], [((), quota)])
        reports = BillingReport.objects.order_by("-pk").values_list("uploaded_at", flat=True)
        for name, at in {"backup": marks.last_backup_at(), "billing_report": reports.first()}.items():
            values: Values = [((), self._age(at))] if at else []
            yield gauge(f"{name}_age_seconds", f"Since the last {name.replace('_', ' ')}.", [], values)


def gauge(name: str, text: str, labels: list[str], values: Values) -> GaugeMetricFamily:
    """Return one family with its samples."""
    family = GaugeMetricFamily(f"portal_{name}", text, labels=labels)
    for names, value in values:
        family.add_metric(names, float(value))
    return family
