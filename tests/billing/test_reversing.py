"""A posted report is reversed completely: each line gets an opposite line, and the file can be uploaded again."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from django.db.models import Q
from django.utils import timezone

from orders.calling import gateway
from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.admin import reports
from shipping_portal.billing.charges import correcting, week_sums
from shipping_portal.billing.disputes import disputing
from shipping_portal.billing.models import BillingReport, Charge, Dispute, week_of
from shipping_portal.billing.reports import checking, posting
from shipping_portal.refused import Refused
from tests import factories
from tests.billing.conftest import line, refund, summed

Take = Callable[..., BillingReport]
pytestmark = pytest.mark.django_db
ROWS = [
    line("SQ7K2M", "16.80", Warranty_Price="2.30"),
    refund("SQ7K2M", "4.00", Refund_Reason="Delay"),
    line("SB4N8X", "9.00"),
    line("SNOBODY1", "31.40"),
]
AUD = {"AUD": Decimal("12.80")}


def post(report: BillingReport) -> BillingReport:
    posting.post_report(report, by=None, now=timezone.now())
    report.refresh_from_db()
    return report


def reverse(report: BillingReport, sam: User) -> int:
    return correcting.reverse_report(report, by=sam, now=timezone.now(), reason="The carrier withdrew it.")


@pytest.fixture
def order(quill: Sender, alice: User, bob: User) -> Order:
    factories.order(bob.membership.sender, bob, status="booked", carrier_reference="SB4N8X")
    return factories.order(quill, alice, status="booked", carrier_reference="SQ7K2M")


def test_each_line_gets_an_opposite_line_this_week_and_every_total_changes(
    take: Take, order: Order, alice: User, bob: User, sam: User
) -> None:
    report = post(take(summed(*ROWS)))
    assert Charge.objects.for_user(alice).net() == AUD
    assert reverse(report, sam) == 4
    assert (report.state, report.ended_by) == ("reversed", sam)
    backs = Charge.objects.filter(report=None).order_by("reverses__line", "reverses__part")
    assert [(back.kind, str(back.amount), back.order_id, back.sender_id) for back in backs] == [
        ("order", "-14.50", order.pk, order.sender_id), ("cover", "-2.30", order.pk, order.sender_id),
        ("delay-refund", "4.00", order.pk, order.sender_id),
        ("order", "-9.00", backs[3].order_id, bob.membership.sender_id),
    ]  # fmt: skip
    week = week_of(timezone.now().astimezone(order.sender.tzinfo).date())
    assert {(back.week, back.reason, back.by_id) for back in backs} == {(week, "The carrier withdrew it.", sam.pk)}
    for user in (alice, bob):
        assert Charge.objects.for_user(user).net() == {"AUD": Decimal(0)}
    assert week_sums.wrong_weeks(Q()) == set()
    assert Charge.objects.posted().filter(sender=None).count() == 0  # nobody was charged, so nobody is refunded


def test_a_second_reversal_does_nothing(take: Take, order: Order, sam: User) -> None:
    report = post(take(summed(*ROWS)))
    reverse(report, sam)
    with pytest.raises(Refused):
        reverse(report, sam)
    assert Charge.objects.filter(report=None).count() == 4


@pytest.mark.parametrize("state", ["reading", "checked", "damaged", "void", "reversed"])
def test_only_a_posted_report_is_reversed(order: Order, sam: User, state: str) -> None:
    report = factories.billing_report(state=state)
    with pytest.raises(Refused):
        reverse(report, sam)
    report.refresh_from_db()
    assert report.state == state


def test_a_line_reversed_on_its_own_is_not_reversed_again(take: Take, order: Order, alice: User, sam: User) -> None:
    report = post(take(summed(*ROWS)))
    correcting.reverse_charge(report.lines.get(kind="delay-refund"), by=sam, now=timezone.now(), reason="A mistake.")
    assert reverse(report, sam) == 3
    assert Charge.objects.for_user(alice).net() == {"AUD": Decimal(0)}
    with pytest.raises(Refused):
        correcting.reverse_charge(report.lines.get(kind="cover"), by=sam, now=timezone.now(), reason="A mistake.")


@pytest.mark.parametrize("what", ["the line", "the report"])
def test_a_credit_for_a_dispute_is_reversed_with_its_line(
    take: Take, order: Order, alice: User, sam: User, what: str
) -> None:
    report, now = post(take(summed(*ROWS))), timezone.now()
    charge = report.lines.get(kind="order", order=order)
    dispute = Dispute.objects.create(charge=charge, sender=order.sender, made_by=alice, made_at=now, text="Why?")
    disputing.answer_dispute(dispute, accepted=True, text="Sorry.", by=sam, now=now, credit=Decimal("5.00"))
    if what == "the line":  # its delay refund stays
        correcting.reverse_charge(charge, by=sam, now=now, reason="A mistake.")
        assert Charge.objects.for_user(alice).net() == {"AUD": AUD["AUD"] - charge.amount}
    assert reports._reversal(report)[-1][1] == {"the line": "4", "the report": "6"}[what]  # the total of the preview
    reverse(report, sam)
    assert Charge.objects.for_user(alice).net() == {"AUD": Decimal(0)}
    assert week_sums.wrong_weeks(Q()) == set()


def test_the_same_file_can_be_uploaded_and_posted_again(take: Take, order: Order, alice: User, sam: User) -> None:
    reverse(post(take(summed(*ROWS))), sam)
    again = post(take(summed(*ROWS)))
    assert not again.lines.filter(Q(is_repeat=True) | ~Q(held="")).exists()
    assert Charge.objects.for_user(alice).net() == AUD
    assert week_sums.wrong_weeks(Q()) == set()
    reverse(again, sam)
    assert Charge.objects.for_user(alice).net() == {"AUD": Decimal(0)}
    assert post(take(summed(*ROWS))).lines.posted().count() == 5


def test_a_waiting_report_is_read_again_when_the_report_it_repeats_is_reversed(
    take: Take, order: Order, sam: User
) -> None:
    first = post(take(summed(*ROWS)))
    waiting = take(summed(*ROWS, line("SNEW0001", "1.00")))
    assert waiting.lines.filter(is_repeat=False).count() == 1
    reverse(first, sam)
    waiting.refresh_from_db()
    assert waiting.state == "reading"
    checking.read_due_report(waiting.pk)
    assert waiting.lines.filter(is_repeat=True).count() == 0


def test_another_report_of_the_sender_stays_as_it_is(take: Take, order: Order, alice: User, sam: User) -> None:
    other = post(take(summed(line("SQ7K2M", "3.00", Type="Adjustment: Oversize penalty"))))
    report = post(take(summed(*ROWS)))
    reverse(report, sam)
    assert Charge.objects.for_user(alice).net() == {"AUD": Decimal("3.00")}
    assert other.lines.get().key == Charge.objects.get(report=other).key
    again = take(summed(line("SQ7K2M", "3.0", Type="Adjustment: Oversize penalty")))
    assert again.lines.get().is_repeat


def test_lines_on_hold_are_closed_and_never_counted(take: Take, order: Order, sam: User) -> None:
    report = post(take(summed(*ROWS, line("SQ7K2M", "13.00"))))
    held = report.lines.exclude(held="").get()
    reverse(report, sam)
    assert not Charge.objects.on_hold().exists()
    assert posting.decide_lines([held], post=True, now=timezone.now()) == []


def test_a_line_of_a_reversed_report_is_never_charged_to_a_sender(
    take: Take, order: Order, alice: User, sam: User
) -> None:
    """Not even if an order gets its reference later."""
    from shipping_portal.billing.charges import matching  # noqa: PLC0415

    report = post(take(summed(*ROWS)))
    reverse(report, sam)
    Order.objects.filter(pk=order.pk).update(carrier_reference="SNOBODY1")
    matching.match_late()
    assert Charge.objects.for_user(alice).net() == {"AUD": Decimal(0)}


def test_another_carrier_accounts_waiting_report_is_not_touched(
    take: Take, order: Order, sam: User, settings: pytest.FixtureRequest
) -> None:
    first = post(take(summed(*ROWS)))
    settings.CARRIER_ACCOUNT = "another-account"  # type: ignore[attr-defined]
    assert gateway.current_account() != first.account
    waiting = take(summed(*ROWS))
    reverse(first, sam)
    waiting.refresh_from_db()
    assert waiting.state == "checked"
