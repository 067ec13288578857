"""A report is read completely, matched and classified. Nothing in it counts until it is posted."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from orders.calling import gateway
from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.models import BillingReport, Charge, ChargeWord, week_of
from shipping_portal.billing.reports import checking, posting, uploads
from shipping_portal.billing.reports import kinds as kinds_of
from shipping_portal.billing.reports.balancing import report_tallies
from shipping_portal.billing.reports.fields import give_profiles, profile_of
from tests import factories
from tests.billing.conftest import line, refund, summed, total, written

Take = Callable[..., BillingReport]
pytestmark = pytest.mark.django_db


def kinds(report: BillingReport) -> list[tuple[str, str]]:
    lines = report.lines.order_by("line", "part")
    return [(kind, str(amount)) for kind, amount in lines.values_list("kind", "amount")]


@pytest.fixture
def order(quill: Sender, alice: User) -> Any:
    return factories.order(quill, alice, status="booked", carrier_reference="SQ7K2M")


def test_a_new_account_has_billing_columns_before_its_first_report() -> None:
    account = gateway.current_account()
    give_profiles(timezone.now())
    assert account.billing_profile.columns["reference"]
    give_profiles(timezone.now())


def test_a_line_belongs_to_the_order_with_its_reference_and_to_its_sender(take: Take, order: Any) -> None:
    report = take(summed(line("SQ7K2M"), line("SNOBODY1")))
    ours, nobodys = report.lines.order_by("line")
    assert (report.state, report.rows) == ("checked", 2)
    assert (ours.order, ours.sender) == (order, order.sender)
    assert (nobodys.order, nobodys.sender) == (None, None)


def test_a_line_keeps_its_customer_reference(take: Take) -> None:
    report = take(summed(line("SNOBODY1", Customer_Reference="unk-1")))
    assert report.lines.get().customer_reference == "unk-1"


def test_a_line_is_not_matched_to_another_carrier_accounts_order(take: Take, order: Any) -> None:
    order.account.pk, order.account.fingerprint = None, "another"
    order.account.save()
    type(order).objects.filter(pk=order.pk).update(account=order.account)
    assert take(summed(line("SQ7K2M"))).lines.get().order is None


def test_cover_inside_the_price_is_its_own_line_and_is_not_added_twice(take: Take, order: Any) -> None:
    report = take(summed(line("SQ7K2M", "16.80", Warranty_Price="2.30")))
    assert kinds(report) == [("order", "14.50"), ("cover", "2.30")]
    assert posting.posting_obstacles(report) == []


def test_cover_outside_the_price_is_added(take: Take, order: Any) -> None:
    profile = profile_of(gateway.current_account())
    profile.cover_inside = False
    profile.save()
    report = take(written(line("SQ7K2M", "14.50", Warranty_Price="2.30"), total("16.80")))
    assert kinds(report) == [("order", "14.50"), ("cover", "2.30")]
    assert posting.posting_obstacles(report) == []


def test_refund_rows_with_a_positive_price_are_refunds(take: Take, order: Any) -> None:
    report = take(summed(line("SQ7K2M"), refund("SQ7K2M", "4.00", Refund_Reason="Delay")))
    assert kinds(report) == [("order", "12.08"), ("delay-refund", "-4.00")]


def test_refund_rows_with_a_minus_sign_stay_as_they_are(take: Take, order: Any) -> None:
    profile = profile_of(gateway.current_account())
    profile.refunds_positive = False
    profile.save()
    report = take(written(refund("SQ7K2M", "-4.00"), total("-4.00")))
    assert kinds(report) == [("other-refund", "-4.00")]


@pytest.mark.parametrize(
    ("reason", "kind"), [("Delay", "delay-refund"), ("Loss", "loss-refund"), ("Other", "other-refund")]
)
def test_the_kind_of_a_refund_is_its_reason(take: Take, order: Any, reason: str, kind: str) -> None:
    assert kinds(take(summed(refund("SQ7K2M", Refund_Reason=reason))))[0][0] == kind


def test_a_refund_of_a_cancelled_order_comes_with_its_charge_or_after_invoicing(
    take: Take, quill: Sender, alice: User
) -> None:
    for reference in ("SEARLY1", "SLATER1"):
        factories.order(quill, alice, status="cancelled", carrier_reference=reference)
    first = take(summed(line("SEARLY1"), refund("SEARLY1"), line("SLATER1")))
    posting.post_report(first, by=None, now=timezone.now())
    second = take(summed(refund("SLATER1")), name="billing-2026-11-30.csv")
    assert [kind for kind, _ in kinds(first)] == ["order", "cancel-refund", "order"]
    assert [kind for kind, _ in kinds(second)] == ["cancel-refund-later"]


@pytest.mark.parametrize("rows", [[], [line("SLATER1", "12.50")]], ids=["refunded", "charged again"])
def test_a_refund_of_a_charge_on_another_invoice_of_the_week_is_after_invoicing(
    take: Take, quill: Sender, alice: User, rows: list[dict[str, str]]
) -> None:
    factories.order(quill, alice, status="cancelled", carrier_reference="SLATER1")
    first = take(summed(line("SLATER1")))
    posting.post_report(first, by=None, now=timezone.now())
    second = take(summed(*rows, refund("SLATER1")), name="second-2026-11-23.csv")
    assert first.week == second.week
    assert kinds(second)[-1][0] == "cancel-refund-later"


def test_a_refund_is_in_the_same_cycle_even_if_a_later_invoice_was_read_first(
    take: Take, quill: Sender, alice: User
) -> None:
    factories.order(quill, alice, status="cancelled", carrier_reference="SEARLY1")
    later = take(summed(line("SEARLY1")), name="later.csv", week=timezone.now().date() + timedelta(days=7))
    posting.post_report(later, by=None, now=timezone.now())
    report = take(summed(line("SEARLY1", "13.00"), refund("SEARLY1", "13.00")), week=timezone.now().date())
    assert [kind for kind, _ in kinds(report)] == ["order", "cancel-refund"]


def test_a_cancelled_order_charged_again_is_an_un_cancellation(take: Take, quill: Sender, alice: User) -> None:
    factories.order(quill, alice, status="cancelled", carrier_reference="SUSED01")
    posting.post_report(take(summed(line("SUSED01"), refund("SUSED01"))), by=None, now=timezone.now())
    assert kinds(take(summed(line("SUSED01", Order_Date="2026-11-19")))) == [("un-cancellation", "12.08")]


def test_the_first_bill_of_a_label_used_after_cancelling_is_an_un_cancellation(
    take: Take, quill: Sender, alice: User
) -> None:
    used = timezone.now()
    factories.order(quill, alice, status="cancelled", carrier_reference="SUSED01", used_after_cancel_at=used)
    report = take(summed(line("SUSED01")), name="report.csv", week=used.date())
    assert kinds(report) == [("un-cancellation", "12.08")]


def test_a_used_label_is_billed_once_by_a_line_identical_to_the_first(take: Take, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked", carrier_reference="SUSED01")
    posting.post_report(take(summed(line("SUSED01"))), by=None, now=timezone.now())
    again = take(summed(line("SUSED01"), line("SUSED02")))  # the same line once more, before anything else happened
    assert [charge.is_repeat for charge in again.lines.order_by("line")] == [True, False]
    used = timezone.now()
    Order.objects.filter(pk=order.pk).update(status="cancelled", cancelled_at=used, used_after_cancel_at=used)
    second = take(summed(refund("SUSED01"), line("SUSED01")), name=f"billing-{used + timedelta(days=7):%Y-%m-%d}.csv")
    assert kinds(second) == [("cancel-refund-later", "-12.08"), ("un-cancellation", "12.08")]
    assert not second.lines.filter(is_repeat=True).exists()
    posting.post_report(second, by=None, now=timezone.now())
    third = take(summed(line("SUSED01"), line("SUSED03")), name=f"billing-{used + timedelta(days=14):%Y-%m-%d}.csv")
    assert [charge.is_repeat for charge in third.lines.order_by("line")] == [True, False]


def test_a_used_label_is_billed_although_both_reports_waited_together(take: Take, quill: Sender, alice: User) -> None:
    used = timezone.now()
    factories.order(quill, alice, status="cancelled", carrier_reference="SUSED01", used_after_cancel_at=used)
    first = take(summed(line("SUSED01")), name="a.csv", week=used.date() - timedelta(days=7))
    second = take(summed(refund("SUSED01"), line("SUSED01")), name="b.csv", week=used.date())
    for report in (first, second):
        posting.post_report(report, by=None, now=used)
    assert [str(amount) for amount in Charge.objects.posted().order_by("pk").values_list("amount", flat=True)] == [
        "12.08", "-12.08", "12.08",
    ]  # fmt: skip


@pytest.mark.parametrize("weeks_later", [0, 1])
@pytest.mark.parametrize("posted_first", [False, True], ids=["read first", "posted first"])
def test_an_older_report_read_after_a_newer_one_still_bills_the_order(
    take: Take, quill: Sender, alice: User, *, posted_first: bool, weeks_later: int
) -> None:
    """The label is used in the older report's week, or in the newer one's."""
    used, week = timezone.now() + timedelta(weeks=weeks_later), week_of(timezone.now().date())
    factories.order(quill, alice, status="cancelled", carrier_reference="SUSED01", used_after_cancel_at=used)
    newer = take(summed(refund("SUSED01"), line("SUSED01")), name="b.csv", week=week + timedelta(days=7))
    if posted_first:
        posting.post_report(newer, by=None, now=used)
    older = take(summed(line("SUSED01")), name="a.csv", week=week)
    for report in [older] if posted_first else [older, newer]:
        posting.post_report(report, by=None, now=used)
    billed = Charge.objects.posted().order_by("week", "line").values_list("amount", flat=True)
    assert [str(amount) for amount in billed] == ["12.08", "-12.08", "12.08"]
    again = take(summed(line("SUSED01"), line("SUSED02")), name="c.csv", week=week + timedelta(days=14))
    assert [charge.is_repeat for charge in again.lines.order_by("line")] == [True, False]


def test_a_scan_before_the_cancellation_reply_shows_the_label_was_used(take: Take, quill: Sender, alice: User) -> None:
    now = timezone.now()
    factories.order(
        quill, alice, status="cancelled", carrier_reference="SUSED01", progress="collected",
        progress_at=now - timedelta(seconds=9),
    )  # fmt: skip
    posting.post_report(take(summed(line("SUSED01"), refund("SUSED01"))), by=None, now=now)
    assert not take(summed(line("SUSED01")), name="b.csv", week=now.date()).lines.get().is_repeat


def test_a_label_used_while_the_cancellation_was_unclear_is_billed_again(
    take: Take, quill: Sender, alice: User
) -> None:
    """The carrier's first reply was lost. The second said the parcel was on its way, so it was never cancelled here."""
    now = timezone.now()
    order = factories.order(
        quill, alice, status="booked", carrier_reference="SUSED01", progress="delivered", progress_at=now
    )
    posting.post_report(take(summed(line("SUSED01"))), by=None, now=now)
    order.changes.create(old="cancelling", new="cancel_unconfirmed", reason="the connection broke", at=now)
    second = take(summed(refund("SUSED01"), line("SUSED01")), name="b.csv", week=now.date() + timedelta(days=7))
    assert kinds(second) == [("cancel-refund-later", "-12.08"), ("un-cancellation", "12.08")]
    assert not second.lines.filter(is_repeat=True).exists()


