"""Billing: weeks and statements add up, explain each line, and show only the account's own."""

import copy
import csv
import datetime as dt
import io
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.db.models.base import ModelState
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.formatting import local_date
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.disputes import disputing
from shipping_portal.billing.models import REFUNDS, Charge, week_of
from shipping_portal.billing.pages import statements
from tests import factories
from tests.pages.typed import text, title

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
MONDAY = week_of(timezone.now().date()) - dt.timedelta(days=7)  # last week's, as reports are
WEEK = statements.week_name(MONDAY)
BOOKED = dt.datetime.combine(MONDAY - dt.timedelta(days=15), dt.time(22), dt.UTC)  # a Monday in Melbourne
BOOKED_IN = statements.week_name(BOOKED.date() + dt.timedelta(days=1))
STATEMENT = f"/billing/{WEEK}/"
MEASURED = {"declared_kg": "1.0000", "measured_kg": "1.6000"}
EVERY_KIND = [
    ("order", "12.08"), ("cover", "2.50"), ("under-declared", "4.13"), ("oversize", "100.00"),
    ("un-cancellation", "12.08"), ("cancel-refund", "-12.08"), ("cancel-refund-later", "-9.10"),
    ("delay-refund", "-3.00"), ("loss-refund", "-12.08"), ("other-refund", "-1.01"), ("credit", "-5.00"),
]  # fmt: skip


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked", booked_at=BOOKED)


def charges(order: Order, *lines: tuple[str, str], **fields: Any) -> list[Charge]:
    """Posted lines of one report for that week."""
    report = fields.pop("report", None) or factories.billing_report(week=fields.pop("week", MONDAY))
    return [factories.charge(order, kind, amount, report=report, **fields) for kind, amount in lines]


def rows_of(answer: Any) -> list[list[str]]:
    content = b"".join(answer.streaming_content).decode("utf-8-sig")
    return list(csv.reader(io.StringIO(content)))


def test_before_the_first_report_the_page_says_when_one_comes(page: Client) -> None:
    assert "The carrier's weekly report usually comes on Monday or Tuesday." in text(page.get("/billing/"))


def test_each_week_is_the_sum_of_its_lines_in_every_column(page: Client, order: Order) -> None:
    charges(order, *EVERY_KIND)
    charges(order, ("order", "1.00"), week=MONDAY - dt.timedelta(days=7))
    context = page.get("/billing/").context
    [row, older] = context["rows"]
    amounts = dict(zip(context["columns"], row["amounts"], strict=True))
    assert amounts == {
        "Order cost": Decimal("12.08"),
        "Extra Cover": Decimal("2.50"),
        "Size charges": Decimal("4.13"),
        "Penalties": Decimal("100.00"),
        "Used after cancelling": Decimal("12.08"),
        "Refunds": Decimal("-37.27"),
        "Credit": Decimal("-5.00"),
    }
    assert sum(amounts.values()) == row["net"] == sum(Decimal(amount) for _, amount in EVERY_KIND)
    assert (row["parcels"], row["name"], older["name"], older["net"]) == (
        1,
        WEEK,
        statements.week_name(MONDAY - dt.timedelta(days=7)),
        1,
    )
    assert statements.week_words(MONDAY, order.sender) in text(page.get("/billing/"))


def test_two_currencies_are_never_added_up(page: Client, order: Order) -> None:
    charges(order, ("order", "12.08"))
    charges(order, ("order", "7.00"), currency="USD")
    rows = page.get("/billing/").context["rows"]
    assert [(row["currency"], row["net"]) for row in rows] == [("AUD", Decimal("12.08")), ("USD", 7)]
    words = text(page.get(STATEMENT))
    assert "Total $12.08 AUD" in words
    assert "Total $7.00 USD" in words


