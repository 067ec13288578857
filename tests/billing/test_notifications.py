"""A posted report is emailed to people who see money: size charges with their reasons, and on Monday the statement."""

import datetime as dt
import re
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.mail import mailing, outbox
from shipping_portal.accounts.models import Membership, Notification, NotificationChoice, Sender, User
from shipping_portal.billing.charges import correcting, matching
from shipping_portal.billing.disputes import disputing
from shipping_portal.billing.models import BillingReport, Charge, week_of
from shipping_portal.billing.pages import line_reasons, statements
from shipping_portal.billing.reports import posting
from shipping_portal.billing.reports.balancing import report_balances
from shipping_portal.jobs import sweep
from shipping_portal.refused import Refused
from tests import factories

pytestmark = pytest.mark.django_db

MEASURED = {"declared_kg": "1.0000", "measured_kg": "1.6000"}


@pytest.fixture
def report(db: None) -> BillingReport:
    """A report that was read and can be posted."""
    return factories.billing_report(state="checked")


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked")


def lines(kind: str = "charge") -> list[str]:
    return list(Notification.objects.filter(kind=kind).order_by("pk").values_list("line", flat=True))


def size_charge(order: Order | None, report: BillingReport, **fields: Any) -> Charge:
    return factories.charge(order, "under-declared", "4.13", report=report, **{**MEASURED, **fields})


def post(report: BillingReport) -> BillingReport:
    posting.state_total(report, {row.currency: row.found for row in report_balances(report)})
    posting.post_report(report, by=None, now=timezone.now())
    return report


def sent(kind: str) -> list[Any]:
    """Send the due emails of this kind and return them."""
    due = Notification.objects.filter(kind=kind, sent_at=None)
    due.update(due_at=timezone.now() - dt.timedelta(seconds=1))
    for pk in due.values_list("pk", flat=True):
        mailing.send_due_mail(pk)
    return list(mail.outbox)


def test_the_email_about_a_size_charge_has_the_declared_and_measured_weights(
    order: Order, report: BillingReport
) -> None:
    size_charge(order, report)
    post(report)
    assert lines() == [f"$4.13 added to {order}. You declared 1 kg. The carrier measured 1.6 kg."]


def test_a_report_and_its_notifications_are_saved_together_or_not_at_all(order: Order, report: BillingReport) -> None:
    size_charge(order, report)
    with transaction.atomic():
        post(report)
        transaction.set_rollback(True)
    assert not Notification.objects.exists()


@pytest.mark.parametrize(("days", "is_news"), [(100, True), (130, False)])
def test_no_emails_are_sent_about_a_report_of_a_week_long_ago(
    order: Order, quill: Sender, days: int, is_news: bool
) -> None:
    """A business that moves to this portal uploads a year of reports."""
    report = factories.billing_report(state="checked", week=week_of(timezone.now().date() - dt.timedelta(days=days)))
    size_charge(order, report)
    post(report)
    assert bool(lines() and lines("statement")) is is_news
    assert bool(lines() or lines("statement")) is is_news


def test_only_owners_and_bookkeepers_get_emails_about_money(
    order: Order, report: BillingReport, alice: User, ana: User, bea: User, vic: User, bob: User
) -> None:
    size_charge(order, report)
    post(report)
    for kind in ("charge", "statement"):
        people = set(Notification.objects.filter(kind=kind).values_list("user__email", flat=True))
        assert people == {alice.email, bea.email}, kind


def test_prices_refunds_and_unposted_or_unassigned_lines_are_not_size_charges(
    order: Order, report: BillingReport
) -> None:
    for kind, amount in (("order", "12.08"), ("delay-refund", "-3.00"), ("credit", "-1.00")):
        factories.charge(order, kind, amount, report=report)
    size_charge(order, factories.billing_report(state="checked"))
    factories.charge(None, "oversize", "9.00", report=report)
    post(report)
    assert lines() == []


