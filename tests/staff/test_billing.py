"""Billing in the admin: a report is uploaded, read and posted; lines are assigned, reversed, credited."""

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from time_machine import TimeMachineFixture

from orders.calling import gateway
from orders.models import Order
from shipping_portal.accounts.models import Audit, Notification, Sender, User
from shipping_portal.billing import queues
from shipping_portal.billing.charges import correcting, matching
from shipping_portal.billing.disputes import disputing, photos
from shipping_portal.billing.models import BillingReport, Charge, ChargeWord, Dispute
from shipping_portal.billing.reports import checking, folder
from shipping_portal.billing.reports.fields import profile_of
from shipping_portal.staff.alerts import conditions
from shipping_portal.staff.queues import waiting_queues as every_queue
from shipping_portal.staff.resolution import unowned
from shipping_portal.staff.resolution.case import gather_evidence
from shipping_portal.staff.resolution.verifying import Confirmed
from tests import factories
from tests.billing.conftest import line, refund, summed, total, written
from tests.pages.test_disputes import JPEG
from tests.pages.typed import value_of
from tests.staff.conftest import REASON

UPLOAD = "/admin/billing/billingreport/upload/"
NAME = "billing-2026-11-23.csv"
Operator = Callable[[str], Client]


def act(thing: Any, name: str) -> str:
    return reverse(f"admin:{thing._meta.app_label}_{thing._meta.model_name}_act", args=[thing.pk, name])


def page_of(thing: Any) -> str:
    return reverse(f"admin:{thing._meta.app_label}_{thing._meta.model_name}_change", args=[thing.pk])


def sent(browser: Client, content: bytes, *, name: str = NAME, **fields: str) -> Any:
    form = {"file": SimpleUploadedFile(name, content), "account": gateway.current_account().pk, **fields}
    return browser.post(UPLOAD, form)


def uploaded(browser: Client, content: bytes, **fields: str) -> BillingReport:
    """Upload a report and read it as the worker does."""
    sent(browser, content, **fields)
    report = BillingReport.objects.latest("pk")
    checking.read_due_report(report.pk)
    report.refresh_from_db()
    return report


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked")


# -- From the file to the posting ----------------------------------------------------------------


def test_a_report_is_uploaded_read_and_posted_in_three_clicks(operator: Operator, order: Order, alice: User) -> None:
    """The link on the first page, Check the file, and Post with a reason on the page that follows."""
    billing = operator("Billing")
    assert f'href="{UPLOAD}"' in billing.get("/admin/").content.decode()
    report = uploaded(billing, summed(line(order.carrier_reference)))
    page = billing.get(page_of(report)).content.decode()
    assert "Checked, not posted." in page
    assert f'action="{act(report, "post")}"' in page
    assert not Charge.objects.for_user(alice).exists()

    billing.post(act(report, "post"), {"reason": REASON})
    report.refresh_from_db()
    assert report.state == "posted"
    assert Charge.objects.for_user(alice).get().order == order


@pytest.mark.parametrize("group", ["Support", "Read-only"])
def test_those_who_may_not_post_see_the_totals_but_no_form(
    operator: Operator, order: Order, alice: User, group: str
) -> None:
    report = factories.billing_report(state="checked", stated={"AUD": "13.18"})
    word = ChargeWord.objects.create(word="levy", first_seen_at=timezone.now())
    factories.charge(order, report=report)
    factories.charge(order, "unknown", "1.10", report=report, term=word, word="Levy")
    browser = operator(group)
    assert UPLOAD not in browser.get("/admin/").content.decode()
    page = browser.get(page_of(report)).content.decode()
    assert "13.18" in page
    assert act(report, "post") not in page
    assert act(word, "decide") not in page
    ready = factories.billing_report(state="checked")
    assert act(ready, "post") not in browser.get(page_of(ready)).content.decode()


def test_the_health_page_shows_the_last_report_and_its_state(staff: Client, order: Order) -> None:
    assert "None yet" in staff.get("/admin/health/").content.decode().partition("Last billing report")[2]
    report = uploaded(staff, summed(line(order.carrier_reference)))
    recorded = " ".join(staff.get("/admin/health/").content.decode().partition("Last billing report")[2].split(" "))
    recorded = re.sub(r"[ \n]+", " ", recorded)
    assert f'href="{page_of(report)}">{NAME}</a>, 0\N{NO-BREAK SPACE}minutes ago: checked, not posted' in recorded


def test_a_reports_week_is_given_or_is_the_one_before_the_date_in_its_name(staff: Client, order: Order) -> None:
    assert uploaded(staff, summed(line("SA00001"))).week == dt.date(2026, 11, 16)
    assert uploaded(staff, summed(line("SA00002")), week="2026-11-12").week == dt.date(2026, 11, 9)


def test_a_file_refused_in_the_reports_folder_can_be_read_again_once_its_columns_are_set(
    staff: Client, order: Order, settings: Any, tmp_path: Path
) -> None:
    settings.REPORTS_FOLDER = str(tmp_path)
    content = summed(line(order.carrier_reference)).replace(b"Reference,", b"Consignment,", 1)
    (tmp_path / NAME).write_bytes(content)
    folder.take_finished_files(timezone.now() + dt.timedelta(minutes=2))
    damaged = next(queue for queue in every_queue(timezone.now()) if queue.name == "billingreport-damaged")
    assert NAME in staff.get(damaged.url).content.decode()
    report = BillingReport.objects.get()
    assert "The file has no column “Reference”." in staff.get(page_of(report)).content.decode()
    late = conditions.present_conditions(timezone.now() + dt.timedelta(days=1, minutes=3))
    assert damaged.name in [condition.name for condition in late]

    profile = profile_of(report.account)
    profile.columns = profile.columns | {"reference": "Consignment"}
    profile.save()
    staff.post(act(report, "read-again"), {"reason": REASON})
    checking.read_due_report(report.pk)
    report.refresh_from_db()
    assert report.state == "checked"