def test_a_week_is_open_until_it_is_over_and_its_report_is_in(page: Client, order: Order) -> None:
    this_week = week_of(timezone.now().astimezone(order.sender.tzinfo).date())
    charges(order, ("order", "1.00"), week=this_week - dt.timedelta(days=7))
    charges(order, ("credit", "-1.00"), week=this_week)
    assert [row["is_final"] for row in page.get("/billing/").context["rows"]] == [False, True]
    assert "This week isn't final yet. More charges may be added." in text(
        page.get(f"/billing/{statements.week_name(this_week)}/")
    )


@pytest.mark.parametrize(
    ("until", "today", "is_final"),
    [("2026-11-16", "2026-11-22", False), ("2026-11-16", "2026-11-23", True), ("2026-11-09", "2026-11-30", False)],
    ids=["its Sunday", "its week is over", "its report is to come"],
)
def test_a_week_is_final_once_it_is_over_and_its_report_is_posted(until: str, today: str, is_final: bool) -> None:
    week = dt.date(2026, 11, 16)
    found = statements.is_final(week, dt.date.fromisoformat(until), dt.date.fromisoformat(today))
    assert found == is_final


def test_a_page_has_thirteen_weeks_and_the_others_are_one_click_away(page: Client, order: Order) -> None:
    for back in range(15):
        charges(order, ("order", "1.00"), week=MONDAY - dt.timedelta(days=7 * back))
    first = page.get("/billing/")
    assert len(first.context["rows"]) == 13
    older = page.get("/billing/", {"before": first.context["on"]})
    assert [row["name"] for row in older.context["rows"]] == [
        statements.week_name(MONDAY - dt.timedelta(days=7 * back)) for back in (13, 14)
    ]
    assert older.context["on"] is None


def test_the_total_is_shown_with_its_parts(page: Client, order: Order) -> None:
    charges(order, ("order", "427.00"), ("cover", "4.10"), ("delay-refund", "-18.80"))
    words = text(page.get(STATEMENT))
    assert "Total $412.30 1 booking Order cost $427.00 1 Extra Cover Extra Cover $4.10" in words
    assert "1 refund for delay Refund for delay −$18.80" in words


def test_a_total_is_compared_with_the_week_before(page: Client, order: Order) -> None:
    charges(order, ("order", "427.00"))
    assert "than the week before" not in text(page.get(STATEMENT))
    charges(order, ("order", "400.00"), week=MONDAY - dt.timedelta(days=7))
    assert "$27.00 more than the week before" in text(page.get(STATEMENT))
    charges(order, ("credit", "-30.00"))
    assert "$3.00 less than the week before" in text(page.get(STATEMENT))


def test_the_size_behind_most_size_charges_is_named_with_what_it_weighs(page: Client, order: Order) -> None:
    size = factories.size(order.sender, name="Candle box", weight="1")
    Order.objects.filter(pk=order.pk).update(size=size)
    other = factories.order(order.sender, order.made_by, status="booked", size=size)
    charges(order, ("order", "12.08"), ("under-declared", "4.13"), **MEASURED)
    assert "Candle box" not in text(page.get(STATEMENT))
    charges(other, ("under-declared", "4.13"), **MEASURED)
    answer = page.get(STATEMENT)
    assert "2 of the 2 size charges are your “Candle box”" in text(answer)
    assert "It's saved as 1 kg, and the carrier measures 1.6 kg." in text(answer)
    assert f'href="/sizes/{size.uuid}/"' in answer.content.decode()


def test_tabs_count_their_lines_and_what_is_being_reviewed(page: Client, order: Order, alice: User) -> None:
    lines = charges(order, *EVERY_KIND)
    disputing.open_for(lines[2], by=alice, text="-", now=timezone.now())
    tabs = {words: (value, count) for value, words, count in page.get(STATEMENT).context["tabs"]}
    assert {words: count for words, (_, count) in tabs.items()} == {
        "All": 11, "Bookings": 2, "Size charges": 2, "Used after cancelling": 1, "Refunds": 5, "Credits": 1,
        "Disputed": 1,
    }  # fmt: skip
    for value, count in tabs.values():
        assert len(page.get(STATEMENT, {"kind": value}).context["rows"]) == count