def test_a_repeated_line_of_a_refunded_order_is_a_repeat_if_its_label_was_not_used(
    take: Take, quill: Sender, alice: User
) -> None:
    factories.order(quill, alice, status="cancelled", carrier_reference="SGONE01")
    posting.post_report(take(summed(line("SGONE01"), refund("SGONE01"))), by=None, now=timezone.now())
    assert take(summed(line("SGONE01"))).lines.get().is_repeat


EARLIER: list[tuple[dict[str, Any], str]] = [
    ({}, "un-cancellation"),
    ({"kind": "un-cancellation"}, "un-cancellation"),
    ({"kind": "cover"}, "order"),
    ({"week": date(2026, 11, 16)}, "un-cancellation"),
    ({"week": date(2026, 11, 23)}, "order"),  # a later week's
    ({"posted_at": None}, "order"),
    ({"reference": "sq7k2m"}, "un-cancellation"),
    ({"reference": "SOTHER"}, "order"),  # assigned to the order by hand
]


@pytest.mark.parametrize(("fields", "kind"), EARLIER)
def test_an_order_is_billed_again_only_after_an_earlier_bill_that_counts(
    order: Order, fields: dict[str, Any], kind: str
) -> None:
    values = {"kind": "order", "week": date(2026, 11, 9), **fields}
    factories.charge(order, **values)
    history = kinds_of.History([order.pk], factories.billing_report(state="checked"))
    assert history.kind("order", order, date(2026, 11, 16)) == "order"  # it was never cancelled
    order.cancelled_at = timezone.now()
    assert history.kind("order", order, date(2026, 11, 16)) == kind


