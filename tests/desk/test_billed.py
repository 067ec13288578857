"""A posted report is news to those who see money: each size charge explained, and on Monday the statement."""

import datetime as dt
import re
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.billing import disputing, weeks
from orders.models import BillingReport, Charge, Dispute, Order
from shipping_portal.accounts import mailing, notices
from shipping_portal.accounts.models import Notice, NoticeChoice, Sender, User
from shipping_portal.accounts.templatetags.words import local_date
from shipping_portal.desk.noticing import Finder
from tests import factories

pytestmark = pytest.mark.django_db

MEASURED = {"declared_kg": "1.0000", "measured_kg": "1.6000"}


@pytest.fixture
def report(db: None) -> BillingReport:
    return factories.billing_report()


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked")


def told(kind: str = "charge", now: dt.datetime | None = None) -> list[str]:
    Finder().look(now or timezone.now())
    return list(Notice.objects.filter(kind=kind).order_by("pk").values_list("line", flat=True))


def sent(kind: str) -> list[Any]:
    """What was owed of a kind leaves; the mails."""
    owed = Notice.objects.filter(kind=kind, sent_at=None)
    owed.update(due_at=timezone.now() - dt.timedelta(seconds=1))
    for pk in owed.values_list("pk", flat=True):
        mailing.work(pk)
    return list(mail.outbox)


def size_charge(order: Order, report: BillingReport, **fields: Any) -> None:
    factories.charge(order, "under-declared", "4.13", report=report, **{**MEASURED, **fields})


def test_a_size_charge_is_told_with_what_was_declared_and_measured(
    order: Order, report: BillingReport
) -> None:
    size_charge(order, report)
    assert told() == [f"$4.13 added to {order}. You declared 1 kg; the carrier measured 1.6 kg."]


def test_owners_and_bookkeepers_are_told_of_money_and_nobody_else(
    order: Order, report: BillingReport, alice: User, ana: User, bea: User, vic: User, bob: User
) -> None:
    size_charge(order, report)
    told()
    for kind in ("charge", "statement"):
        people = set(Notice.objects.filter(kind=kind).values_list("user__email", flat=True))
        assert people == {alice.email, bea.email}, kind


def test_prices_refunds_and_what_is_not_posted_are_no_size_charges(
    order: Order, report: BillingReport, alice: User
) -> None:
    for kind, amount in (("order", "12.08"), ("delay-refund", "-3.00"), ("credit", "-1.00")):
        factories.charge(order, kind, amount, report=report)
    size_charge(order, factories.billing_report(state="checked"))
    factories.charge(None, "oversize", "9.00", report=report)
    assert told() == []


def test_j9_the_mail_of_one_charge_leads_to_it_on_its_parcels_page(
    order: Order, report: BillingReport, bea: User
) -> None:
    size_charge(order, report)
    told()
    for message in sent("charge"):
        assert f"{settings.SITE_URL}/parcels/{order.uuid}/#charges\n" in str(message.body)


def test_j9_the_mail_of_several_leads_to_the_size_charges_of_the_statement(
    order: Order, report: BillingReport, alice: User
) -> None:
    for _ in range(3):
        size_charge(order, report)
    told()
    [message] = sent("charge")
    name = weeks.name_of(report.week)
    assert str(message.body).count("$4.13 added to") == 3
    assert f"{settings.SITE_URL}/billing/{name}/?kind=size\n" in str(message.body)
    assert message.subject == "A size charge was added"


def test_r17_no_mail_about_money_has_an_address_a_name_or_a_signed_link(
    quill: Sender, alice: User, report: BillingReport
) -> None:
    order = factories.order(
        quill, alice, status="booked", public_tracking_url="https://carrier.example/?token=x"
    )
    factories.stored_label(order)
    size_charge(order, report)
    told()
    for message in (*sent("charge"), *sent("statement")):
        inside = [
            link for link in re.findall(r"https?://\S+", str(message.body)) if "/unsubscribe/" not in link
        ]
        assert len(inside) == 1
        assert inside[0].startswith(settings.SITE_URL + "/")
        assert message.content_subtype == "plain"
        assert message.attachments == []
        for private in ("token=", "carrier.example", ".pdf", "Sample Street", "noor.tamsin", "Tamsin"):
            assert private not in str(message.body) + message.subject


def test_a_charge_is_told_once_even_after_a_restart(order: Order, report: BillingReport, alice: User) -> None:
    size_charge(order, report)
    assert told() == told()
    assert Notice.objects.filter(kind="statement").count() == 1


def test_a_line_that_finds_its_sender_days_later_is_told_then(
    order: Order, report: BillingReport, alice: User
) -> None:
    line = factories.charge(None, "oversize", "9.00", report=report, reference=str(order))
    finder = Finder()
    finder.look(timezone.now())
    assert not Notice.objects.filter(kind="charge").exists()
    type(line).objects.filter(pk=line.pk).update(sender=order.sender, order=order)
    finder.look(timezone.now() + dt.timedelta(days=5))
    assert Notice.objects.get(kind="charge").line.startswith(f"$9.00 added to {order}.")


def test_a_charge_that_was_taken_back_is_no_news(
    order: Order, report: BillingReport, alice: User, sam: User
) -> None:
    line = factories.charge(order, "oversize", "9.00", report=report)
    fields = {"posted_at": timezone.now(), "sender": order.sender, "order": order, "by": sam, "reason": "-"}
    type(line).objects.create(
        **fields, account=line.account, week=line.week, kind="oversize", stated=-9, amount=-9, currency="AUD",
        key="back", reverses=line,
    )  # fmt: skip
    assert told() == []