def test_every_sum_of_a_statement_is_the_sum_of_its_lines(page: Client, order: Order) -> None:
    charges(order, *EVERY_KIND, *EVERY_KIND[:4])
    context = page.get(STATEMENT).context
    lines = [row["charge"] for row in context["rows"]]
    for group in context["groups"]:
        amounts = [line.amount for line in lines if line.kind == group["kind"]]
        assert (group["amount"], group["count"]) == (sum(amounts), len(amounts))
    [[balance, *_]] = context["totals"]
    assert balance.net == sum(line.amount for line in lines) == sum(group["amount"] for group in context["groups"])
    assert balance.refunds == sum(line.amount for line in lines if line.kind in REFUNDS)
    assert len(context["groups"]) == len(EVERY_KIND)


def test_groups_have_the_interfaces_terms_and_plain_explanations(page: Client, order: Order) -> None:
    charges(order, *EVERY_KIND)
    words = text(page.get(STATEMENT))
    for said in (
        "1 size charge Under-declared adjustment",
        "1 oversize penalty Oversize penalty adjustment",
        "1 used after cancelling Un-cancellation adjustment",
        "1 refund for cancelling Cancellation refund in the same billing cycle",
    ):
        assert said in words


def test_a_line_says_what_was_declared_and_measured_and_leads_to_its_parcel(page: Client, order: Order) -> None:
    charges(order, ("under-declared", "4.13"), **MEASURED)
    answer = page.get(STATEMENT)
    assert "You declared 1 kg. The carrier measured 1.6 kg." in text(answer)
    assert f'href="/parcels/{order.uuid}/#charges"' in answer.content.decode()
    booked_in = statements.week_words(week_of(BOOKED.date() + dt.timedelta(days=1)), order.sender)
    assert f"Booked {booked_in}." in text(answer)
    assert 'href="/help/a-size-charge/"' in answer.content.decode()


REASONS: list[tuple[str, dict[str, Any], str]] = [
    ("under-declared", {"measured_kg": "3.1"}, "You declared 2.4 kg. The carrier measured 3.1 kg."),
    ("under-declared", {}, "The carrier found it bigger or heavier than declared"),
    (
        "under-declared",
        {"declared_m3": "0.008", "measured_m3": "0.012", **MEASURED},
        "You declared 1 kg and 8 L. The carrier measured 1.6 kg and 12 L.",
    ),
    ("oversize", {"measured_kg": "41"}, "Over the service's limit. You declared 2.4 kg. The carrier measured 41 kg."),
    ("other-refund", {"word": "Goodwill <b>"}, "The carrier gave money back. In its words: “Goodwill <b>”."),
    ("other-refund", {"word": "a" * 101}, f"In its words: “{'a' * 100}”."),
    ("un-cancellation", {}, "Its label was used after it was cancelled"),
    ("cover", {}, "The Extra Cover of the booking."),
    ("under-declared", {"declared_kg": "1.0", "measured_m3": "0.012"}, "The carrier measured 12 L."),
    (
        "under-declared",
        {"declared_m3": "0.008448", "measured_m3": "0.012", "declared_kg": "1", "measured_kg": "1"},
        "You declared 32 × 24 × 11 cm (8.45 L). The carrier measured 12 L.",
    ),
    (
        "under-declared",
        {"declared_m3": "0.008", "measured_m3": "0.008", **MEASURED},
        "You declared 1 kg. The carrier measured 1.6 kg.",
    ),
    ("under-declared", {"measured_m3": "0.012"}, "The carrier measured 12 L."),
]


@pytest.mark.parametrize(("kind", "fields", "said"), REASONS)
def test_each_reason_is_a_sentence(page: Client, order: Order, kind: str, fields: dict[str, Any], said: str) -> None:
    charges(order, (kind, "1.00"), **fields)
    assert said in text(page.get(STATEMENT))