def test_while_a_report_is_read_its_page_shows_progress_and_reloads(staff: Client, db: None) -> None:
    report = factories.billing_report(state="reading", due_at=timezone.now(), rows=1500)
    page = staff.get(page_of(report)).content.decode()
    assert "Processing: 1,500 lines so far." in page
    assert 'hx-trigger="every 2s"' in page
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in page


def test_a_report_that_was_read_stops_reloading(staff: Client, order: Order) -> None:
    page = staff.get(page_of(uploaded(staff, summed(line(order.carrier_reference))))).content.decode()
    assert "hx-trigger" not in page
    assert "refresh" not in page


@pytest.mark.postgres
def test_a_reports_page_compares_its_lines_by_kind_with_the_files_total(staff: Client, order: Order) -> None:
    rows = [line(order.carrier_reference, Warranty_Price="2.00"), refund("SNOBODY01", "3.00", Refund_Reason="Loss")]
    context = staff.get(page_of(uploaded(staff, summed(*rows)))).context
    found = [(row["words"], row["lines"], str(row["amount"])) for row in context["kinds"]]
    assert found == [("Extra Cover", 1, "2.00"), ("Refund for loss", 1, "-3.00"), ("Order cost", 1, "10.08")]
    assert [(row.currency, row.found, row.stated) for row in context["balances"]] == [
        ("AUD", Decimal("9.08"), Decimal("9.08"))
    ]
    assert (context["tally"].matched, context["tally"].unmatched) == (2, 1)


def test_lines_posted_before_are_marked_and_left_out(staff: Client, order: Order) -> None:
    first = uploaded(staff, summed(line(order.carrier_reference)))
    staff.post(act(first, "post"), {"reason": REASON})
    again = uploaded(staff, summed(line(order.carrier_reference), line("SNEW00001")))
    context = staff.get(page_of(again)).context
    assert (context["tally"].repeats, context["tally"].unmatched) == (1, 1)
    staff.post(act(again, "post"), {"reason": REASON})
    assert order.charges.filter(posted_at__isnull=False).count() == 1


def test_repeated_lines_count_if_the_carrier_says_they_are_new(staff: Client, order: Order) -> None:
    first = uploaded(staff, summed(line(order.carrier_reference)))
    staff.post(act(first, "post"), {"reason": REASON})
    again = uploaded(staff, summed(line(order.carrier_reference), line("SNEW00001")))
    staff.post(act(again, "count-repeats"), {"reason": REASON})
    staff.post(act(again, "post"), {"reason": REASON})
    assert order.charges.filter(posted_at__isnull=False).count() == 2


def test_a_file_that_is_out_of_balance_is_not_posted_and_says_why(staff: Client, order: Order) -> None:
    report = uploaded(staff, written(line(order.carrier_reference), total("13.08")))
    page = staff.get(page_of(report)).content.decode()
    assert "AUD lines add up to 12.08, but the stated total is 13.08: off by -1.00." in page
    assert f'action="{act(report, "post")}"' not in page
    answer = staff.post(act(report, "post"), {"reason": REASON}).content.decode()
    assert "off by -1.00" in answer
    report.refresh_from_db()
    assert report.state == "checked"


def test_an_invoices_total_can_be_entered_before_or_after_the_upload(staff: Client, order: Order) -> None:
    before = uploaded(staff, written(line(order.carrier_reference)), total="12.08", currency="aud")
    assert before.stated == {"AUD": "12.08"}
    after = uploaded(staff, written(line("SNEW00001")))
    unbalanced = BillingReport.objects.filter(queues.REPORTS["balance"].rule(timezone.now()))
    assert set(unbalanced) == {after}  # a file without a total can't be posted
    assert "The file has no AUD total." in staff.get(page_of(after)).content.decode()
    staff.post(act(after, "state-total"), {"total": "12.08", "currency": "aud", "reason": REASON})
    staff.post(act(after, "post"), {"reason": REASON})
    after.refresh_from_db()
    assert after.state == "posted"


def test_each_currency_has_its_own_total(staff: Client, order: Order) -> None:
    report = uploaded(staff, written(line(order.carrier_reference)), total="12.08", currency="AUD")
    staff.post(act(report, "state-total"), {"total": "3.00", "currency": "USD", "reason": REASON})
    report.refresh_from_db()
    assert report.stated == {"AUD": "12.08", "USD": "3.00"}


@pytest.mark.parametrize("half", [{"total": "12.08"}, {"currency": "AUD"}])
def test_a_total_without_its_currency_is_refused(staff: Client, db: None, half: dict[str, str]) -> None:
    assert "Enter both the total and its currency" in sent(staff, written(line("SA00001")), **half).content.decode()
    assert not BillingReport.objects.exists()


def test_a_damaged_file_shows_its_problems_by_line_and_can_be_read_again(staff: Client, order: Order) -> None:
    report = uploaded(staff, written(line(order.carrier_reference, Price="12,08"), total("12.08")))
    page = staff.get(page_of(report)).content.decode()
    assert "Damaged: it can't be posted." in page.replace("&#x27;", "'")
    assert "“12,08” is not a number." in page
    assert staff.post(act(report, "post"), {"reason": REASON}).status_code == 409
    staff.post(act(report, "read-again"), {"reason": REASON})
    report.refresh_from_db()
    assert report.state == "reading"