@pytest.mark.parametrize("count", [1, 3])
def test_j9_the_email_links_to_its_only_charge_or_to_the_weeks_size_charges(
    order: Order, report: BillingReport, bea: User, count: int
) -> None:
    for _ in range(count):
        size_charge(order, report)
    post(report)
    page = (
        f"/parcels/{order.uuid}/#charges" if count == 1 else f"/billing/{statements.week_name(report.week)}/?kind=size"
    )
    for message in sent("charge"):
        assert f"{settings.SITE_URL}{page}\n" in str(message.body)
        assert str(message.body).count("$4.13 added to") == count
        assert message.subject == ("A size charge was added" if count == 1 else f"{count} size charges were added")
    assert len(mail.outbox) == 2


def test_r17_no_email_about_money_has_an_address_a_name_or_a_signed_link(
    quill: Sender, alice: User, report: BillingReport
) -> None:
    order = factories.order(quill, alice, status="booked", public_tracking_url="https://carrier.example/?token=x")
    factories.stored_label(order)
    size_charge(order, report)
    post(report)
    for message in (*sent("charge"), *sent("statement")):
        inside = [link for link in re.findall(r"https?://\S+", str(message.body)) if "/unsubscribe/" not in link]
        assert len(inside) == 1
        assert inside[0].startswith(settings.SITE_URL + "/")
        assert message.content_subtype == "plain"
        assert message.attachments == []
        for private in ("token=", "carrier.example", ".pdf", "Sample Street", "noor.tamsin", "Tamsin"):
            assert private not in str(message.body) + message.subject


@pytest.mark.parametrize(
    ("kind", "posted", "older", "is_news"),  # days
    [
        ("oversize", 13, 0, True),
        ("order", 0, 0, False),
        ("oversize", 15, 0, False),
        ("oversize", 0, 128, False),
        ("oversize", None, 0, False),  # it is news when its report is posted
    ],
)
def test_a_size_charge_assigned_later_is_emailed_if_it_is_still_news(
    order: Order, report: BillingReport, alice: User, kind: str, posted: int | None, older: int, is_news: bool
) -> None:
    line = factories.charge(None, kind, "9.00", report=report, reference=str(order))
    if posted is not None:
        at = timezone.now() - dt.timedelta(days=posted)
        post(report)
        BillingReport.objects.update(ended_at=at, week=report.week - dt.timedelta(days=older))
        Charge.objects.update(posted_at=at)
    assert lines() == []
    matching.match_late()
    assert Charge.objects.get(pk=line.pk).sender == order.sender
    assert lines() == [f"$9.00 added to {order}. It was over the service's limit."] * is_news


def test_an_operators_assignment_is_emailed_but_not_to_later_team_members(
    order: Order, report: BillingReport, quill: Sender
) -> None:
    line = factories.charge(None, "oversize", "9.00", report=report)
    post(report)
    factories.member(quill, factories.user("carol@quill.example"))
    matching.assign_charge(line, sender=quill)
    assert Notification.objects.filter(kind="charge").get().path.endswith("?kind=size")


@pytest.mark.parametrize("has_left", [False, True])
def test_a_reversed_charge_is_not_emailed_unless_already_sent(
    order: Order, report: BillingReport, sam: User, has_left: bool
) -> None:
    line = size_charge(order, report, pk=1)
    size_charge(order, report, pk=12, reference="SOTHER")
    post(report)
    if has_left:
        sent("charge")
    correcting.reverse_charge(Charge.objects.get(pk=line.pk), by=sam, now=timezone.now(), reason="-")
    assert [text.split()[3] for text in lines()] == [*([f"{order}."] * has_left), "SOTHER."]


