"""Print requests and reports at the same moment, on PostgreSQL."""

from collections import Counter

import pytest
from django.conf import settings
from django.utils import timezone

from orders.labels import stations
from orders.models import Order, PrintJob
from shipping_portal.accounts.models import Audit, Sender, User
from tests import factories
from tests.api.conftest import Program
from tests.racing import at_once

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres,
    pytest.mark.skipif("sqlite" in settings.DATABASES["default"]["ENGINE"], reason="SQLite lets one writer in"),
]
HERE = {"installation": "0c1f8e04-3c2b-4f5e-9a76-0d6f2f4f9b11", "printer": "Zebra"}


def labels(quill: Sender, alice: User, count: int) -> list[Order]:
    for _ in range(count):
        factories.stored_label(factories.order(quill, alice, status="booked"))
    return list(Order.objects.select_related("sender").prefetch_related("labels"))


def test_simultaneous_requests_in_any_order_make_one_job_per_label(quill: Sender, alice: User) -> None:
    orders = labels(quill, alice, 12)
    benches = [factories.print_station(alice, f"Bench {number}") for number in range(2)]
    now = timezone.now()
    presses = [
        lambda station=station, mine=mine: stations.request_prints(mine, station, by=alice, now=now)
        for station in benches
        for mine in (orders, orders[::-1], orders[::2] + orders[1::2])
    ]
    assert sum(at_once(*presses)) == 12
    assert PrintJob.objects.count() == 12


def test_simultaneous_reports_and_requests_mark_a_label_once(quill: Sender, alice: User) -> None:
    orders = labels(quill, alice, 6)
    station = factories.print_station(alice)
    bench = Program(station.text)  # type: ignore[attr-defined]
    now = timezone.now()
    for _ in orders:
        stations.request_prints(orders, station, by=alice, now=now)
        job = bench.post("/print/take", HERE).json()["id"]
        report = f"/print/jobs/{job}/report"
        found = at_once(
            *[lambda url=report: bench.post(url, {"outcome": "printed"}).status_code] * 6,
            *[lambda mine=orders[::-1]: stations.request_prints(mine, station, by=alice, now=now)] * 3,
        )
        assert found[:6] == [200] * 6
        assert found[6:] == [0, 0, 0]
        orders = list(Order.objects.filter(printed_at=None).select_related("sender").prefetch_related("labels"))
    printed = Counter(Audit.objects.filter(action="label printed").values_list("subject", flat=True))
    assert set(printed.values()) == {1}
    assert len(printed) == 6