def test_a_report_can_be_voided_only_before_it_is_posted(staff: Client, order: Order) -> None:
    content = summed(line(order.carrier_reference))
    first = uploaded(staff, content)
    staff.post(act(first, "void"), {"reason": REASON})
    second = uploaded(staff, content)  # uploaded again
    staff.post(act(second, "post"), {"reason": REASON})
    assert staff.post(act(second, "void"), {"reason": REASON}).status_code == 409
    assert list(BillingReport.objects.order_by("pk").values_list("state", flat=True)) == ["void", "posted"]


def test_the_same_file_is_refused_with_a_link_to_its_report(staff: Client, order: Order) -> None:
    content = summed(line(order.carrier_reference))
    report = uploaded(staff, content)
    page = sent(staff, content, name="again.csv").content.decode()
    assert "This file has already been uploaded" in page
    assert f'href="{page_of(report)}"' in page
    assert BillingReport.objects.count() == 1


def test_a_file_with_other_columns_is_refused_with_a_link_to_set_them(staff: Client, db: None) -> None:
    page = sent(staff, b"Art;Nummer\r\nBrief;S1\r\n").content.decode()
    profile = profile_of(gateway.current_account())
    assert "The file has no column “Type”" in page
    assert f'href="{reverse("admin:billing_billingprofile_columns", args=[profile.pk])}"' in page
    assert not BillingReport.objects.exists()


def test_a_files_content_is_escaped(staff: Client, db: None) -> None:
    report = uploaded(staff, summed(line("SA00001", Type="<script>alert(1)</script>")), name="<b>.csv")
    page = staff.get(page_of(report)).content.decode()
    assert "<script>alert(1)" not in page
    assert "<b>.csv" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_reports_page_takes_the_same_number_of_queries_with_many_lines(staff: Client, order: Order) -> None:
    def cost(report: BillingReport) -> int:
        with CaptureQueriesContext(connection) as seen:
            staff.get(page_of(report))
        return len(seen)

    few = uploaded(staff, summed(line(order.carrier_reference), line("SA00001", Type="Levy")))
    many = [line(f"SB{number:05d}", Type=f"Levy {number % 7}") for number in range(60)]
    staff.get(page_of(few))
    assert cost(uploaded(staff, summed(*many))) == cost(few)


# -- Words and columns ---------------------------------------------------------------------------


def test_an_unknown_word_blocks_posting_until_somebody_decides_it(staff: Client, order: Order) -> None:
    report = uploaded(staff, summed(line(order.carrier_reference, Type="Fuel Levy")))
    word = ChargeWord.objects.get(word="fuel levy / paid")
    page = staff.get(page_of(report)).content.decode()
    assert "“Fuel Levy / Paid” isn&#x27;t mapped yet." in page
    assert f'href="{act(word, "decide")}"' in page
    assert "<form" not in page.partition('id="file"')[0].partition('id="kinds"')[2]

    staff.post(act(word, "decide"), {"meaning": "oversize", "reason": REASON})
    checking.read_due_report(report.pk)
    staff.post(act(report, "post"), {"reason": REASON})
    assert order.charges.get().kind == "oversize"


