"""The size guard's rule: which parcels of a size count, what is typical, and who is warned."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.drafting.parcel_details import ParcelDetails
from orders.models import Order
from shipping_portal.accounts.models import ParcelSize, Sender, User
from shipping_portal.billing.charges import correcting
from shipping_portal.billing.models import Charge, Dispute
from shipping_portal.billing.pages import size_guard
from shipping_portal.carrier.messages import Measures
from tests import factories

pytestmark = pytest.mark.django_db

Bill = Callable[..., Order]


@pytest.fixture
def shoebox(quill: Sender, alice: User) -> ParcelSize:
    return factories.size(quill, name="Shoebox", weight=Decimal(1))


@pytest.fixture
def bill(shoebox: ParcelSize, quill: Sender, alice: User) -> Bill:
    """`bill("1.3")` is a Shoebox parcel declared at 1 kg, but measured and billed at 1.3 kg; `bill()` is as declared."""

    def billed(measured: str = "", *, size: ParcelSize = shoebox, **fields: Any) -> Order:
        order = factories.order(
            size.sender, alice, size=size, **{"status": "booked", "weight_kg": Decimal(1), **fields}
        )
        factories.charge(order)
        if measured:
            line = {"declared_kg": Decimal(1), "measured_kg": Decimal(measured)}
            factories.charge(order, "under-declared", "4.13", **line)
        return order

    return billed


def details(of: Sender, size: ParcelSize | None, weight: str = "1", unit: str = "kg") -> ParcelDetails:
    measures = Measures(Decimal(weight), unit, Decimal(32), Decimal(24), Decimal(11), "cm")
    return factories.details(of, measures=measures, size=str(size.uuid) if size else "")


def said(of: Sender, size: ParcelSize | None, weight: str = "1") -> tuple[int, int, str] | None:
    found = size_guard.weight_advice(of, details(of, size, weight))
    return found and (len(found.history.above), found.history.billed, f"{found.weight.normalize():f}")


def test_a_size_warns_from_two_heavier_parcels_in_the_last_five(bill: Bill, quill: Sender, shoebox: ParcelSize) -> None:
    assert said(quill, shoebox) is None
    for _ in range(4):
        bill()
    bill("1.3")
    assert said(quill, shoebox) is None
    bill("1.3")
    assert said(quill, shoebox) == (2, 5, "1.3")


def test_only_the_last_five_billed_parcels_count(bill: Bill, quill: Sender, shoebox: ParcelSize) -> None:
    for _ in range(3):
        bill("1.3")
    factories.order(quill, quill.memberships.get().user, status="booked", size=shoebox)  # not billed yet
    bill(status="cancelled")
    assert said(quill, shoebox) == (3, 3, "1.3")
    for _ in range(3):
        bill()
    assert said(quill, shoebox) == (2, 5, "1.3")
    bill()
    assert said(quill, shoebox) is None, "the carrier found the newer ones as declared"


def test_the_typical_weight_is_the_median_and_never_rounded_down(
    bill: Bill, quill: Sender, shoebox: ParcelSize
) -> None:
    for measured in ("1.2", "4.8", "1.301"):
        bill(measured)
    assert said(quill, shoebox) == (3, 3, "1.31")
    bill("1.6")
    assert said(quill, shoebox) == (4, 4, "1.6"), "of two middle ones the heavier"
    assert size_guard.in_unit(Decimal("1.3"), "lb") == Decimal("2.87")


@pytest.mark.parametrize(("weight", "warned"), [("0.8", True), ("1.29", True), ("1.3", False), ("2", False)])
def test_only_a_lower_declared_weight_is_warned_about(
    bill: Bill, quill: Sender, shoebox: ParcelSize, weight: str, warned: bool
) -> None:
    bill("1.3"), bill("1.3")
    assert (said(quill, shoebox, weight) is not None) is warned


def test_a_parcel_with_another_weight_is_still_that_size_by_its_sides(
    bill: Bill, quill: Sender, shoebox: ParcelSize
) -> None:
    bill("1.3"), bill("1.3")
    assert said(quill, None, "1.1") == (2, 2, "1.3")
    factories.size(quill, name="Heavy Shoebox", weight=Decimal(3))
    assert said(quill, None, "1.1") is None, "two sizes have these sides, so neither is guessed"
    assert said(quill, shoebox, "1.1") is not None


def test_a_parcel_measured_as_declared_or_larger_but_no_heavier_does_not_count(
    bill: Bill, quill: Sender, shoebox: ParcelSize
) -> None:
    for _ in range(3):
        bill("1.0")
        line = {"declared_m3": Decimal("0.008"), "measured_m3": Decimal("0.012")}
        factories.charge(bill(), "under-declared", "2.00", **line)
    assert said(quill, shoebox) is None


def test_declared_values_come_from_the_order_if_the_report_has_none(
    bill: Bill, quill: Sender, shoebox: ParcelSize
) -> None:
    for weight in ("1", "1", "1.4"):
        order = bill(weight_kg=Decimal(weight))
        factories.charge(order, "oversize", "9.00", measured_kg=Decimal("1.3"))
    assert said(quill, shoebox) == (2, 3, "1.3")


def test_a_reversed_credited_or_unposted_charge_does_not_count(
    bill: Bill, quill: Sender, alice: User, sam: User, shoebox: ParcelSize
) -> None:
    now = timezone.now()
    for _ in range(4):
        bill("1.3")
    lines = list(Charge.objects.filter(kind="under-declared").order_by("pk"))
    correcting.reverse_charge(lines[0], by=sam, now=now, reason="measured with another parcel on the scale")
    assert said(quill, shoebox) == (3, 4, "1.3")
    asked = Dispute.objects.create(charge=lines[1], sender=quill, made_by=alice, made_at=now, text="It was 1 kg.")
    assert said(quill, shoebox) == (3, 4, "1.3"), "a question is no answer"
    Dispute.objects.filter(pk=asked.pk).update(state="accepted")
    assert said(quill, shoebox) == (2, 4, "1.3")
    Charge.objects.filter(pk=lines[2].pk).update(posted_at=None)
    assert said(quill, shoebox) is None


def test_other_accounts_sizes_do_not_count(bill: Bill, quill: Sender, shoebox: ParcelSize, bob: User) -> None:
    theirs = bob.membership.sender
    bill("1.3", size=factories.size(theirs, name="Shoebox"))
    bill("1.3", size=theirs.sizes.get())
    assert said(quill, shoebox) is None
    assert size_guard.weight_advice(quill, details(quill, theirs.sizes.get())) is None
    assert size_guard.size_histories(quill) == size_guard.size_rates(quill, timezone.now().date()) == {}


def test_a_dismissed_warning_is_not_repeated_for_that_size(bill: Bill, quill: Sender, shoebox: ParcelSize) -> None:
    bill("1.3"), bill("1.3")
    parcel = details(quill, shoebox)
    assert size_guard.weight_advice(quill, parcel, kept=str(shoebox.uuid)) is None
    assert size_guard.weight_advice(quill, parcel, kept="another") is not None


def test_accepting_it_declares_that_weight_and_ends_the_warning(bill: Bill, quill: Sender, shoebox: ParcelSize) -> None:
    parcel = details(quill, shoebox)
    bill("1.3"), bill("1.3")
    advice = size_guard.weight_advice(quill, parcel)
    assert advice
    heeded = parcel.at_weight(advice.weight)
    assert (heeded.measures.weight, heeded.measures.length, heeded.size) == (Decimal("1.30"), Decimal(32), "")
    assert heeded.receiver == parcel.receiver
    assert size_guard.weight_advice(quill, heeded) is None


def test_a_sender_in_pounds_is_advised_in_pounds(bill: Bill, quill: Sender, shoebox: ParcelSize) -> None:
    bill("1.3"), bill("1.3")
    found = size_guard.weight_advice(quill, details(quill, shoebox, "2.2", "lb"))
    assert found
    assert (found.weight, found.declared, found.unit) == (Decimal("2.87"), Decimal("2.2"), "lb")
    assert size_guard.weight_advice(quill, details(quill, shoebox, "2.2", "lb").at_weight(found.weight)) is None


def test_a_sizes_rates_count_each_parcel_once(bill: Bill, quill: Sender, shoebox: ParcelSize) -> None:
    today = timezone.now().date()
    for _ in range(7):
        bill()
    twice = bill("1.3")
    factories.charge(twice, "oversize", "9.00")
    factories.charge(bill(), "oversize", "9.00")
    long_ago = factories.billing_report(week=today - dt.timedelta(weeks=60))
    old = factories.order(quill, quill.memberships.get().user, size=shoebox, status="booked")
    factories.charge(old, "under-declared", "4.13", report=long_ago)
    rate = size_guard.size_rates(quill, today)[shoebox.pk]
    assert (rate.billed, rate.charged, rate.under_declared, rate.percent) == (9, 2, 1, 11)


def test_all_histories_together_equal_each_one_alone_with_no_more_queries(
    bill: Bill, quill: Sender, shoebox: ParcelSize
) -> None:
    for number in range(6):
        other = factories.size(quill, name=f"Box {number}")
        for measured in ("", "1.3", "1.5", "", "2.0", "1.4")[: number + 1]:
            bill(measured, size=other)
    with CaptureQueriesContext(connection) as seen:
        found = size_guard.size_histories(quill)
    assert len(seen) == 2
    assert len(found) == 6
    for size in quill.sizes.exclude(pk=shoebox.pk):
        one = size_guard.weight_advice(quill, details(quill, size))
        assert (one.history if one else None) == (found[size.pk] if found[size.pk].typical else None)