def test_a_refund_without_the_carriers_words_quotes_nothing(page: Client, order: Order) -> None:
    charges(order, ("other-refund", "-1.00"), word="")
    words = text(page.get(STATEMENT))
    assert "The carrier gave money back." in words
    assert "In its words" not in words


def test_a_charge_for_cover_says_how_much_is_covered(page: Client, order: Order) -> None:
    Order.objects.filter(pk=order.pk).update(cover_amount="200.00")
    charges(order, ("cover", "2.50"))
    assert "Extra Cover, up to $200.00." in text(page.get(STATEMENT))


def test_filtered_lines_are_summed_by_currency_in_alphabetical_order(page: Client, order: Order) -> None:
    charges(order, ("oversize", "7.00"), currency="USD")
    charges(order, ("oversize", "2.00"), ("under-declared", "3.00"), ("order", "99.00"))
    totals = page.get(STATEMENT, {"kind": "size"}).context["statement"].totals
    assert totals == [
        {"currency": "AUD", "count": 2, "amount": Decimal("5.00")},
        {"currency": "USD", "count": 1, "amount": Decimal("7.00")},
    ]


def test_a_line_without_a_day_shows_its_week_on_the_page_and_a_blank_in_the_spreadsheet(
    page: Client, order: Order
) -> None:
    charges(order, ("oversize", "7.00"), day=None)
    charges(order, ("order", "9.00"), day=MONDAY + dt.timedelta(days=3))
    days = [row["day"] for row in page.get(STATEMENT).context["rows"]]
    assert days == [local_date(MONDAY + dt.timedelta(days=number), order.sender) for number in (3, 0)]
    heads, *lines = rows_of(page.get(f"{STATEMENT}statement.csv"))
    assert [line[heads.index("Date")] for line in lines] == [str(MONDAY + dt.timedelta(days=3)), ""]


def test_people_who_weigh_in_pounds_read_pounds(visit: Visit) -> None:
    of = factories.sender(name="Ohio Sports", country="US")
    dan = factories.user("dan@ohio.example")
    factories.member(of, dan)
    factories.pickup_address(of, email=dan.email)
    made = factories.order(of, dan, status="booked")
    charges(made, ("under-declared", "4.13"), **MEASURED, currency="USD")
    assert "You declared 2.2 lb. The carrier measured 3.53 lb." in text(visit(dan).get(STATEMENT))


def test_our_own_adjustments_give_our_reason(page: Client, order: Order, sam: User) -> None:
    [line] = charges(order, ("under-declared", "4.13"))
    ours: dict[str, Any] = {
        "report": None, "account": line.account, "week": MONDAY, "posted_at": timezone.now(), "by": sam,
        "sender": order.sender, "order": order, "currency": "AUD",
    }  # fmt: skip
    Charge.objects.create(**ours, key="a", kind="credit", stated=5, amount=-5, reason="For the long wait.")
    Charge.objects.create(
        **ours, key="b", kind="under-declared", stated=-4, amount="-4.13", reason="Scales were off.", reverses=line
    )
    words = text(page.get(STATEMENT))
    assert "For the long wait." in words
    assert f"Reverses the line of {local_date(MONDAY, order.sender)}: Scales were off." in words


def test_lines_are_filtered_by_kind_and_found_by_reference(page: Client, order: Order, quill: Sender) -> None:
    other = factories.order(quill, order.made_by, status="booked", customer_reference="SHOP-77")
    charges(order, *EVERY_KIND[:4])
    charges(other, ("order", "5.00"))

    def found(**query: str) -> list[str]:
        return [f"{row['reference']} {row['charge'].kind}" for row in page.get(STATEMENT, query).context["rows"]]

    assert found(kind="size") == [f"{order} under-declared", f"{order} oversize"]
    assert "2 lines, $104.13" in text(page.get(STATEMENT, {"kind": "size"}))
    assert found(kind="cover") == [f"{order} cover"]
    assert found(q=str(other).lower()) == found(q=f"#{other}") == found(q="shop-77") == [f"{other} order"]
    assert found(kind="no such kind") == found()
    assert len(found()) == 5
    assert "No line matches" in text(page.get(STATEMENT, {"q": "zeppelin"}))


