"""/metrics reports the state of the rows, the same from each web process; a separate port reports one process."""

import datetime as dt
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client import REGISTRY, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from orders.models import CarrierAccount, DailySpend, Order
from orders.quoting import asking
from orders.restoring import marks
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.errors import OutcomeUnknown
from shipping_portal.jobs.models import DeadLetter
from shipping_portal.jobs.registry import all_kinds
from shipping_portal.jobs.sweep import HANGS_AFTER, Sweep
from shipping_portal.ops import metrics_port
from shipping_portal.staff.alerts import alerting, metrics
from shipping_portal.staff.models import Certificate
from tests import factories
from tests.ports import free_port
from tests.sandbox_carrier import SandboxCarrier
from tests.servers import stop
from tracking.receiving import webhook_health

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "canary-metrics-token-0123456789abcdef"
MINUTE, HOUR = dt.timedelta(minutes=1), dt.timedelta(hours=1)
Samples = dict[tuple[str, ...], float]


@pytest.fixture(autouse=True)
def _token(settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN


def scrape(token: str = TOKEN) -> Any:
    return Client().get("/metrics", headers={"authorization": f"Bearer {token}"})


def samples(text: str) -> Samples:
    """Return each value by its name and label values."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def read() -> Samples:
    answer = scrape()
    assert answer.status_code == 200
    return samples(answer.content.decode())


# -- Who may read it -----------------------------------------------------------------------------


def test_without_a_configured_token_there_is_no_such_page(settings: Any) -> None:
    settings.METRICS_TOKEN = ""
    assert [scrape(token).status_code for token in ("", TOKEN)] == [404, 404]


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer é"])
def test_a_wrong_token_gets_no_metrics(header: str) -> None:
    answer = Client().get("/metrics", headers={"authorization": header})
    assert (answer.status_code, answer.content) == (401, b"")
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_an_operators_login_does_not_replace_the_token(sam: User, visit: Callable[[User], Client]) -> None:
    assert visit(sam).get("/metrics").status_code == 401


def test_the_page_is_plain_text_and_never_cached(db: None) -> None:
    answer = scrape()
    assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
    assert answer["Cache-Control"] == "no-store"


# -- What it reports -------------------------------------------------------------------------------


def test_each_queue_reports_its_count_its_oldest_and_its_limit(quill: Sender, alice: User) -> None:
    unclear = factories.order(quill, alice, status="unconfirmed")
    Order.objects.filter(pk=unclear.pk).update(created_at=timezone.now() - 3 * HOUR)
    found = read()
    assert found["portal_queue_items", "order-unconfirmed"] == 1
    assert found["portal_queue_oldest_seconds", "order-unconfirmed"] == pytest.approx(3 * 3600, abs=60)
    assert found["portal_queue_term_seconds", "order-unconfirmed"] == 2 * 3600
    assert found["portal_queue_items", "order-conflict"] == found["portal_queue_oldest_seconds", "order-conflict"] == 0


def test_each_kind_of_job_reports_due_and_dead_rows(quill: Sender, alice: User) -> None:
    factories.order(quill, alice, status="booking", due_at=timezone.now() - HOUR)
    DeadLetter.objects.create(job="label", row=1, failures=5, parked_at=timezone.now())
    found = read()
    assert found["portal_jobs_due", "book"] == 1
    assert found["portal_jobs_oldest_seconds", "book"] == pytest.approx(3600, abs=60)
    assert (found["portal_dead_letters", "label"], found["portal_dead_letters", "book"]) == (1, 0)
    assert {kind for name, *labels in found if name == "portal_jobs_due" for kind in labels} == {
        kind.name for kind in all_kinds()
    }


def test_each_account_reports_its_holds_its_last_webhook_and_its_gaps(quill: Sender, alice: User) -> None:
    now = timezone.now()
    assert ("portal_webhook_age_seconds", "CARRIER") not in read()
    factories.delivery(received_at=now - HOUR)
    factories.delivery(received_at=now, polled_for="SPOLLED001")
    factories.event(factories.parcel(factories.order(quill, alice, status="booked")), source="poll", received_at=now)
    CarrierAccount.objects.update(stopped_at=now, resting_until=now - MINUTE, paused_at=now)
    found = read()
    assert found["portal_webhook_age_seconds", "CARRIER"] == pytest.approx(3600, abs=60)
    assert found["portal_webhook_gaps", "CARRIER"] == 1 < webhook_health.ALARM
    held = {why: value for (name, *labels), value in found.items() for why in labels[1:] if name.endswith("_held")}
    assert held == {"stopped": 1, "silent": 0, "bookings_paused": 1, "prices_paused": 0, "replays_off": 0}


def test_a_long_silent_account_reports_the_oldest_delivery_checked(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "LOOKED_BACK", 2)
    now, silent = timezone.now(), factories.account()
    factories.delivery(received_at=now - 9 * HOUR)
    settings.CARRIER_ACCOUNT = "another-account"
    for hours in (1, 2):
        factories.delivery(received_at=now - hours * HOUR)
    settings.CARRIER_ACCOUNT = silent.name.partition(" ")[0]
    assert read()["portal_webhook_age_seconds", "CARRIER"] == pytest.approx(2 * 3600, abs=60)


@pytest.mark.postgres
def test_money_labels_restores_reports_and_alerts_are_reported(quill: Sender, alice: User, settings: Any) -> None:
    now = timezone.now()
    factories.stored_label(factories.order(quill, alice, status="booked"))
    DailySpend.objects.create(day=now.date(), spent=1234)
    factories.billing_report(uploaded_at=now - HOUR)
    factories.restore(restored_at=now - HOUR)
    alerting.check_conditions(now)
    found = read()
    assert found["portal_daily_money_spent",] == 1234
    assert found["portal_daily_money_limit",] == settings.DAILY_MONEY_LIMIT
    assert found["portal_label_store_bytes",] > 0
    assert found["portal_label_store_quota_bytes",] == 50e9
    assert found["portal_restore_gaps",] == 1
    assert found["portal_billing_report_age_seconds",] == pytest.approx(3600, abs=60)
    assert (found["portal_alerts_open", "page"], found["portal_alerts_open", "ticket"]) == (1, 0)
    assert ("portal_backup_age_seconds",) not in found


def test_the_last_backup_is_reported_if_backups_are_stamped(settings: Any, tmp_path: Path) -> None:
    settings.RESTORE_MARK_FILE = str(tmp_path / "stamp")
    marks.renew_mark(now=timezone.now() - HOUR)
    assert read()["portal_backup_age_seconds",] == pytest.approx(3600, abs=60)


@pytest.mark.postgres
def test_the_page_takes_as_many_queries_for_many_rows_as_for_one(quill: Sender, alice: User) -> None:
    cost = []
    for more in (0, 1, 9):
        for _ in range(more):
            order = factories.order(quill, alice, status="unconfirmed", due_at=timezone.now())
            factories.stored_label(order)
            factories.event(factories.parcel(order), source="poll")
            factories.delivery()
            DeadLetter.objects.create(job="book", row=order.pk, failures=5, parked_at=timezone.now())
        read()
        with CaptureQueriesContext(connection) as seen:
            read()
        cost.append(len(seen))
    assert cost[0] == cost[1] == cost[2] <= 45


def test_no_label_is_reserved_by_prometheus(db: None) -> None:
    """Prometheus would rename it at each scrape, and every rule that uses it would find nothing."""
    labels = labels_by_name(scrape().content.decode()) | labels_by_name(generate_latest(REGISTRY).decode())
    assert not [name for name, of in labels.items() if of & {"job", "instance"}]


def test_no_label_contains_a_person_a_parcel_or_a_secret(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="unconfirmed", due_at=timezone.now())
    text = scrape().content.decode()
    for private in (quill.name, alice.email, str(order.uuid), order.receiver_name, TOKEN, "canary", "http"):
        assert private not in text


# -- What a process reports about itself --------------------------------------------------------------


@pytest.fixture
def port(settings: Any) -> int:
    settings.METRICS_PORT = free_port()
    return int(settings.METRICS_PORT)


@pytest.fixture
def served(port: int) -> Iterator[list[bool]]:
    """A process that serves metrics. The last item of the list says whether it is alive."""
    alive = [True]
    server = metrics_port.serve_metrics(lambda: alive[-1])
    assert server
    yield alive
    stop(server)


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, ""


def test_a_port_reports_its_processs_calls_by_operation_and_outcome(
    served: list[bool], port: int, carrier: SandboxCarrier, quill: Sender, alice: User
) -> None:
    def calls(outcome: str) -> tuple[float, float, float]:
        found = samples(get(port, "/metrics")[1])
        names = ("calls_total", "call_seconds_count", "call_seconds_sum")
        total, count, seconds = (found.get((f"portal_carrier_{name}", "quote", outcome), 0.0) for name in names)
        return total, count, seconds

    before = calls("ok"), calls("unknown")
    asking.ask_for_prices(quill, factories.details(quill), by=alice, now=timezone.now())
    carrier.trouble("quote", "500")
    details = factories.details(quill)
    heavier = details.at_weight(details.measures.weight * 2)
    with pytest.raises(OutcomeUnknown):
        asking.ask_for_prices(quill, heavier, by=alice, now=timezone.now())
    after = calls("ok"), calls("unknown")
    assert [(new[0] - old[0], new[1] - old[1]) for new, old in zip(after, before, strict=True)] == [(1, 1), (1, 1)]
    assert after[0][2] > before[0][2]
    bounds = re.findall(r'portal_carrier_call_seconds_bucket\{le="([^"]+)",op', get(port, "/metrics")[1])
    assert {"0.1", "20.0", "+Inf"} <= set(bounds)


def test_a_port_says_whether_its_process_is_alive(served: list[bool], port: int) -> None:
    assert get(port, "/livez") == (200, "200 OK")
    served.append(False)
    assert get(port, "/livez")[0] == 503
    assert get(port, "/")[0] == 404


def test_nothing_listens_if_no_port_is_set(settings: Any) -> None:
    assert settings.METRICS_PORT == 0
    assert metrics_port.serve_metrics(lambda: True) is None


def test_a_sweeper_is_alive_while_it_sweeps_and_not_once_it_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = Sweep()
    assert sweep.is_alive()
    sweep.looked_at -= HANGS_AFTER + 1
    assert not sweep.is_alive()
    sweep._do_chores()
    assert sweep.is_alive()
    sweep.looked_at -= HANGS_AFTER + 1
    sweep.once(all_kinds()[:1])
    assert sweep.is_alive()


# -- The rules -----------------------------------------------------------------------------------

RULES_FILE = ROOT / "deploy/prometheus.rules.yml"
RULES = [rule for group in yaml.safe_load(RULES_FILE.read_text())["groups"] for rule in group["rules"]]
RECORDED = {rule["record"]: rule["expr"] for rule in RULES if "record" in rule}
WORDS = {"sum", "max", "rate", "absent", "histogram_quantile", "by", "and", "or"}
NAME = re.compile(r"\b[a-z_][a-z0-9_:]*\b")


def labels_by_name(text: str) -> dict[str, set[str]]:
    return {
        sample.name: set(sample.labels) for family in text_string_to_metric_families(text) for sample in family.samples
    }


@pytest.fixture
def real(carrier: SandboxCarrier, quill: Sender, alice: User, settings: Any, tmp_path: Path) -> dict[str, set[str]]:
    """Return the labels of every metric, by name, from a real scrape of each kind."""
    settings.RESTORE_MARK_FILE = str(tmp_path / "stamp")
    marks.renew_mark(now=timezone.now())
    asking.ask_for_prices(quill, factories.details(quill), by=alice, now=timezone.now())
    factories.delivery()
    factories.billing_report()
    Certificate.objects.create(server="portal.example:443", ends_at=timezone.now(), seen_at=timezone.now())
    return labels_by_name(scrape().content.decode()) | labels_by_name(generate_latest(REGISTRY).decode())


def used(expression: str) -> tuple[set[str], set[tuple[str, str]], set[str]]:
    """Return an expression's metrics, the labels it matches with their metrics, and the labels it groups by."""
    matched = {
        (name, label)
        for name, matchers in re.findall(r"([a-z_][\w:]*)\{([^}]*)\}", expression)
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers)
    }
    summed = {label.strip() for by in re.findall(r"\bby \(([^)]*)\)", expression) for label in by.split(",")}
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)", " ", expression)
    return set(NAME.findall(bare)) - WORDS, matched, summed


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.get("alert") or rule["record"])
def test_each_rule_uses_metrics_that_exist(rule: dict[str, Any], real: dict[str, set[str]]) -> None:
    names, matched, summed = used(rule["expr"])
    assert names
    shown = names - set(RECORDED)
    assert shown <= set(real)
    for name in names & set(RECORDED):
        assert used(RECORDED[name])[0] <= set(real), "a recorded figure is made of what is told"
    for name, label in matched:
        assert label in real[name], f"{name} has no label {label}"
    for name in shown:
        assert summed <= real[name], f"{name} has not the labels {summed}"
    mentioned = set(re.findall(r"\$labels\.(\w+)", str(rule.get("annotations", {}))))
    for label in mentioned:
        assert all(label in labels_of(name, real) for name in names), f"no label {label} is left to be named"
    if "alert" in rule:
        assert rule["labels"]["severity"] in {"page", "ticket"}


def labels_of(name: str, real: dict[str, set[str]]) -> set[str]:
    """Return the labels of a metric, or those left on a recorded one."""
    if name not in RECORDED:
        return real[name]
    _, _, summed = used(RECORDED[name])
    return summed or set.union(*(real[inner] for inner in used(RECORDED[name])[0]))


def test_a_rule_with_an_unknown_metric_is_noticed() -> None:
    expression = 'sum by (kind) (rate(portal_nothing_total{outcome="ok"}[5m])) > portal_jobs_due'
    assert used(expression) == (
        {"portal_nothing_total", "portal_jobs_due"},
        {("portal_nothing_total", "outcome")},
        {"kind"},
    )


@pytest.mark.skipif(not shutil.which("promtool"), reason="Debian's package prometheus has promtool")
def test_prometheus_accepts_the_rules() -> None:
    checked = subprocess.run(["promtool", "check", "rules", RULES_FILE], capture_output=True, text=True, check=False)  # noqa: S607
    assert checked.returncode == 0, checked.stdout + checked.stderr