def test_a_sweep_does_not_explain_charges_again(
    order: Order, report: BillingReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    size_charge(order, report)
    post(report)
    explained: list[Charge] = []
    monkeypatch.setattr(line_reasons, "measured_sentence", lambda charge, _: explained.append(charge) or "")
    monkeypatch.setattr(sweep, "close_old_connections", lambda: None)  # a test's transaction holds the only one
    sweep.Sweep().once_or_log()
    assert explained == []
    assert lines()


@pytest.mark.parametrize(("days", "is_news"), [(120, True), (121, False)])
def test_a_held_line_that_counts_at_last_is_emailed_for_120_days(order: Order, days: int, is_news: bool) -> None:
    now = timezone.now()
    old = factories.billing_report(week=(now - dt.timedelta(days=days)).date())
    held = size_charge(order, old, held="twice", posted_at=None)
    assert posting.decide_lines([held], post=True, now=now) == [held]
    assert bool(lines()) is bool(lines("statement")) is is_news


def test_the_statement_is_emailed_on_monday_at_seven_with_its_net_amount(
    order: Order, report: BillingReport, quill: Sender
) -> None:
    factories.charge(order, "order", "12.08", report=report)
    factories.charge(order, "delay-refund", "-2.00", report=report)
    post(report)
    words = statements.week_words(report.week, quill)
    assert lines("statement") == [f"Your statement for {words} is ready: $10.08 for 1 parcel."]
    row = Notification.objects.get(kind="statement")
    due = row.due_at
    assert due
    local = due.astimezone(quill.tzinfo)
    assert (local.weekday(), local.hour, local.minute) == (0, 7, 0)
    assert dt.timedelta(0) < due - timezone.now() <= dt.timedelta(days=7)
    assert row.path == f"/billing/{statements.week_name(report.week)}/"
    assert str(report.week.day) in words


def test_two_reports_for_one_week_are_one_statement(order: Order, report: BillingReport) -> None:
    for one in (report, factories.billing_report(state="checked", week=report.week)):
        factories.charge(order, "order", "12.08", report=one)
        post(one)
    assert len(lines("statement")) == 1


def test_charges_can_be_emailed_once_a_week(order: Order, report: BillingReport, alice: User) -> None:
    NotificationChoice.objects.create(user=alice, kind="charge", when="weekly")
    for _ in range(2):
        size_charge(order, report)
    post(report)
    assert not Notification.objects.filter(kind="charge", due_at__lte=timezone.now() + outbox.GATHER).exists()
    sent("charge")
    sent("statement")
    links = sorted(re.findall(r"(/billing/\S+)", "".join(str(message.body) for message in mail.outbox)))
    name = statements.week_name(report.week)
    assert links == [f"/billing/{name}/", f"/billing/{name}/?kind=size"]


def test_somebody_who_no_longer_sees_money_is_not_sent_pending_emails(
    order: Order, report: BillingReport, bea: User, alice: User
) -> None:
    size_charge(order, report)
    post(report)
    Membership.objects.filter(user=bea).update(role="shipper")
    assert [message.to for message in sent("charge")] == [[alice.email]]


def test_a_bookkeeper_can_choose_only_kinds_about_money(bea: User, visit: Any) -> None:
    answer = visit(bea).get("/settings/notifications/")
    assert [name for name, *_ in answer.context["rows"]] == ["charge", "answer", "statement"]
    visit(bea).post("/settings/notifications/", {"charge": "off", "pickup": "off"})
    assert list(NotificationChoice.objects.values_list("kind", "when")) == [("charge", "off")]


def test_many_charges_take_as_many_queries_as_one(order: Order) -> None:
    def queries(charges: int) -> int:
        made = factories.billing_report(state="checked")
        for number in range(charges):
            size_charge(order, made, word=f"Adjustment {made.pk} {number}")  # else it was posted before
        with CaptureQueriesContext(connection) as captured:
            post(made)
        return len(captured)

    queries(1)
    assert queries(1) == queries(30)


def test_the_person_who_disputed_a_charge_is_emailed_the_answer_and_credit(
    order: Order, alice: User, bea: User, sam: User
) -> None:
    line, now = factories.charge(order, "under-declared", "4.13", reference=str(order)), timezone.now()
    asked = disputing.open_for(line, by=bea, text="We weighed it twice.", now=now)
    assert lines("answer") == []
    disputing.answer_dispute(asked, accepted=True, text="You are right.", by=sam, now=now, credit=Decimal("4.13"))
    said = f"We've answered your question about {order}: $4.13 credited. The answer is next to the charge."
    assert lines("answer") == [said]
    notice = Notification.objects.get(kind="answer")
    assert (notice.user, notice.path) == (bea, f"/parcels/{order.uuid}/#charges")


def test_an_answer_without_a_credit_mentions_none_and_is_emailed_once(order: Order, alice: User, sam: User) -> None:
    line = factories.charge(None, "oversize", "9.00", sender=order.sender, reference="")
    asked = disputing.open_for(line, by=alice, text="We weighed it twice.", now=timezone.now())
    disputing.answer_dispute(asked, accepted=False, text="It is.", by=sam, now=timezone.now())
    with pytest.raises(Refused):
        disputing.answer_dispute(asked, accepted=False, text="It is.", by=sam, now=timezone.now())
    assert lines("answer") == ["We've answered your question about a charge. The answer is next to the charge."]
    assert Notification.objects.get(kind="answer").path == f"/billing/{statements.week_name(line.week)}/"


def test_each_senders_link_depends_only_on_its_own_charges(
    order: Order, report: BillingReport, quill: Sender, bob: User
) -> None:
    theirs = factories.order(bob.membership.sender, bob, status="booked")
    size_charge(theirs, report)
    for _ in range(2):
        size_charge(order, report)
    post(report)
    alone = Notification.objects.filter(kind="charge", user=bob).values_list("path", flat=True)
    assert list(alone) == [f"/parcels/{theirs.uuid}/#charges"]
    several = Notification.objects.filter(kind="charge", sender=quill).values_list("path", flat=True)
    assert set(several) == {f"/billing/{statements.week_name(report.week)}/?kind=size"}


@pytest.mark.parametrize(("whose", "is_alone"), [("nobody", True), ("bob", True), ("quill", False)])
def test_a_charge_matched_later_links_to_its_parcel_if_it_is_the_senders_only_one(
    order: Order, report: BillingReport, bob: User, alice: User, whose: str, is_alone: bool
) -> None:
    other = {"bob": bob.membership.sender, "quill": order.sender, "nobody": None}[whose]
    factories.charge(None, "oversize", "5.00", report=report, sender=other)
    factories.charge(order, "order", "12.08", report=report)  # no size charge
    line = factories.charge(None, "oversize", "9.00", report=report, reference=str(order))
    post(report)
    matching.match_late()
    notice = Notification.objects.get(kind="charge", dedupe_key__startswith=f"charge:{line.pk}", user=alice)
    page = f"/parcels/{order.uuid}/#charges"
    assert notice.path == (page if is_alone else f"/billing/{statements.week_name(report.week)}/?kind=size")


def test_a_statement_email_adds_up_this_senders_week_by_currency(
    order: Order, report: BillingReport, quill: Sender, alice: User, bob: User
) -> None:
    other = factories.order(quill, alice, status="booked")
    earlier = report.week - dt.timedelta(days=7)
    factories.charge(order, "order", "99.00", week=earlier)
    factories.charge(order, "order", "50.00", report=factories.billing_report(state="checked"))
    factories.charge(order, "credit", "-1.00", report=factories.billing_report(week=report.week))
    factories.charge(factories.order(bob.membership.sender, bob, status="booked"), report=report)
    for amount, of, currency in (("7.00", other, "USD"), ("12.08", order, "AUD"), ("3.00", order, "AUD")):
        factories.charge(of, "under-declared", amount, report=report, currency=currency)
    post(report)
    [line] = Notification.objects.filter(kind="statement", user=alice).values_list("line", flat=True)
    assert line.endswith("ready: $14.08 AUD and $7.00 USD for 2 parcels.")


def test_a_parcel_with_lines_in_two_currencies_counts_once_on_the_statement(
    order: Order, report: BillingReport, alice: User
) -> None:
    for amount, currency in (("12.08", "AUD"), ("7.00", "CAD")):
        factories.charge(order, "under-declared", amount, report=report, currency=currency)
    post(report)
    [line] = Notification.objects.filter(kind="statement", user=alice).values_list("line", flat=True)
    assert line.endswith("ready: $12.08 AUD and $7.00 CAD for 1 parcel.")