def test_the_sum_of_filtered_lines_is_the_sum_of_those_lines(page: Client, order: Order) -> None:
    charges(order, *EVERY_KIND, *EVERY_KIND)
    for query in ({"kind": "size"}, {"kind": "other-refund"}, {"q": str(order)}, {"q": "zeppelin"}):
        context = page.get(STATEMENT, query).context
        totals = [row["amount"] for row in context["statement"].totals]
        assert sum(totals) == sum(row["charge"].amount for row in context["rows"]), query


def test_pages_of_fifty_lines_lead_through_all_of_them_and_back(page: Client, order: Order) -> None:
    charges(order, *[("order", "1.00")] * 60, *[("oversize", "2.00")] * 60)
    first = page.get(STATEMENT)
    second = page.get(STATEMENT, {"after": first.context["page"].on})
    third = page.get(STATEMENT, {"after": second.context["page"].on})
    seen = [row["charge"].pk for answer in (first, second, third) for row in answer.context["rows"]]
    assert [len(answer.context["rows"]) for answer in (first, second, third)] == [50, 50, 20]
    assert len(set(seen)) == 120
    assert third.context["page"].on is None
    back = page.get(STATEMENT, {"before": third.context["page"].back})
    assert [row["charge"].pk for row in back.context["rows"]] == seen[50:100]
    whole = page.get(STATEMENT, {"all": "yes"})
    assert [row["charge"].pk for row in whole.context["rows"]] == seen
    assert len(page.get(STATEMENT, {"after": "x.y", "before": "9" * 40}).context["rows"]) == 50


def test_a_number_too_big_for_the_database_is_404(page: Client, order: Order) -> None:
    charges(order, ("order", "1.00"))
    assert page.get(f"/billing/charges/wrong/?line={10**30}").status_code == 404
    assert page.get(STATEMENT, {"after": "9.9999999999999999"}).context["rows"] == []


def test_a_statement_takes_the_same_number_of_queries_for_ten_lines_and_ten_thousand(
    page: Client, order: Order
) -> None:
    found = []
    report = factories.billing_report(week=MONDAY)
    first, *_ = charges(order, *EVERY_KIND[:10], report=report)
    for more in (0, 9990):
        Charge.objects.bulk_create(_copy(first, number) for number in range(more))
        for address in (STATEMENT, f"{STATEMENT}?kind=size", "/billing/"):
            page.get(address)
            with CaptureQueriesContext(connection) as queries:
                assert page.get(address).status_code == 200
            found.append(len(queries))
    assert Charge.objects.count() == 10_000
    assert found[:3] == found[3:]
    assert max(found) <= 13


def _copy(line: Charge, number: int) -> Charge:
    made = copy.copy(line)
    made.pk, made.line, made.key, made._state = None, 1000 + number, f"copy-{number}", ModelState()
    return made


def test_the_spreadsheet_has_every_line_with_numbers_that_add_up(page: Client, order: Order) -> None:
    Order.objects.filter(pk=order.pk).update(customer_reference="=HYPERLINK(1)")
    charges(order, *EVERY_KIND, **MEASURED)
    answer = page.get(f"{STATEMENT}statement.csv")
    assert answer["Content-Disposition"] == f'attachment; filename="statement-{WEEK}.csv"'
    heads, *lines = rows_of(answer)
    amounts = [Decimal(line[heads.index("Amount")]) for line in lines]
    assert sum(amounts) == sum(Decimal(amount) for _, amount in EVERY_KIND)
    size = next(line for line in lines if line[heads.index("Kind")] == "Size charge")
    named = dict(zip(heads, size, strict=True))
    assert (named["Declared"], named["Measured"], named["Booked in week"]) == ("1 kg", "1.6 kg", BOOKED_IN)
    assert named["Your order number"] == "'=HYPERLINK(1)"
    filtered = rows_of(page.get(f"{STATEMENT}statement.csv?kind=size"))
    assert len(filtered) == 3