@pytest.mark.parametrize(("is_repeat", "kind"), [(False, "un-cancellation"), (True, "order")])
def test_a_line_of_the_same_report_counts_before_it_is_posted_unless_it_is_a_repeat(
    order: Order, is_repeat: bool, kind: str
) -> None:
    report = factories.billing_report(state="checked", week=date(2026, 11, 16))
    factories.charge(order, report=report, is_repeat=is_repeat)
    order.cancelled_at = timezone.now()
    assert kinds_of.History([order.pk], report).kind("order", order, report.week) == kind


@pytest.mark.parametrize(
    ("of_report", "week", "kind"),
    [
        ("this", 0, "cancel-refund"),
        ("another", 0, "cancel-refund-later"),
        ("this", -7, "cancel-refund-later"),
        (None, 0, "cancel-refund-later"),
    ],
)
def test_a_refund_is_in_the_same_cycle_only_if_its_report_has_the_charge_too(
    order: Order, of_report: str | None, week: int, kind: str
) -> None:
    order.cancelled_at = timezone.now()
    this, monday = factories.billing_report(state="checked"), date(2026, 11, 16)
    reports = {"this": this, "another": factories.billing_report()}
    if of_report:
        factories.charge(order, report=reports[of_report], week=monday + timedelta(days=week))
    history = kinds_of.History([order.pk], this)
    assert history.kind(ChargeWord.ORDER_REFUND, order, monday) == kind
    assert history.kind(ChargeWord.ORDER_REFUND, None, monday) == "other-refund"
    order.cancelled_at = None
    assert history.kind(ChargeWord.ORDER_REFUND, order, monday) == "other-refund"


