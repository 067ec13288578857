"""The figures of the demo's month agree with each other, as anybody checking by hand would find."""

import json
import lzma
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import pytest
from django.db.models import Sum
from django.utils import timezone

from orders.labels import printing
from orders.models import Order
from shipping_portal.accounts import demo
from shipping_portal.accounts.models import Sender
from shipping_portal.billing.models import BillingReport, Charge, Dispute, WeekSum
from shipping_portal.staff.demo import demo_history

pytestmark = pytest.mark.django_db
CENT = Decimal("0.01")


@pytest.fixture
def sized(loaded: Path) -> list[Charge]:
    return list(Charge.objects.filter(kind="under-declared").select_related("order"))


def litres(order: Order) -> Decimal:
    return order.length_cm * order.width_cm * order.height_cm / 1000


def test_a_measured_parcel_is_larger_than_declared_in_some_way_and_smaller_in_none(sized: list[Charge]) -> None:
    for charge in sized:
        assert charge.order
        assert charge.declared_kg == charge.order.weight_kg
        assert abs(charge.declared_m3 * 1000 - litres(charge.order)) < Decimal("0.1")
        heavier, larger = charge.measured_kg / charge.declared_kg, charge.measured_m3 / charge.declared_m3
        assert 1 <= heavier < Decimal("1.5"), charge
        assert Decimal("0.99") < larger < Decimal("1.5"), charge
        assert max(heavier, larger) > Decimal("1.1"), charge


def test_a_size_charge_grows_with_the_difference_and_no_two_measures_are_the_same(sized: list[Charge]) -> None:
    for charge in sized:
        assert charge.order
        grown = max(charge.measured_kg / charge.declared_kg, charge.measured_m3 / charge.declared_m3) - 1
        assert abs(charge.amount - charge.order.total * grown) < Decimal("0.10"), charge
    assert len(sized) == 5
    assert len({(charge.measured_kg, charge.measured_m3) for charge in sized}) == 5
    assert len({charge.measured_m3 for charge in sized}) > 2


def test_every_order_is_charged_its_price_once_or_refunded(loaded: Path) -> None:
    found: dict[int, Decimal] = defaultdict(Decimal)
    for charge in Charge.objects.posted().exclude(kind="under-declared"):
        found[charge.order_id or 0] += charge.amount
    for order in Order.objects.filter(pk__in=found):
        assert found[order.pk] == (0 if order.status == "cancelled" else order.total), order
    assert 0 not in found


def test_lines_add_up_to_their_bill_and_statements_to_the_bills(loaded: Path) -> None:
    reports = BillingReport.objects.filter(state="posted")
    for report in reports:
        assert sum(line.amount for line in report.lines.all()) == Decimal(report.stated["AUD"])
    assert reports.count() == 4
    seen = sum(Decimal(report.stated["AUD"]) for report in reports)
    assert WeekSum.objects.filter(kind="").aggregate(sum=Sum("amount"))["sum"] == seen


def test_the_limit_counts_exactly_the_unbilled_orders(loaded: Path) -> None:
    billed = Charge.objects.posted().values("order")
    waiting = Order.objects.filter(status__in=["booked", "unconfirmed"]).exclude(pk__in=billed)
    mia = Sender.objects.get(memberships__user__email=demo.SENDER_EMAIL)
    assert sum(order.total for order in waiting) == mia.unbilled > 0


def test_a_dispute_repeats_the_figures_of_its_charge(loaded: Path) -> None:
    for dispute in Dispute.objects.select_related("charge"):
        assert Decimal(dispute.facts["charged"]) == dispute.charge.amount
        assert Decimal(dispute.facts["measured_kg"]) == dispute.charge.measured_kg
    declined = Dispute.objects.get(state="declined")
    assert f"{declined.charge.declared_kg:.1f} kg" in declined.text
    assert f"{declined.charge.measured_kg:.1f} kg" in declined.answer


def test_the_numbers_in_the_readme_are_right(loaded: Path) -> None:
    text = (Path(__file__).resolve().parents[2] / "README.md").read_text()
    month = json.loads(lzma.decompress(demo_history.FILE.read_bytes()))
    assert f"{len(month['tables']['orders.Order']['rows'])} parcels" in text
    assert Order.objects.filter(progress="held").count() == 1
    assert Order.objects.filter(progress="returning").count() == 1


def test_two_labels_are_waiting_to_be_printed(loaded: Path) -> None:
    queue = printing.to_print(Order.objects.all(), today=timezone.now().date())
    assert [order.customer_reference for order in queue] == ["#1359", "#1358"]