def test_the_spreadsheet_has_lines_beyond_the_first_page(
    page: Client, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "ON_PAPER", 2)
    charges(order, *EVERY_KIND)
    assert len(rows_of(page.get(f"{STATEMENT}statement.csv"))) == 1 + len(EVERY_KIND)


def test_the_bookkeeper_sees_money_and_initials_but_no_contact_details(order: Order, bea: User, visit: Visit) -> None:
    Order.objects.filter(pk=order.pk).update(public_tracking_url="https://carrier.example/t/S1?token=secret")
    factories.stored_label(order)
    charges(order, *EVERY_KIND, **MEASURED)
    browser = visit(bea)
    pages = [browser.get(address) for address in ("/billing/", STATEMENT, f"/parcels/{order.uuid}/")]
    seen = "".join(answer.content.decode() for answer in pages).replace("/statement.pdf", "")
    seen += str(rows_of(browser.get(f"{STATEMENT}statement.csv")))
    assert "N. Tamsin" in seen
    assert "$4.13" in seen
    assert "'4.13'" in seen
    for private in ("Noor", "noor.tamsin", "Sample Street", "HOBART", "carrier.example", "token=", "/label/", ".pdf"):
        assert private not in seen, private
    assert "7000" not in str(rows_of(browser.get(f"{STATEMENT}statement.csv")))


@pytest.mark.parametrize("address", [STATEMENT, f"{STATEMENT}statement.csv"])
def test_bob_sees_none_of_alices_billing(order: Order, bob: User, visit: Visit, address: str) -> None:
    charges(order, *EVERY_KIND)
    factories.charge(None, "order", "99.99", report=factories.billing_report(week=MONDAY))  # without an owner yet
    browser = visit(bob)
    assert browser.get(address).status_code == 404
    assert "No charges yet" in text(browser.get("/billing/"))
    assert browser.get(f"/parcels/{order.uuid}/").status_code == 404


def test_bobs_own_statement_of_the_same_week_has_none_of_alices_lines(
    page: Client, order: Order, bob: User, visit: Visit
) -> None:
    report = factories.billing_report(week=MONDAY)
    charges(order, *EVERY_KIND, report=report)
    his = factories.order(bob.membership.sender, bob, status="booked")
    charges(his, ("order", "3.33"), report=report)
    assert "Total $3.33" in text(visit(bob).get(STATEMENT))
    assert str(his) not in text(page.get(STATEMENT))


def test_lines_that_are_not_posted_are_not_shown(page: Client, order: Order) -> None:
    charges(order, ("order", "12.08"), report=factories.billing_report(week=MONDAY, state="checked"))
    assert page.get(STATEMENT).status_code == 404
    assert "No charges yet" in text(page.get("/billing/"))
    assert "Nothing is invoiced yet." in text(page.get(f"/parcels/{order.uuid}/"))


@pytest.mark.parametrize("week", ["2019-W46", "2026-W54", "2026-47", "0000-W01", "week", "2026-W٤٧"])
def test_a_week_that_is_invalid_or_has_no_lines_is_404(page: Client, order: Order, week: str) -> None:
    charges(order, ("order", "12.08"))
    assert page.get(f"/billing/{week}/").status_code == 404