@pytest.mark.parametrize(
    ("fields", "is_used"),
    [
        ({"used_after_cancel_at": datetime(2026, 11, 22, 23, tzinfo=UTC)}, True),
        ({"used_after_cancel_at": datetime(2026, 11, 23, tzinfo=UTC)}, False),
        ({"progress": "in_transit", "progress_at": datetime(2026, 11, 20, tzinfo=UTC)}, False),
        (
            {
                "progress": "in_transit",
                "progress_at": datetime(2026, 11, 20, tzinfo=UTC),
                "cancelled_at": datetime(2026, 11, 20, tzinfo=UTC),
            },
            True,
        ),
        ({"cancelled_at": datetime(2026, 11, 20, tzinfo=UTC)}, False),
    ],
)
def test_a_label_counts_as_used_from_the_week_of_its_scan(order: Order, fields: dict[str, Any], is_used: bool) -> None:
    for name, value in fields.items():
        setattr(order, name, value)
    assert kinds_of.was_used(order, date(2026, 11, 16)) is is_used
    assert kinds_of.was_used(order, date(2026, 11, 9)) is False


def test_an_unknown_word_is_kept_and_stops_posting(take: Take, order: Any) -> None:
    report = take(summed(line("SQ7K2M", "3.00", Type="Adjustment: Remote area")))
    assert kinds(report) == [("unknown", "3.00")]
    assert "“Adjustment: Remote area / Paid”" in posting.posting_obstacles(report)[0]
    with pytest.raises(posting.NotReady):
        posting.post_report(report, by=None, now=timezone.now())


def test_a_report_can_be_posted_once_its_word_is_decided(take: Take, order: Any) -> None:
    report = take(summed(line("SQ7K2M", "3.00", Type="Adjustment: Remote area")))
    word = ChargeWord.objects.get(word="adjustment: remote area / paid")
    assert checking.decide_word(word, "oversize", now=timezone.now()) == [report]
    checking.read_due_report(report.pk)
    report.refresh_from_db()
    assert kinds(report) == [("oversize", "3.00")]
    posting.post_report(report, by=None, now=timezone.now())


def test_a_words_new_meaning_does_not_change_posted_lines(take: Take, order: Any) -> None:
    report = take(summed(line("SQ7K2M")))
    posting.post_report(report, by=None, now=timezone.now())
    word = ChargeWord.objects.get(word="order invoiced / paid")
    assert checking.decide_word(word, "oversize", now=timezone.now()) == []
    assert kinds(report) == [("order", "12.08")]


def test_a_damaged_file_has_no_charges_and_names_its_bad_lines(take: Take, order: Any) -> None:
    report = take(written(line("SQ7K2M"), line("SQ7K2M", "12.o8"), line("SQ7K2M"), {"Type": "torn"}))
    assert report.state == "damaged"
    assert [number for number, _ in report.problems] == [3, 5]
    assert not report.lines.exists()
    with pytest.raises(posting.NotReady):
        posting.post_report(report, by=None, now=timezone.now())


def test_a_badly_damaged_file_names_a_hundred_lines_and_counts_the_rest(take: Take) -> None:
    report = take(written(*(line("SQ7K2M", "x") for _ in range(130))))
    assert len(report.problems) == 101
    assert report.problems[-1] == [102, "And 30 more like these."]


def test_an_undecided_word_on_two_lines_is_one_obstacle(take: Take, order: Any) -> None:
    report = take(summed(*(line("SQ7K2M", word, Type="Fuel Levy") for word in ("1.00", "2.00"))))
    assert posting.posting_obstacles(report) == ["“Fuel Levy / Paid” isn't mapped yet."]


