"""`./dev bench`: its goals, its ratios, which processes' CPU it counts, and the data it creates."""

import datetime as dt
import os
import subprocess
import sys

import pytest
from django.conf import settings
from django.db.models import Count
from django.utils import timezone

from orders.models import BookingAttempt, CarrierCall, Label, Order, OrderChange
from shipping_portal.jobs.registry import all_kinds
from tools.bench import filling, parcels
from tools.bench.bookings import cpu_of
from tools.bench.parcels import Figure
from tools.bench.rows import insert
from tools.bench.ways import cpu_of_children
from tracking.models import Parcel, TrackingEvent

BURNT = 0.05  # seconds; the kernel counts in hundredths
BURN = f"import time\nwhile time.process_time() < {BURNT}: pass"
LEAST = Figure("bookings", 1.0, is_least=True)
MOST = Figure("Python", 1.2)
OF_OURS = Figure("WAL", 10.0, is_ours=True)


def test_the_goals_are_those_set_before_measuring() -> None:
    assert {figure.name: figure.goal for figure in (*parcels.FIGURES, parcels.PRESSES)} == {
        "bookings a second": 1.0,
        "Python of the workers, ms": 1.2,
        "PostgreSQL, ms": 2.0,
        "WAL without the labels' bytes, kB": 10.0,
        "a press, ms": 1.8,
        "presses a second": 1.8,
    }


@pytest.mark.parametrize(
    ("figure", "rounds", "is_good"),
    [
        (LEAST, [[100.0, 90.0], [80.0, 80.0], [1.0, 90.0]], True),
        (LEAST, [[100.0, 90.0], [79.0, 80.0], [1.0, 90.0]], False),
        (MOST, [[12.0, 10.0]], True),
        (MOST, [[12.1, 10.0]], False),
        (OF_OURS, [[10.0, 1.0]], True),
        (OF_OURS, [[10.1, 100.0]], False),
    ],
)
def test_a_missed_goal_is_printed_as_missed(
    figure: Figure, rounds: list[list[float]], is_good: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """The median of the rounds counts."""
    assert parcels._tell(figure, rounds) is is_good
    assert ("OVER" in capsys.readouterr().out) is not is_good


def test_cpu_of_a_process_that_has_ended_counts() -> None:
    before, without = cpu_of(os.getpid(), ended=True), cpu_of(os.getpid())
    with subprocess.Popen([sys.executable, "-SEc", BURN]) as child:
        assert child.pid in cpu_of_children(os.getpid())
    assert child.pid not in cpu_of_children(os.getpid())
    assert cpu_of(os.getpid(), ended=True) - before >= BURNT / 2
    assert cpu_of(os.getpid()) - without < BURNT / 2


@pytest.mark.django_db
@pytest.mark.postgres
@pytest.mark.skipif(
    "sqlite" in settings.DATABASES["default"]["ENGINE"], reason="it is filled by PostgreSQL's statements"
)
@pytest.mark.usefixtures("as_the_owner")  # who may ANALYZE
def test_the_bench_fills_the_same_tables_as_real_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each account has the requested rows, and each order has everything that booking and tracking it would leave."""
    monkeypatch.setattr(filling, "FILES", 1)
    cast = filling.fill(100, accounts=2)
    orders = Order.objects.filter(pk__gt=cast.key)
    assert [orders.filter(sender=sender).count() for sender in (cast.sender, cast.sender + 1)] == [100, 100]
    for model, beside in ((BookingAttempt, 1), (Label, 2), (Parcel, 1)):
        assert model.objects.filter(order__in=orders).count() == 200 * beside
    delivered = Order.objects.filter(progress="delivered").annotate(scans=Count("parcel__events"))
    assert delivered.count() > 150
    assert set(delivered.values_list("scans", flat=True)) == {6}
    assert TrackingEvent.objects.filter(deliveries=None).count() == filling.SCANS - 1
    assert (
        not OrderChange.objects.exclude(order__cancelled_at=None).values("order").annotate(n=Count("pk")).exclude(n=4)
    )
    kept = timezone.now() - dt.timedelta(days=7)
    assert orders.filter(quote=None, created_at__gt=kept).count() == 0 < orders.filter(quote=None).count()
    assert 200 < CarrierCall.objects.count() < 2000
    assert not any(kind.due(timezone.now() + dt.timedelta(hours=1)).exists() for kind in all_kinds())


def test_a_column_the_model_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="no column weight"):
        insert(OrderChange(pk=1), "SELECT 1", {"weight": "new.weight"})