@pytest.mark.parametrize(
    "broken",
    [
        "shipping_portal.billing.reports.checking.read_report_again",
        "shipping_portal.accounts.adminkit.actions.Audit.write",
    ],
)
def test_a_word_is_decided_with_its_reports_and_its_audit_row_or_not_at_all(
    staff: Client, order: Order, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = uploaded(staff, summed(line(order.carrier_reference, Type="Fuel Levy")))
    word = ChargeWord.objects.get(word="fuel levy / paid")
    monkeypatch.setattr(broken, lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        staff.post(act(word, "decide"), {"meaning": "oversize", "reason": REASON})
    word.refresh_from_db()
    report.refresh_from_db()
    assert (word.meaning, report.state) == ("", "checked")


def test_the_list_of_words_has_undecided_ones_first_with_their_lines(staff: Client, order: Order) -> None:
    uploaded(staff, summed(line("SA00001"), line("SA00002", Type="Levy"), line("SA00003", Type="Levy")))
    shown = staff.get("/admin/billing/chargeword/").context["cl"].result_list
    assert [(word.word, word.waiting) for word in shown] == [("levy / paid", 2), ("order invoiced / paid", 0)]


COLUMNS = {
    "column_type": "Art", "column_reference": "Nummer", "column_price": "Preis", "column_currency": "Währung",
    "column_order_date": "Tag", "delimiter": ";", "date_form": "%d.%m.%Y", "total_word": "Summe",
}  # fmt: skip
OTHER_FILE = "Art;Nummer;Preis;Währung;Tag\r\n" + "".join(
    f"Order Invoiced;SX0000{n};1{n}.00;AUD;1{n}.11.2026\r\n" for n in range(5)
)


def columns_page() -> str:
    return reverse("admin:billing_billingprofile_columns", args=[profile_of(gateway.current_account()).pk])


def test_columns_are_tried_on_a_file_before_they_are_set(staff: Client, db: None) -> None:
    file = SimpleUploadedFile("other.csv", OTHER_FILE.encode())
    tried = staff.post(columns_page(), {**COLUMNS, "file": file, "try": "yes"}).context["tried"]
    assert [(row.reference, row.price, row.day) for row in tried["rows"]] == [
        (f"SX0000{n}", Decimal(f"1{n}.00"), dt.date(2026, 11, 10 + n)) for n in range(3)
    ]
    assert profile_of(gateway.current_account()).delimiter == ","


def test_columns_are_tried_on_the_newest_file_if_none_is_chosen(staff: Client, order: Order) -> None:
    uploaded(staff, summed(line(order.carrier_reference)))
    tried = staff.post(columns_page(), {**COLUMNS, "try": "yes"}).context["tried"]
    assert (tried["name"], tried["refusal"][:18]) == (NAME, "The file has no co")


def test_new_columns_apply_to_the_next_file_and_not_to_posted_reports(staff: Client, order: Order) -> None:
    posted = uploaded(staff, summed(line(order.carrier_reference)))
    staff.post(act(posted, "post"), {"reason": REASON})
    staff.post(columns_page(), {**COLUMNS, "refunds_positive": "on", "reason": REASON})
    profile = profile_of(gateway.current_account())
    assert profile.columns["type"] == "Art"
    assert "paid" not in profile.columns
    assert (profile.refunds_positive, profile.cover_inside, profile.total_word) == (True, False, "Summe")
    posted.refresh_from_db()
    assert posted.profile["columns"]["type"] == "Type"
    assert staff.post(act(posted, "read-again"), {"reason": REASON}).status_code == 409
    assert uploaded(staff, OTHER_FILE.encode()).rows == 5


def test_a_checked_file_read_again_with_columns_it_does_not_have_is_damaged(staff: Client, order: Order) -> None:
    report = uploaded(staff, summed(line(order.carrier_reference)))
    staff.post(columns_page(), {**COLUMNS, "delimiter": ",", "reason": REASON})
    staff.post(act(report, "read-again"), {"reason": REASON})
    checking.read_due_report(report.pk)
    report.refresh_from_db()
    assert report.state == "damaged"
    assert report.problems[0][1].startswith("The file has no column “Art”")


# -- One line ------------------------------------------------------------------------------------


@pytest.mark.parametrize("called", ["reference", "number", "A-number"])
def test_an_unassigned_line_is_assigned_with_the_cover_in_its_price(
    staff: Client, order: Order, alice: User, called: str
) -> None:
    report = uploaded(staff, summed(line("SNOBODY01", Warranty_Price="2.00")))
    staff.post(act(report, "post"), {"reason": REASON})
    cost = report.lines.get(part=0)
    names = {"reference": order.carrier_reference.lower(), "number": str(order.pk), "A-number": order.sender.number}
    staff.post(act(cost, "assign"), {"owner": names[called], "reason": REASON})
    mine = Charge.objects.for_user(alice)
    assert sorted(mine.values_list("kind", "order")) == [
        (kind, None if called == "A-number" else order.pk) for kind in ("cover", "order")
    ]
    row = Audit.objects.get(action="charge assigned")
    assert (row.sender, REASON in row.reason) == (order.sender, True)


def test_an_assigned_line_names_its_parcel_beside_the_carriers_reference(staff: Client, order: Order) -> None:
    """Otherwise nobody sees that a line was assigned to the wrong parcel."""
    charge = factories.charge(None, reference="SNOBODY01")
    staff.post(act(charge, "assign"), {"owner": order.carrier_reference, "reason": REASON})
    link = f'<a href="/admin/orders/order/{order.pk}/change/">{order.carrier_reference}</a>'
    page = staff.get(f"/admin/billing/charge/{charge.pk}/change/").content.decode()
    assert link in page
    assert "SNOBODY01" in page
    assert link in staff.get("/admin/billing/charge/").content.decode()


def test_a_wrong_price_is_credited_and_then_accepted_as_its_queue_says(staff: Client, order: Order) -> None:
    """A credit is for the account and names no parcel, so by itself it leaves the parcel in the queue."""
    charge = factories.charge(order, amount="19.08", is_unexpected=True)
    wrong, step = queues.RULES["charged-otherwise"], queues.ORDERS["charged-otherwise"].next_step
    credit = {"amount": "7.00", "currency": "AUD", "reason": REASON}
    for thing, button, form in (
        (order.sender, "Add credit", credit),
        (charge, "Accept this price", {"reason": REASON}),
    ):
        assert list(wrong(timezone.now())) == [order]
        assert button in step
        options = thing._meta
        page = staff.get(f"/admin/{options.app_label}/{options.model_name}/{thing.pk}/change/")
        assert staff.post(dict(page.context["acts"])[button], form).status_code == 302
    assert not wrong(timezone.now()).exists()


def test_a_line_is_assigned_once_and_only_to_a_known_sender(staff: Client, order: Order) -> None:
    charge = factories.charge(None)
    page = staff.post(act(charge, "assign"), {"owner": "SNOSUCH01", "reason": REASON})
    assert "No parcel or sender matches that." in page.content.decode()
    staff.post(act(charge, "assign"), {"owner": order.sender.number, "reason": REASON})
    again = staff.post(act(charge, "assign"), {"owner": order.sender.number, "reason": REASON})
    assert again.status_code == 409


def test_a_line_is_assigned_only_once_its_report_is_posted(staff: Client, order: Order) -> None:
    """Until then it may be read and matched again."""
    report = uploaded(staff, summed(line("SNOBODY01")))
    form = {"owner": order.sender.number, "reason": REASON}
    assert staff.post(act(report.lines.get(), "assign"), form).status_code == 409


def test_a_posted_line_is_reversed_once_by_another_line(staff: Client, order: Order, sam: User) -> None:
    charge = factories.charge(order)
    staff.post(act(charge, "reverse"), {"reason": REASON})
    back = charge.reversed_by
    assert (back.amount, back.reason, back.by) == (-charge.amount, REASON, sam)
    assert order.charges.net() == {"AUD": 0}
    assert staff.post(act(charge, "reverse"), {"reason": REASON}).status_code == 409
    assert staff.post(act(back, "reverse"), {"reason": REASON}).status_code == 409


def test_a_price_that_differs_from_the_booking_is_accepted_once(staff: Client, order: Order) -> None:
    charge = factories.charge(order, is_unexpected=True)
    queue = "/admin/orders/order/?needs=charged-otherwise"
    assert staff.get(queue).context["cl"].result_count == 1
    staff.post(act(charge, "accept"), {"reason": REASON})
    assert staff.get(queue).context["cl"].result_count == 0
    assert Audit.objects.get(action="charge accepted").reason.endswith(REASON)
    assert order.charges.net() == {"AUD": charge.amount}
    assert staff.post(act(charge, "accept"), {"reason": REASON}).status_code == 409


def test_an_unposted_line_cannot_be_reversed(staff: Client, order: Order) -> None:
    report = uploaded(staff, summed(line(order.carrier_reference)))
    assert staff.post(act(report.lines.get(), "reverse"), {"reason": REASON}).status_code == 409


def test_a_sender_reads_the_reason_for_a_credit(staff: Client, quill: Sender, alice: User) -> None:
    form = {"amount": "5.00", "currency": "AUD", "reason": "The label smudged."}
    staff.post(act(quill, "credit"), form)
    credit = Charge.objects.for_user(alice).get()
    assert (credit.kind, credit.amount, credit.reason) == ("credit", Decimal("-5.00"), "The label smudged.")


def test_a_credit_is_given_once_however_often_its_button_is_pressed(staff: Client, quill: Sender) -> None:
    token = value_of(staff.get(act(quill, "credit")), "token")
    form = {"amount": "5.00", "currency": "AUD", "reason": REASON, "token": token}
    staff.post(act(quill, "credit"), form)
    assert "This credit has been given already." in staff.post(act(quill, "credit"), form).content.decode()
    assert [charge.amount for charge in Charge.objects.all()] == [Decimal("-5.00")]
    assert Audit.objects.filter(action="credit given").count() == 1
    again = value_of(staff.get(act(quill, "credit")), "token")
    staff.post(act(quill, "credit"), form | {"token": again})
    assert Charge.objects.count() == 2


@pytest.mark.parametrize("amount", ["0", "-5.00", "0.001", ""])
def test_a_credit_must_be_above_zero_and_in_whole_cents(staff: Client, quill: Sender, amount: str) -> None:
    page = staff.post(act(quill, "credit"), {"amount": amount, "currency": "AUD", "reason": REASON})
    assert page.context["form"].errors["amount"]
    assert not Charge.objects.exists()


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("query", "references"),
    [
        ({}, ["SNOBODY01", "STEST00000"]),
        ({"q": "stest00000"}, ["STEST00000"]),
        ({"q": "snobody01"}, ["SNOBODY01"]),
        ({"q": "STEST"}, []),
        ({"owner": "nobody"}, ["SNOBODY01"]),
        ({"owner": "unmatched"}, ["SNOBODY01"]),
        ({"owner": "sender"}, ["STEST00000"]),
        ({"week": "2026-11-09"}, ["STEST00000"]),
        ({"week": "nonsense"}, ["SNOBODY01", "STEST00000"]),
        ({"kind__exact": "oversize"}, ["SNOBODY01"]),
        ({"repeat": "yes"}, []),
    ],
)
def test_charges_are_filtered_by_week_kind_and_owner_and_searched_by_reference(
    staff: Client, quill: Sender, alice: User, query: dict[str, str], references: list[str]
) -> None:
    mine = factories.order(quill, alice, status="booked", carrier_reference="STEST00000")
    factories.charge(mine, report=factories.billing_report(week=dt.date(2026, 11, 9)))
    factories.charge(None, "oversize", report=factories.billing_report(week=dt.date(2026, 11, 16)))
    shown = staff.get("/admin/billing/charge/", query).context["cl"].result_list
    assert [charge.reference for charge in shown] == references


def test_a_line_links_to_its_report_parcel_and_sender_and_back(staff: Client, order: Order) -> None:
    charge = factories.charge(order)
    page = staff.get(page_of(charge)).content.decode()
    for thing in (charge.report, order, order.sender):
        assert f'href="{page_of(thing)}"' in page, thing
    assert page_of(charge) in staff.get(page_of(order)).content.decode()
    assert f"sender={order.sender.number}" in staff.get(page_of(order.sender)).content.decode()


# -- Disputes ------------------------------------------------------------------------------------


@pytest.fixture
def dispute(order: Order, alice: User) -> Dispute:
    charge = factories.charge(order, "under-declared", "4.20")
    facts = {
        "declared_kg": "1.5",
        "measured_kg": "3.2",
        "quoted": "12.08",
        "quoted_currency": "AUD",
        "charged": "4.20",
        "currency": "AUD",
    }
    return Dispute.objects.create(
        charge=charge,
        sender=order.sender,
        made_by=alice,
        made_at=timezone.now(),
        text="We weighed it twice.",
        facts=facts,
    )


def test_a_dispute_shows_declared_measured_quoted_and_the_senders_words(staff: Client, dispute: Dispute) -> None:
    page = staff.get(page_of(dispute)).content.decode()
    recorded = "Quoted 12.08 AUD. Charged 4.20 AUD. Declared weight 1.5 kg. Measured weight 3.2 kg"
    assert recorded in page
    assert "We weighed it twice." in page


def test_people_who_answer_disputes_can_download_a_disputes_photo(
    staff: Client, dispute: Dispute, operator: Callable[[str], Client]
) -> None:
    address = reverse("admin:billing_dispute_photo", args=[dispute.pk])
    assert staff.get(address).status_code == 404
    assert address not in staff.get(page_of(dispute)).content.decode()
    photo = photos.keep_photo(JPEG, dispute.sender)
    Dispute.objects.filter(pk=dispute.pk).update(photo=photo)
    assert f'<a href="{address}">Download</a>' in staff.get(page_of(dispute)).content.decode()
    answer = staff.get(address)
    assert answer.content == JPEG
    assert answer["Content-Disposition"] == f'attachment; filename="photo-{photo.pk}.jpg"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert Audit.objects.filter(action="photo of a dispute downloaded").count() == 1
    assert operator("Read-only").get(address).status_code == 403


def test_an_accepted_dispute_gives_the_prefilled_credit(staff: Client, dispute: Dispute) -> None:
    form = staff.get(act(dispute, "answer")).context["form"]
    assert form.initial == {"credit": Decimal("4.20")}
    staff.post(act(dispute, "answer"), {"verdict": "accept", "credit": "4.20", "text": "You are right about it."})
    dispute.refresh_from_db()
    assert (dispute.state, dispute.answer) == ("accepted", "You are right about it.")
    assert dispute.charge.order.charges.net() == {"AUD": 0}
    assert "accepted, credit 4.20 AUD: You are right" in Audit.objects.get(action="dispute answered").reason


def test_a_declined_dispute_gives_no_credit_even_if_one_was_prefilled(staff: Client, dispute: Dispute) -> None:
    staff.post(act(dispute, "answer"), {"verdict": "decline", "credit": "4.20", "text": "The scale is checked."})
    dispute.refresh_from_db()
    assert (dispute.state, dispute.credit) == ("declined", None)
    assert staff.post(act(dispute, "answer"), {"verdict": "accept", "text": "After all."}).status_code == 409


def test_a_credit_above_the_line_is_refused(staff: Client, dispute: Dispute) -> None:
    page = staff.post(act(dispute, "answer"), {"verdict": "accept", "credit": "42.00", "text": "You are right."})
    assert "To credit more than that" in page.content.decode()
    dispute.refresh_from_db()
    assert dispute.state == "open"


def test_a_disputed_charge_that_was_reversed_is_not_credited_as_well(
    staff: Client, dispute: Dispute, sam: User
) -> None:
    correcting.reverse_charge(dispute.charge, by=sam, now=timezone.now(), reason="It was weighed twice.")
    assert staff.get(act(dispute, "answer")).context["form"].initial == {}
    answer = {"verdict": "accept", "credit": "4.20", "text": "You are right about it."}
    assert "has been reversed" in staff.post(act(dispute, "answer"), answer).content.decode()
    assert dispute.charge.order.charges.net() == {"AUD": 0}
    staff.post(act(dispute, "answer"), answer | {"credit": ""})
    dispute.refresh_from_db()
    assert (dispute.state, dispute.credit) == ("accepted", None)


def test_open_disputes_come_first_oldest_on_top(staff: Client, order: Order, alice: User) -> None:
    now = timezone.now()
    for state, days in (("declined", 9), ("open", 1), ("accepted", 8), ("open", 5)):
        Dispute.objects.create(
            charge=factories.charge(order), sender=order.sender, made_by=alice, text="Why?", state=state,
            made_at=now - dt.timedelta(days=days),
        )  # fmt: skip
    shown = staff.get("/admin/billing/dispute/").context["cl"].result_list
    assert [(it.state, (now - it.made_at).days) for it in shown] == [
        ("open", 5), ("open", 1), ("declined", 9), ("accepted", 8),
    ]  # fmt: skip


# -- Evidence for unclear bookings -------------------------------------------------


@pytest.mark.postgres
def test_an_unassigned_line_is_evidence_for_an_unclear_booking(staff: Client, unclear: Callable[..., Order]) -> None:
    order, today = unclear(), timezone.now().date()
    factories.charge(None, reference="SFOUND001", day=today, declared_kg=order.weight_kg)
    factories.charge(None, reference="SDEAR0001", amount="99.00", day=today)
    factories.charge(None, reference="SLONGAGO1", day=today - dt.timedelta(days=30))
    found = gather_evidence(order).candidates
    assert [it.reference for it in found] == ["SFOUND001", "SDEAR0001"]
    assert "the price of this order" in found[0].billed
    assert "where this order is 12.08 AUD" in found[1].billed
    page = staff.get(reverse("admin:orders_order_resolve", args=[order.pk])).content.decode()
    assert found[0].billed in page


@pytest.mark.parametrize(
    ("week", "is_shown"), [(dt.date(2026, 11, 16), True), (dt.date(2026, 11, 23), True), (dt.date(2026, 11, 9), False)]
)
def test_a_line_without_a_day_is_evidence_for_bookings_of_its_whole_week(
    unclear: Callable[..., Order], week: dt.date, is_shown: bool
) -> None:
    """The booking was sent on a Sunday and may have been made until the Friday after."""
    sunday = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
    report = factories.billing_report(week=week, uploaded_at=sunday + dt.timedelta(days=10))
    factories.charge(None, reference="SFOUND001", day=None, report=report)
    found = unowned.billed_references(unclear(), sunday, sunday + dt.timedelta(days=5), read_from=sunday)
    assert bool(found) is is_shown


def test_a_line_in_the_orders_own_currency_comes_first(unclear: Callable[..., Order]) -> None:
    order, today = unclear(), timezone.now().date()
    factories.charge(None, reference="SABROAD01", day=today, currency="USD")
    factories.charge(None, reference="SNEARBY01", amount="12.50", day=today)
    assert [it.reference for it in gather_evidence(order).candidates] == ["SNEARBY01", "SABROAD01"]


def test_a_dispute_shows_the_quote_in_the_orders_currency(staff: Client, order: Order, alice: User) -> None:
    charge = factories.charge(order, "under-declared", "4.13", currency="USD")
    dispute = disputing.open_for(charge, by=alice, text="Why?", now=timezone.now())
    page = staff.get(f"/admin/billing/dispute/{dispute.pk}/change/").content.decode()
    assert "Quoted 12.08 AUD" in page
    assert "Charged 4.13 USD" in page


def test_a_reference_both_scanned_and_charged_is_one_candidate(unclear: Callable[..., Order]) -> None:
    order = unclear()
    parcel = factories.parcel(reference="SFOUND001", last_scan_at=timezone.now())
    factories.event(parcel, postcode=order.receiver_postcode)
    factories.charge(None, reference="SFOUND001", day=timezone.now().date())
    [found] = gather_evidence(order).candidates
    assert found.is_strong
    assert found.billed


def test_a_matching_price_alone_is_not_filled_in(unclear: Callable[..., Order]) -> None:
    order = unclear()
    factories.charge(None, reference="SFOUND001", day=timezone.now().date())
    assert gather_evidence(order).likeliest == ""


def test_another_accounts_lines_are_not_evidence(unclear: Callable[..., Order]) -> None:
    order, other = unclear(), gateway.current_account()
    other.pk, other.fingerprint = None, "another"
    other.save()
    report = factories.billing_report(account=other)
    factories.charge(None, reference="SFOUND001", day=timezone.now().date(), report=report)
    assert gather_evidence(order).candidates == []


def test_an_adopted_reference_gets_its_lines(
    staff: Client, unclear: Callable[..., Order], alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "shipping_portal.staff.resolution.verifying.confirm_reference",
        lambda order, reference, *more, **heard: Confirmed(reference),
    )
    order = unclear()
    factories.charge(None, reference="SFOUND001", day=timezone.now().date())
    form = {"decision": "adopt", "adopt-reference": "SFOUND001", "adopt-reason": REASON}
    staff.post(reverse("admin:orders_order_resolve", args=[order.pk]), form)
    assert Charge.objects.for_user(alice).get().order == order
    assert matching.match_late() == 0


# -- On hold, and a report reversed --------------------------------------------------------------


def test_a_report_saved_by_a_spreadsheet_is_all_duplicates_and_changes_nothing(staff: Client, order: Order) -> None:
    first = uploaded(staff, summed(line(order.carrier_reference, "10.60", Warranty_Price="0.00")))
    staff.post(act(first, "post"), {"reason": REASON})
    again = uploaded(staff, summed(line(order.carrier_reference, "10.6", Warranty_Price="0")))
    assert staff.get(page_of(again)).context["tally"].repeats == 1
    staff.post(act(again, "post"), {"reason": REASON})
    assert order.charges.filter(posted_at__isnull=False).count() == 1


@pytest.fixture
def doubled(staff: Client, order: Order) -> BillingReport:
    """A posted report that bills an order a second time."""
    first = uploaded(staff, summed(line(order.carrier_reference)))
    staff.post(act(first, "post"), {"reason": REASON})
    second = uploaded(staff, summed(line(order.carrier_reference, "13.00")), week="2026-11-30")
    assert "on hold: Billed twice?" in staff.get(page_of(second)).content.decode()
    staff.post(act(second, "post"), {"reason": REASON})
    second.refresh_from_db()
    return second


def test_lines_on_hold_are_on_the_reports_page_and_in_their_queue(staff: Client, doubled: BillingReport) -> None:
    page = staff.get(page_of(doubled))
    assert page.context["held"] == [("AUD", Decimal("13.00"))]
    queue = next(queue for queue in every_queue(timezone.now()) if queue.name == "charge-on-hold")
    assert [charge.report for charge in staff.get(queue.url).context["cl"].result_list] == [doubled]
    here = f"/admin/billing/charge/?hold=undecided&report__id__exact={doubled.pk}"
    assert here.replace("&", "&amp;") in page.content.decode()
    assert staff.get(here).context["cl"].result_count == 1


@pytest.mark.parametrize("of", ["the report", "the line"])
@pytest.mark.parametrize(("way", "amount"), [("count", "25.08"), ("leave", "12.08")])
def test_an_operator_decides_a_line_on_hold_once_and_with_a_reason(
    staff: Client, order: Order, alice: User, doubled: BillingReport, of: str, way: str, amount: str
) -> None:
    held = doubled.lines.get()
    address = act(doubled, f"{way}-held")
    if of == "the line":
        address = act(held, {"count": "count", "leave": "leave-out"}[way])
    staff.post(address, {"reason": "short"})
    assert Charge.objects.for_user(alice).net() == {"AUD": Decimal("12.08")}
    staff.post(address, {"reason": REASON})
    assert Charge.objects.for_user(alice).net() == {"AUD": Decimal(amount)}
    assert Audit.objects.filter(action__startswith="held charge", reason__contains="1 line, 13.00 AUD").count() == 1
    assert staff.post(address, {"reason": REASON}).status_code == 409
    assert not [queue for queue in every_queue(timezone.now()) if queue.name == "charge-on-hold" and queue.count]


def test_a_charge_that_was_left_out_can_be_counted_after_all(
    staff: Client, alice: User, doubled: BillingReport
) -> None:
    held = doubled.lines.get()
    staff.post(act(held, "leave-out"), {"reason": REASON})
    assert staff.get(f"/admin/billing/charge/?hold=left-out&report__id__exact={doubled.pk}").context["cl"].result_count
    staff.post(act(held, "count"), {"reason": REASON})
    assert Charge.objects.for_user(alice).net() == {"AUD": Decimal("25.08")}


def test_reversing_a_report_first_shows_the_change_for_each_sender(staff: Client, order: Order, alice: User) -> None:
    report = uploaded(staff, summed(line(order.carrier_reference, "1012.08"), line("SNOBODY01", "3.00")))
    staff.post(act(report, "post"), {"reason": REASON})
    space = "\N{NO-BREAK SPACE}"
    assert staff.get(act(report, "reverse")).context["preview"] == [
        ["Sender", "Lines reversed", "Amount", "Change"],
        [order.sender.name, "1", f"1,012.08{space}AUD", f"-1,012.08{space}AUD"],
        ["Unassigned", "1", f"3.00{space}AUD", f"-3.00{space}AUD"],
        ["All senders", "2", f"1,015.08{space}AUD", f"-1,015.08{space}AUD"],
    ]
    staff.post(act(report, "reverse"), {"reason": REASON})
    assert Charge.objects.for_user(alice).net() == {"AUD": Decimal(0)}
    assert Audit.objects.get(action="billing report reversed").reason.startswith(f"{NAME}, 1 line: ")
    assert "<strong>Reversed" in staff.get(page_of(report)).content.decode()
    assert staff.post(act(report, "reverse"), {"reason": REASON}).status_code == 409


@pytest.mark.parametrize("group", ["Support", "Read-only"])
def test_people_outside_billing_can_decide_and_reverse_nothing(
    operator: Operator, doubled: BillingReport, group: str
) -> None:
    browser, held = operator(group), doubled.lines.get()
    for address in (act(doubled, "reverse"), act(doubled, "count-held"), act(held, "count"), act(held, "leave-out")):
        assert browser.post(address, {"reason": REASON}).status_code == 403
    assert not held.decision


# -- What was decided is kept, and many are decided at once ---------------------------------------


@pytest.fixture
def checked(staff: Client, order: Order, alice: User) -> BillingReport:
    """A report that isn't posted yet, with three lines on hold: a second cost, its Extra Cover and too big a refund."""
    first = uploaded(staff, summed(line(order.carrier_reference)))
    staff.post(act(first, "post"), {"reason": REASON})
    other = factories.order(order.sender, alice, status="booked", carrier_reference="SOTHER001")
    rows = [
        line(order.carrier_reference, "13.00", Warranty_Price="2.00"),
        {**refund(str(other), "9.00"), "Refund Reason": "Delay"},
    ]
    report = uploaded(staff, summed(*rows), week="2026-11-30")
    assert sorted(report.lines.values_list("held", flat=True)) == ["refund", "twice", "twice"]
    return report


@pytest.mark.parametrize(
    ("which", "left"), [("", []), ("twice", ["refund"]), ("refund", ["twice", "twice"]), ("order", ["refund"])]
)
def test_all_lines_of_a_kind_are_decided_with_one_click(
    staff: Client, checked: BillingReport, which: str, left: list[str]
) -> None:
    shown = staff.get(act(checked, "leave-held")).context["preview"]
    assert [row[:3] for row in shown[1:]] == [
        ["Refunded more than charged?", "Refund for delay", "1"],
        ["Billed twice?", "Extra Cover", "1"],
        ["Billed twice?", "Order cost", "1"],
    ]
    staff.post(act(checked, "leave-held"), {"reason": REASON, "which": which})
    assert sorted(checked.lines.filter(decision="").values_list("held", flat=True)) == left


@pytest.mark.parametrize(("way", "decision"), [("leave", "leave"), ("count", "post")])
def test_a_report_read_again_keeps_the_decisions_about_its_lines(
    staff: Client, checked: BillingReport, way: str, decision: str
) -> None:
    staff.post(act(checked, f"{way}-held"), {"reason": REASON, "which": "twice"})
    before = list(checked.lines.order_by("line", "part").values_list("held", "decision"))
    assert [one for _, one in before] == [decision, decision, ""]
    staff.post(act(checked, "read-again"), {"reason": REASON})
    checking.read_due_report(checked.pk)
    assert list(checked.lines.order_by("line", "part").values_list("held", "decision")) == before


@pytest.mark.parametrize("name", ["amount", "reference", "kind", "currency"])
def test_a_decision_lapses_when_its_line_changes(staff: Client, checked: BillingReport, name: str) -> None:
    staff.post(act(checked, "leave-held"), {"reason": REASON})
    other = {"amount": 1, "reference": "SELSE0001", "kind": "oversize", "currency": "CAD"}[name]
    checked.lines.filter(line=2, part=0).update(**{name: other})
    checking.read_report_again(checked, now=timezone.now())
    checking.read_due_report(checked.pk)
    assert list(checked.lines.order_by("line", "part").values_list("decision", flat=True)) == ["", "leave", "leave"]


def test_a_line_posted_meanwhile_by_another_report_is_a_duplicate_despite_a_decision(
    staff: Client, checked: BillingReport
) -> None:
    staff.post(act(checked, "count-held"), {"reason": REASON})
    checked.lines.filter(line=2).update(report=None, posted_at=timezone.now())
    checking.read_report_again(checked, now=timezone.now())
    checking.read_due_report(checked.pk)
    assert set(checked.lines.filter(line=2).values_list("is_repeat", "decision")) == {(True, "")}


@pytest.fixture
def november(time_machine: TimeMachineFixture) -> None:
    """The clock is days after the reports, since nobody is emailed about one that comes four months late."""
    time_machine.move_to(dt.datetime(2026, 11, 29, 2, tzinfo=dt.UTC))


@pytest.mark.usefixtures("november")
def test_senders_are_emailed_about_charges_that_count_after_their_report(
    staff: Client, order: Order, checked: BillingReport
) -> None:
    def recorded() -> list[str]:
        return list(Notification.objects.filter(sender=order.sender, kind="statement").values_list("line", flat=True))

    staff.post(act(checked, "post"), {"reason": REASON})
    assert len(recorded()) == 1  # from the first report
    staff.post(act(checked, "count-held"), {"reason": REASON, "which": "twice"})
    assert [said for said in recorded() if "is ready: $13.00 for 1 parcel" in said]
    staff.post(act(checked, "count-held"), {"reason": REASON, "which": "refund"})
    assert [said for said in recorded() if "has changed, as the carrier confirmed charges: $4.00 for 2 parcels" in said]
    assert len(recorded()) == 3