def test_a_file_with_exactly_a_hundred_damaged_lines_counts_no_others(take: Take) -> None:
    report = take(written(*(line("SQ7K2M", "x") for _ in range(100))))
    assert [number for number, _ in report.problems] == list(range(2, 102))


def test_a_file_without_lines_is_damaged(take: Take) -> None:
    assert take(written()).state == "damaged"


def test_after_a_worker_is_killed_midway_each_line_is_there_once(
    take: Take, order: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "BATCH", 2)
    rows = [line("SQ7K2M", f"{cents / 100:.2f}") for cents in range(100, 109)]
    report = uploads.store_report(gateway.current_account(), "a.csv", summed(*rows), by=None, now=timezone.now())
    store, calls = checking._store_batch, []

    def killed(*args: Any) -> None:
        calls.append(args)
        if len(calls) == 3:
            raise SystemExit
        store(*args)

    monkeypatch.setattr(checking, "_store_batch", killed)
    with pytest.raises(SystemExit):
        checking.read_due_report(report.pk)
    report.refresh_from_db()
    assert (report.state, report.read) == ("reading", 4)
    BillingReport.objects.filter(pk=report.pk).update(due_at=timezone.now())  # its lease ended
    checking.read_due_report(report.pk)
    report.refresh_from_db()
    assert (report.state, report.rows, report.lines.count()) == ("checked", 9, 9)
    assert posting.posting_obstacles(report) == []


def test_a_stalled_worker_stores_nothing_after_another_takes_over(
    take: Take, order: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = uploads.store_report(
        gateway.current_account(), "a.csv", summed(line("SQ7K2M")), by=None, now=timezone.now()
    )
    read = checking._read_report

    def overtaken(mine: BillingReport) -> None:
        BillingReport.objects.filter(pk=report.pk).update(due_at=timezone.now() + timedelta(seconds=5))
        read(mine)

    monkeypatch.setattr(checking, "_read_report", overtaken)
    checking.read_due_report(report.pk)
    assert not Charge.objects.exists()


def test_a_file_uploaded_again_is_refused_with_its_first_report(take: Take, order: Any) -> None:
    report = take(summed(line("SQ7K2M")))
    with pytest.raises(uploads.TakenBefore) as raised:
        take(summed(line("SQ7K2M")), name="another name.csv")
    assert raised.value.report == report
    posting.void_report(report, by=None, now=timezone.now())
    assert take(summed(line("SQ7K2M"))).state == "checked"


@pytest.mark.parametrize(
    ("name", "week"),
    [
        ("billing-001-2026-11-23.csv", "2026-11-16"),  # written on a Monday, for the week before
        ("billing-20261125.csv", "2026-11-23"),
    ],
)
def test_a_report_is_for_the_week_of_the_day_before_it_was_written(take: Take, name: str, week: str) -> None:
    assert take(summed(line("SQ7K2M")), name=name).week.isoformat() == week


def test_the_operator_enters_a_total_the_file_does_not_state(take: Take, order: Any) -> None:
    report = take(written(line("SQ7K2M")))
    assert "has no AUD total" in posting.posting_obstacles(report)[0]
    assert posting.state_total(report, {"AUD": Decimal("12.08")})
    report.refresh_from_db()
    assert posting.posting_obstacles(report) == []


def test_a_line_keeps_its_number_in_the_admin_when_it_is_read_again(take: Take) -> None:
    rows = [line("SQ7K2M"), line("SB4N8X", "20.00", Warranty_Price="5.00")]
    report = take(summed(*rows))
    before = dict(report.lines.filter(part=0).values_list("reference", "pk"))
    profile = profile_of(report.account)
    del profile.columns["cover"]
    profile.save()
    assert checking.read_report_again(report, now=timezone.now())
    checking.read_due_report(report.pk)
    assert dict(report.lines.values_list("reference", "pk")) == before  # the cover inside SB4N8X has no line any more


def test_lines_being_read_again_do_not_count_towards_their_order(take: Take, order: Order) -> None:
    Order.objects.filter(pk=order.pk).update(status="cancelled", cancelled_at=timezone.now())
    report = take(summed(line("SQ7K2M"), line("SQ7K2M", "9.00")))
    assert kinds(report) == [("order", "12.08"), ("un-cancellation", "9.00")]
    checking.read_report_again(report, now=timezone.now())
    assert report_tallies([report]) == {}
    checking.read_due_report(report.pk)
    assert kinds(report) == [("order", "12.08"), ("un-cancellation", "9.00")]