@pytest.mark.parametrize(("who", "sees"), [("alice", True), ("bea", True), ("ana", False), ("vic", False)])
def test_billing_is_in_the_menu_of_those_who_see_money(
    order: Order, visit: Visit, request: pytest.FixtureRequest, who: str, *, sees: bool
) -> None:
    charges(order, *EVERY_KIND, **MEASURED)
    browser = visit(request.getfixturevalue(who))
    own, answer = browser.get(f"/parcels/{order.uuid}/"), browser.get("/parcels/")
    assert ('href="/billing/"' in answer.content.decode()) == sees
    assert ("What was charged" in text(own)) == sees
    assert (browser.get("/billing/").status_code == 200) == sees
    assert ("adjusted" in answer.content.decode()) == sees


def test_a_printed_statement_says_statement_and_neither_invoice_nor_label(page: Client, order: Order) -> None:
    charges(order, *EVERY_KIND)
    answer = page.get(STATEMENT)
    assert "Statement – not a tax invoice. This is not a shipping label." in text(answer)
    assert title(answer) == f"Statement {statements.week_words(MONDAY, order.sender)} · Shipping Portal"


def test_the_list_shows_the_parcels_whose_price_was_adjusted(page: Client, order: Order, quill: Sender) -> None:
    other = factories.order(quill, order.made_by, status="booked")
    charges(order, ("order", "12.08"), ("under-declared", "4.13"), ("oversize", "9.00"))
    charges(other, ("order", "12.08"))
    answer = page.get("/parcels/", {"adjusted": "yes"})
    assert [row["order"].pk for row in answer.context["rows"]] == [order.pk]
    assert "Charges: Adjusted" in text(answer)


def test_a_viewer_cannot_use_the_filter_to_learn_what_was_adjusted(order: Order, vic: User, visit: Visit) -> None:
    factories.order(order.sender, order.made_by, status="booked")
    charges(order, ("under-declared", "4.13"))
    assert visit(vic).get("/parcels/", {"adjusted": "yes"}).context["count"] == 2


def test_new_size_charges_are_on_today_and_link_to_exactly_those_lines(
    page: Client, order: Order, bob: User, visit: Visit
) -> None:
    charges(order, *EVERY_KIND, ("under-declared", "1.00"))
    answer = page.get("/today/")
    assert "New size charges this week: 3" in text(answer)
    link = re.search(r'href="(/billing/[^"]+)"[^>]*>See why', answer.content.decode())
    assert link
    assert len(page.get(link[1]).context["rows"]) == 3
    assert "size charges" not in text(visit(bob).get("/today/"))


def test_old_size_charges_and_other_peoples_jobs_stay_off_today(
    page: Client, order: Order, ana: User, visit: Visit
) -> None:
    old = timezone.now() - dt.timedelta(days=8)
    charges(order, ("oversize", "9.00"), report=factories.billing_report(week=MONDAY, ended_at=old))
    assert "size charges" not in text(page.get("/today/"))
    charges(order, ("oversize", "9.00"))
    assert "New size charges this week: 2" in text(page.get("/today/"))
    assert "size charges" not in text(visit(ana).get("/today/"))


@pytest.mark.parametrize(
    ("country", "week", "words"),
    [
        ("AU", "2026-11-16", "16–22 November"),
        ("US", "2026-11-16", "November 16–22"),
        ("AU", "2026-11-30", "30 November–6 December"),
        ("US", "2026-11-30", "November 30–December 6"),
        ("AU", "2025-11-17", "17–23 November 2025"),
        ("US", "2025-11-17", "November 17–23, 2025"),
    ],
)
@time_machine.travel("2026-11-25")
def test_a_weeks_name_is_made_from_its_days(country: str, week: str, words: str) -> None:
    sender = Sender(country=country, zone="UTC")
    assert statements.week_words(dt.date.fromisoformat(week), sender) == words


def test_every_week_of_thirty_years_is_found_by_its_name() -> None:
    mondays = [dt.date(2020, 1, 6) + dt.timedelta(weeks=number) for number in range(1560)]
    assert [statements.week_named(statements.week_name(monday)) for monday in mondays] == mondays
    assert statements.week_name(dt.date(2025, 12, 29)) == "2026-W01"
