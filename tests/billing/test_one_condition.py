"""Every compare-and-swap in billing: a row that fails just one condition stays as it is."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.charges import correcting, matching, reconciling
from shipping_portal.billing.disputes import disputing
from shipping_portal.billing.models import BillingReport, Charge, Dispute
from shipping_portal.billing.reports import checking, posting
from tests import factories
from tests.swaps import row, stays

pytestmark = pytest.mark.django_db
NOW = dt.datetime(2026, 11, 27, 7, tzinfo=dt.UTC)
STATES = set(BillingReport.State.values)


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked")


# Each act on a report, with the states from which it may be done.
ACTS: dict[str, tuple[set[str], Callable[[BillingReport, User], Any]]] = {
    "total": ({"checked"}, lambda report, by: posting.state_total(report, {"AUD": Decimal("1.00")})),
    "post": ({"checked"}, lambda report, by: posting.post_report(report, by=by, now=NOW)),
    "void": ({"reading", "checked", "damaged"}, lambda report, by: posting.void_report(report, by=by, now=NOW)),
    "again": ({"reading", "checked", "damaged"}, lambda report, by: checking.read_report_again(report, now=NOW)),
    "reverse": ({"posted"}, lambda report, by: correcting.reverse_report(report, by=by, now=NOW, reason="-")),
    "repeats": ({"checked"}, lambda report, by: posting.count_repeats(report)),
}
WRONG = [(name, state) for name, (states, _) in ACTS.items() for state in sorted(STATES - states)]


@pytest.mark.parametrize(("name", "state"), WRONG)
def test_a_report_in_another_state_stays_as_it_is(name: str, state: str, order: Order, sam: User) -> None:
    report = factories.billing_report(state="checked" if "checked" in ACTS[name][0] else "posted")
    line = factories.charge(order, report=report, posted_at=None, is_repeat=name == "repeats")
    before = row(line)
    stays(report, {"state": state}, lambda: ACTS[name][1](report, sam))
    assert row(line) == before


@pytest.mark.parametrize("differs", [{"is_repeat": True}, {"held": "twice"}], ids=str)
def test_a_repeat_or_a_line_on_hold_is_not_posted_with_its_report(
    differs: dict[str, Any], order: Order, sam: User
) -> None:
    report = factories.billing_report(state="checked")
    factories.charge(order, report=report, posted_at=None)
    other = factories.charge(order, "order", "5.00", report=report, posted_at=None)
    Charge.objects.filter(pk=other.pk).update(**differs)
    posting._post_lines(report, NOW)
    assert Charge.objects.get(pk=other.pk).posted_at is None
    assert report.lines.filter(posted_at=NOW).count() == 1


def test_the_last_line_of_a_batch_is_posted_with_it(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "BATCH", 2)
    report = factories.billing_report(state="checked")
    lines = [factories.charge(order, report=report, posted_at=None, line=number) for number in (2, 3, 4, 5)]
    posting._post_lines(report, NOW)
    assert report.lines.filter(posted_at=NOW).count() == len(lines)


HELD = {"held": "twice", "is_repeat": False, "posted_at": None}


@pytest.mark.parametrize(
    "differs",
    [{"held": ""}, {"is_repeat": True}, {"posted_at": NOW}, {"report__state": "void"}, {"report__state": "reversed"},
     {"report__state": "reading"}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("post", [True, False])
def test_a_line_no_longer_on_hold_stays_as_it_is(differs: dict[str, Any], post: bool, order: Order) -> None:
    report = factories.billing_report(state="checked")
    line = factories.charge(order, report=report, posted_at=None)
    Charge.objects.filter(pk=line.pk).update(**HELD)
    differs = dict(differs)
    state = differs.pop("report__state", "checked")
    BillingReport.objects.filter(pk=report.pk).update(state=state)
    stays(line, dict(differs), lambda: posting.decide_lines([line], post=post, now=NOW))


def test_a_line_on_hold_that_another_report_posted_stays_as_it_is(order: Order) -> None:
    line = factories.charge(order, report=factories.billing_report(state="checked"), posted_at=None, key="same")
    Charge.objects.filter(pk=line.pk).update(**HELD)
    assert posting.decide_lines([line], post=False, now=NOW) == [line]
    posted = factories.charge(order, key="another")
    stays(line, {"key": posted.key, "decision": ""}, lambda: posting.decide_lines([line], post=True, now=NOW))


@pytest.mark.parametrize("differs", ["sender", "is_repeat"])
def test_a_line_that_has_an_owner_already_stays_as_it_is(differs: str, quill: Sender, bob: User, order: Order) -> None:
    line = factories.charge(None, reference=order.carrier_reference, posted_at=None)
    other = {"sender": bob.membership.sender_id, "is_repeat": True}
    assert stays(line, {differs: other[differs]}, lambda: matching._attach_charge(line, quill, order)) is False


@pytest.mark.parametrize("is_unexpected", [True, False])
def test_a_line_is_accepted_once(is_unexpected: bool, order: Order) -> None:
    line = factories.charge(order)
    Charge.objects.filter(pk=line.pk).update(is_unexpected=is_unexpected)
    assert reconciling.accept_price(line) is is_unexpected
    assert stays(line, {"is_unexpected": False}, lambda: reconciling.accept_price(line)) is False


@pytest.mark.parametrize("state", ["accepted", "declined"])
def test_a_dispute_already_answered_stays_as_it_is(state: str, order: Order, alice: User, sam: User) -> None:
    line = factories.charge(order)
    made = Dispute.objects.create(
        sender=order.sender, charge=line, made_by=alice, made_at=timezone.now(), text="-", facts={}
    )
    stays(made, {"state": state}, lambda: disputing.answer_dispute(made, accepted=True, text="yes", by=sam, now=NOW))
    assert not Charge.objects.filter(kind="credit").exists()


def test_reversing_a_report_skips_reversed_and_unposted_lines(order: Order, sam: User) -> None:
    report = factories.billing_report()
    reversed_by_hand, waits = (factories.charge(order, report=report) for _ in range(2))
    correcting.reverse_charge(reversed_by_hand, by=sam, now=NOW, reason="-")
    Charge.objects.filter(pk=waits.pk).update(posted_at=None)
    assert correcting.reverse_report(report, by=sam, now=NOW, reason="-") == 0