def test_the_statement_is_told_on_monday_at_seven_with_the_pages_own_net(
    order: Order, report: BillingReport, alice: User, quill: Sender
) -> None:
    factories.charge(order, "order", "12.08", report=report)
    factories.charge(order, "delay-refund", "-2.00", report=report)
    words = weeks.words_of(report.week, quill)
    assert told("statement") == [f"The statement for {words} is there: net $10.08, 1 parcel."]
    row = Notice.objects.get(kind="statement")
    due = row.due_at
    assert due
    local = due.astimezone(quill.tzinfo)
    assert (local.weekday(), local.hour, local.minute) == (0, 7, 0)
    assert dt.timedelta(0) < due - timezone.now() <= dt.timedelta(days=7)
    assert row.path == f"/billing/{weeks.name_of(report.week)}/"
    assert local_date(report.week, quill) in words


@pytest.mark.parametrize(
    ("told_at", "due_at"),
    [
        # Monday is 23 November 2026 in Melbourne; seven in the morning there is eight in the evening of Sunday.
        (dt.datetime(2026, 11, 22, 19, 59, tzinfo=dt.UTC), dt.datetime(2026, 11, 22, 20, tzinfo=dt.UTC)),
        (dt.datetime(2026, 11, 22, 20, 1, tzinfo=dt.UTC), dt.datetime(2026, 11, 29, 20, tzinfo=dt.UTC)),
        (dt.datetime(2026, 11, 25, 1, 0, tzinfo=dt.UTC), dt.datetime(2026, 11, 29, 20, tzinfo=dt.UTC)),
    ],
)
def test_what_is_weekly_leaves_on_the_next_monday(
    quill: Sender, alice: User, told_at: dt.datetime, due_at: dt.datetime
) -> None:
    fact = notices.Fact(quill, "statement", "a", "News.", "/billing/", told_at)
    notices.tell(fact, now=told_at)
    assert Notice.objects.get().due_at == due_at


def test_charges_may_come_once_a_week_instead_in_a_mail_of_their_own(
    order: Order, report: BillingReport, alice: User
) -> None:
    NoticeChoice.objects.create(user=alice, kind="charge", when="weekly")
    for _ in range(2):
        size_charge(order, report)
    told()
    assert Notice.objects.filter(kind="charge", due_at__lte=timezone.now() + notices.GATHER).count() == 0
    Notice.objects.update(due_at=timezone.now())
    for pk in Notice.objects.values_list("pk", flat=True):
        mailing.work(pk)
    links = sorted(re.findall(r"(/billing/\S+)", "".join(str(message.body) for message in mail.outbox)))
    name = weeks.name_of(report.week)
    assert links == [f"/billing/{name}/", f"/billing/{name}/?kind=size"]


def test_who_sees_money_no_more_gets_nothing_that_was_owed(
    order: Order, report: BillingReport, bea: User, alice: User
) -> None:
    size_charge(order, report)
    told()
    bea.membership.__class__.objects.filter(user=bea).update(role="shipper")
    assert [message.to for message in sent("charge")] == [[alice.email]]


def test_a_bookkeeper_chooses_among_the_kinds_about_money_only(bea: User, visit: Any) -> None:
    answer = visit(bea).get("/settings/notifications/")
    assert [name for name, _, _ in answer.context["rows"]] == ["charge", "answer", "statement"]
    visit(bea).post("/settings/notifications/", {"charge": "off", "pickup": "off"})
    assert list(NoticeChoice.objects.values_list("kind", "when")) == [("charge", "off")]


def test_many_charges_cost_as_few_queries_as_one(order: Order, alice: User) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            Finder().look(timezone.now())
        return len(captured)

    first = factories.billing_report()
    size_charge(order, first)
    queries()
    few = queries()
    for _ in range(30):
        size_charge(order, first)
    queries()
    assert queries() == few <= 20


def disputed(line: Charge, by: User) -> Dispute:
    return disputing.open_for(line, by=by, text="We weighed it twice.", now=timezone.now())


def test_who_asked_about_a_charge_is_told_of_the_answer_and_its_credit(
    order: Order, report: BillingReport, alice: User, bea: User, sam: User
) -> None:
    found = disputed(
        factories.charge(order, "under-declared", "4.13", report=report, reference=str(order)), bea
    )
    assert told("answer") == []
    now = timezone.now()
    disputing.answer(found, accepted=True, text="You are right.", by=sam, now=now, credit=Decimal("4.13"))
    said = f"Your question about {order} is answered: $4.13 credited. The answer stands at the charge."
    assert told("answer") == [said]
    [notice] = Notice.objects.filter(kind="answer")
    assert notice.user == bea
    assert notice.path == f"/parcels/{order.uuid}/#charges"


def test_an_answer_without_money_promises_none_and_is_told_once(
    order: Order, report: BillingReport, alice: User, sam: User
) -> None:
    line = factories.charge(None, "oversize", "9.00", report=report, sender=order.sender, reference="")
    disputing.answer(disputed(line, alice), accepted=False, text="It is.", by=sam, now=timezone.now())
    assert told("answer") == ["Your question about a charge is answered. The answer stands at the charge."]
    assert told("answer") == told("answer")
    assert Notice.objects.get(kind="answer").path == f"/billing/{weeks.name_of(line.week)}/"
