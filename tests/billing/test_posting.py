"""A report counts once, and completely or not at all. A posted line is only ever corrected by another line."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.charges import correcting, matching
from shipping_portal.billing.disputes import disputing
from shipping_portal.billing.models import BillingReport, Charge
from shipping_portal.billing.reports import posting
from shipping_portal.billing.reports.balancing import Tally, report_tallies
from shipping_portal.refused import Refused
from tests import factories
from tests.billing.conftest import line, refund, summed, total, written

Take = Callable[..., BillingReport]
pytestmark = pytest.mark.django_db


def post(report: BillingReport) -> BillingReport:
    posting.post_report(report, by=None, now=timezone.now())
    return report


def oversize(reference: str, price: str, **cells: str) -> dict[str, str]:
    return line(reference, price, Type="Adjustment: Oversize penalty", **cells)


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked", carrier_reference="SQ7K2M")


def test_nothing_counts_before_it_is_posted(take: Take, order: Order, alice: User) -> None:
    report = take(summed(line("SQ7K2M")))
    assert not Charge.objects.for_user(alice).exists()
    post(report)
    assert Charge.objects.for_user(alice).net() == {"AUD": Decimal("12.08")}


@pytest.mark.parametrize(("stated", "apart"), [("13.08", "-1.00"), ("12.09", "-0.01"), ("12.07", "0.01")])
def test_a_report_out_of_balance_is_not_posted_and_the_difference_is_shown(
    take: Take, order: Order, stated: str, apart: str
) -> None:
    report = take(written(line("SQ7K2M"), total(stated)))
    assert posting.posting_obstacles(report) == [
        f"AUD lines add up to 12.08, but the stated total is {stated}: off by {apart}."
    ]
    with pytest.raises(posting.NotReady):
        post(report)
    assert not Charge.objects.posted().exists()


def test_a_currency_whose_lines_are_missing_is_out_of_balance(take: Take, order: Order) -> None:
    report = take(written(line("SQ7K2M"), total("12.08"), total("5.00", "USD")))
    assert "USD lines add up to 0" in posting.posting_obstacles(report)[0]


def test_a_posted_report_stores_its_totals_but_counts_matched_lines_afresh(
    take: Take, order: Order, quill: Sender, alice: User
) -> None:
    post(take(summed(line("SQ7K2M"))))
    report = post(take(summed(line("SQ7K2M"), line("SLATER1", "9.00"), oversize("SQ7K2M", "2.00", Currency="USD"))))
    [tally] = report_tallies([report]).values()
    assert tally == Tally(1, 1, 1, 0, 0, {"AUD": Decimal("21.08"), "USD": Decimal("2.00")})
    with CaptureQueriesContext(connection) as queries:
        report_tallies([report])
    assert not any("SUM(" in query["sql"] for query in queries)  # its lines are not added up again
    factories.order(quill, alice, status="booked", carrier_reference="SLATER1")
    matching.match_late()
    [tally] = report_tallies([report]).values()
    assert (tally.matched, tally.unmatched, tally.repeats) == (2, 0, 1)


def test_a_report_is_posted_once(take: Take, order: Order) -> None:
    report = post(take(summed(line("SQ7K2M"))))
    with pytest.raises(posting.NotReady, match="posted"):
        post(report)


def test_a_posted_report_cannot_be_voided(take: Take, order: Order) -> None:
    report = post(take(summed(line("SQ7K2M"))))
    with pytest.raises(posting.NotReady):
        posting.void_report(report, by=None, now=timezone.now())
    assert report.lines.count() == 1


def test_voiding_a_report_deletes_its_lines_and_keeps_its_file(take: Take, order: Order) -> None:
    report = take(summed(line("SQ7K2M")))
    posting.void_report(report, by=None, now=timezone.now())
    assert (report.state, report.lines.count()) == ("void", 0)
    assert bytes(report.file.content) == summed(line("SQ7K2M"))


def test_a_line_posted_before_is_shown_but_does_not_count_again(take: Take, order: Order) -> None:
    post(take(summed(line("SQ7K2M"))))
    later = post(take(summed(line("SQ7K2M"), oversize("SQ7K2M", "3.00"))))
    assert list(later.lines.order_by("line").values_list("is_repeat", flat=True)) == [True, False]
    assert Charge.objects.posted().net() == {"AUD": Decimal("15.08")}


def test_a_line_in_two_checked_reports_counts_only_in_the_first(take: Take, order: Order) -> None:
    first = take(summed(line("SQ7K2M")))
    second = take(summed(line("SQ7K2M"), oversize("SQ7K2M", "1.00")))
    post(first)
    post(second)
    assert Charge.objects.posted().net() == {"AUD": Decimal("13.08")}


def test_another_carrier_accounts_line_is_not_a_repeat(take: Take, order: Order, settings: Any) -> None:
    first = post(take(summed(line("SQ7K2M"))))
    settings.CARRIER_ACCOUNT = "another-account"
    second = post(take(summed(line("SQ7K2M"))))
    assert first.lines.get().key == second.lines.get().key
    assert Charge.objects.posted().net() == {"AUD": Decimal("24.16")}


def test_repeats_count_when_the_carrier_says_they_are_new(take: Take, order: Order) -> None:
    post(take(summed(line("SQ7K2M"))))
    later = take(summed(line("SQ7K2M"), refund("SQ7K2M")))
    assert posting.count_repeats(later) == 1
    post(later)
    assert Charge.objects.posted().net() == {"AUD": Decimal("12.08")}


def test_the_database_refuses_a_line_posted_twice_or_of_an_unknown_kind(order: Order) -> None:
    charge = factories.charge(order)
    with pytest.raises(IntegrityError), transaction.atomic():
        factories.charge(order, key=charge.key)
    with pytest.raises(IntegrityError), transaction.atomic():
        factories.charge(order, kind="unknown")
    with pytest.raises(IntegrityError), transaction.atomic():
        factories.charge(order, sender=None)


def test_an_unassigned_line_is_on_no_senders_page(take: Take, order: Order, alice: User, bob: User) -> None:
    post(take(summed(line("SNOBODY1"))))
    assert not Charge.objects.for_user(alice).exists()
    assert not Charge.objects.for_user(bob).exists()


def test_an_unassigned_line_is_matched_as_soon_as_an_order_has_its_reference(take: Take, order: Order) -> None:
    report = post(take(summed(line("SLATER1"))))
    assert matching.match_late() == 0
    Order.objects.filter(pk=order.pk).update(carrier_reference="SLATER1")
    assert matching.match_late() == 1
    assert report.lines.get().order == order
    assert matching.match_late() == 0


@pytest.mark.parametrize("named", ["SLATER", "sLater"])
def test_a_line_stays_unmatched_if_its_order_loses_the_reference_meanwhile(
    take: Take, order: Order, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """An adoption is undone after the owner is found and before the line is changed."""
    post(take(summed(line(named, "12.08"))))
    Order.objects.update(carrier_reference="SLATER")
    attach = matching._attach_charge

    def after_it_was_undone(*line_and_owner: Any) -> bool:
        Order.objects.update(status="unconfirmed", carrier_reference=None)
        return attach(*line_and_owner)

    monkeypatch.setattr(matching, "_attach_charge", after_it_was_undone)
    assert matching.match_late() == 0
    assert Charge.objects.unmatched().count() == 1


def test_matching_a_line_takes_the_same_lock_as_undoing_an_adoption(take: Take, order: Order) -> None:
    post(take(summed(line("SLATER", "12.08"))))
    Order.objects.update(carrier_reference="SLATER")
    with CaptureQueriesContext(connection) as queries:
        assert matching.match_late() == 1
    found = [query["sql"] for query in queries]
    lock = next(at for at, sql in enumerate(found) if 'FROM "orders_carrieraccount"' in sql)
    look = next(at for at, sql in enumerate(found) if sql.startswith("SELECT 1") and '"orders_order"' in sql)
    change = next(at for at, sql in enumerate(found) if sql.startswith('UPDATE "billing_charge"'))
    assert lock < look < change


def test_an_operator_assigns_a_line_once(take: Take, order: Order, bob: User) -> None:
    charge = post(take(summed(line("SNOBODY1")))).lines.get()
    matching.assign_charge(charge, sender=order.sender, order=order)
    with pytest.raises(Refused):
        matching.assign_charge(charge, sender=bob.membership.sender)
    charge.refresh_from_db()
    assert charge.sender == order.sender


def test_a_line_is_never_assigned_to_one_sender_with_anothers_order(take: Take, order: Order, bob: User) -> None:
    charge = post(take(summed(line("SNOBODY1")))).lines.get()
    with pytest.raises(ValueError, match="is not"):
        matching.assign_charge(charge, sender=bob.membership.sender, order=order)


class TestCorrections:
    def test_a_line_is_reversed_once_by_a_line_of_the_opposite_amount(self, order: Order, sam: Any) -> None:
        charge = factories.charge(order, kind="oversize", amount="25.00")
        made = correcting.reverse_charge(charge, by=sam, now=timezone.now(), reason="The carrier withdrew it.")
        assert (made.kind, made.amount, made.order) == ("oversize", Decimal("-25.00"), order)
        assert Charge.objects.posted().net() == {"AUD": Decimal(0)}
        for again in (charge, made):
            with pytest.raises(Refused):
                correcting.reverse_charge(again, by=sam, now=timezone.now(), reason="Twice.")

    def test_an_unposted_line_cannot_be_reversed(self, take: Take, order: Order, sam: Any) -> None:
        charge = take(summed(line("SQ7K2M"))).lines.get()
        with pytest.raises(Refused):
            correcting.reverse_charge(charge, by=sam, now=timezone.now(), reason="Too early.")

    def test_a_credit_is_a_negative_line_with_a_reason(self, order: Order, sam: Any, alice: User) -> None:
        correcting.credit_sender(
            order.sender, Decimal("5.00"), "AUD", by=sam, now=timezone.now(), reason="Sorry.", order=order
        )
        (charge,) = Charge.objects.for_user(alice)
        assert (charge.kind, charge.amount, charge.reason) == ("credit", Decimal("-5.00"), "Sorry.")

    @pytest.mark.parametrize(
        ("zone", "at", "day", "week"),
        [
            ("Australia/Melbourne", "2026-11-22T12:59:59Z", dt.date(2026, 11, 22), dt.date(2026, 11, 16)),
            ("Australia/Melbourne", "2026-11-22T13:00:00Z", dt.date(2026, 11, 23), dt.date(2026, 11, 23)),
            ("America/Vancouver", "2026-11-23T07:59:59Z", dt.date(2026, 11, 22), dt.date(2026, 11, 16)),
            ("America/Vancouver", "2026-11-23T08:00:00Z", dt.date(2026, 11, 23), dt.date(2026, 11, 23)),
        ],
    )
    def test_credits_and_reversals_are_in_the_current_week_of_the_senders_zone(
        self, order: Order, sam: Any, zone: str, at: str, day: dt.date, week: dt.date
    ) -> None:
        Sender.objects.update(zone=zone)
        sender, now = Sender.objects.get(pk=order.sender_id), dt.datetime.fromisoformat(at)
        credit = correcting.credit_sender(sender, Decimal("5.00"), "AUD", by=sam, now=now, reason="Sorry.")
        charge = Charge.objects.get(pk=factories.charge(order, kind="order", amount="12.08").pk)
        reversal = correcting.reverse_charge(charge, by=sam, now=now, reason="Wrong.")
        assert {(line.day, line.week) for line in (credit, reversal)} == {(day, week)}

    @pytest.mark.parametrize("amount", ["0", "-1"])
    def test_a_credit_must_be_above_zero(self, order: Order, sam: Any, amount: str) -> None:
        with pytest.raises(ValueError, match="for"):
            correcting.credit_sender(order.sender, Decimal(amount), "AUD", by=sam, now=timezone.now(), reason="No.")


class TestDisputes:
    def test_a_dispute_keeps_the_declared_measured_and_quoted_values(self, order: Order, alice: User) -> None:
        charge = factories.charge(order, kind="under-declared", amount="4.13", measured_kg=Decimal("1.6000"))
        made = disputing.open_for(charge, by=alice, text="It weighs 1 kg.", now=timezone.now())
        assert made.facts["measured_kg"] == "1.6"
        assert made.facts["declared_kg"] == "2.4"
        assert made.facts["quoted"] == "12.08"

    def test_a_line_has_one_open_dispute_at_a_time(self, order: Order, alice: User, sam: Any) -> None:
        charge = factories.charge(order, kind="oversize", amount="4.13")
        first = disputing.open_for(charge, by=alice, text="Why?", now=timezone.now())
        with pytest.raises(disputing.AlreadyOpen):
            disputing.open_for(charge, by=alice, text="Why?", now=timezone.now())
        disputing.answer_dispute(first, accepted=False, text="It is 130 cm.", by=sam, now=timezone.now())
        disputing.open_for(charge, by=alice, text="It is not.", now=timezone.now())

    def test_an_accepted_dispute_can_give_a_credit_once(self, order: Order, alice: User, sam: Any) -> None:
        charge = factories.charge(order, kind="oversize", amount="4.13")
        made = disputing.open_for(charge, by=alice, text="Why?", now=timezone.now())
        give = {"accepted": True, "text": "You are right.", "by": sam, "now": timezone.now()}
        disputing.answer_dispute(made, **give, credit=Decimal("4.13"))
        with pytest.raises(Refused):
            disputing.answer_dispute(made, **give, credit=Decimal("4.13"))
        assert Charge.objects.for_user(alice).net() == {"AUD": Decimal(0)}
        assert (made.state, made.credit.amount) == ("accepted", Decimal("-4.13"))
