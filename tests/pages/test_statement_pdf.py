"""A statement's PDF: complete, with the carrier's tax, in the account's script, and without receivers."""

import datetime as dt
import io
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from pypdf import PdfReader
from time_machine import TimeMachineFixture

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.pages import paper, statements
from shipping_portal.billing.pages.taxes import line_tax
from tests import factories
from tests.pages.test_billing import BOOKED, EVERY_KIND, MONDAY, STATEMENT, WEEK, charges, rows_of

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
BREAKDOWN = [
    ["price_breakdown.base", "10.98", "AUD"],
    ["price_breakdown.base_tax", "1.10", "AUD"],
    ["price_breakdown.cover", "2.27", "AUD"],
    ["price_breakdown.cover_tax", "0.23", "AUD"],
]


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked", booked_at=BOOKED, breakdown=BREAKDOWN)


def words_of(answer: Any) -> str:
    assert answer["Content-Type"] == "application/pdf"
    return " ".join(" ".join(each.extract_text() for each in PdfReader(io.BytesIO(answer.content)).pages).split())


def test_the_pdf_has_every_line_every_total_and_the_tax_the_carrier_stated(page: Client, order: Order) -> None:
    charges(order, *EVERY_KIND)
    answer = page.get(f"{STATEMENT}statement.pdf")
    assert answer["Content-Disposition"] == f'attachment; filename="statement-{WEEK}.pdf"'
    words = words_of(answer)
    assert f"Statement {WEEK}" in words
    assert statements.week_words(MONDAY, order.sender, names_year=True) in words
    assert order.sender.number in words
    assert "1 booking $1.10 $12.08" in words
    assert "1 Extra Cover $0.23 $2.50" in words
    assert f"Total $1.33 ${sum(Decimal(amount) for _, amount in EVERY_KIND)} AUD" in words
    assert words.count(order.carrier_reference or "no reference") == len(EVERY_KIND)
    assert "Not a tax invoice." in words


def test_a_line_whose_price_is_not_the_sum_of_its_parts_has_no_known_tax(order: Order) -> None:
    def tax(kind: str, amount: str, **fields: Any) -> Decimal | None:
        [line] = charges(order, (kind, amount), **fields)
        return line_tax(line)

    assert tax("order", "12.08") == Decimal("1.10")
    assert tax("order", "14.58") == Decimal("1.33")  # a bill whose price includes the cover
    assert tax("cover", "2.50") == Decimal("0.23")
    assert tax("order", "12.09") is None
    assert tax("order", "12.08", currency="CAD") is None
    assert tax("cover", "2.51") is None
    assert tax("cancel-refund", "12.08") is None
    order.breakdown = [["base", "9.00", "AUD"]]
    assert tax("order", "9.00") is None
    order.breakdown = []
    assert tax("order", "0.00") is None


def test_the_spreadsheet_has_the_tax_of_each_line(page: Client, order: Order) -> None:
    charges(order, ("order", "12.08"), ("oversize", "7.00"))
    heads, *lines = rows_of(page.get(f"{STATEMENT}statement.csv"))
    assert [line[heads.index("Tax in it")] for line in lines] == ["1.10", ""]


def test_two_currencies_have_separate_totals(page: Client, order: Order) -> None:
    charges(order, ("order", "12.08"))
    charges(order, ("order", "7.00"), currency="USD")
    words = words_of(page.get(f"{STATEMENT}statement.pdf"))
    assert "Total $1.10 $12.08 AUD" in words
    assert "Total – $7.00 USD" in words
    assert (words.count("$12.08 AUD"), words.count("$7.00 USD")) == (2, 2)  # in the sum, and in its line


def test_names_keep_their_own_script(page: Client, order: Order) -> None:
    charges(order, ("order", "12.08"))
    names = ["Łukasz & Żaneta <b>", "Ελλάδα", "Привет", "Nguyễn", "茶屋"]
    for name in names:
        Order.objects.filter(pk=order.pk).update(customer_reference=name)
        assert name in words_of(page.get(f"{STATEMENT}statement.pdf"))


def test_the_pdf_has_the_whole_week_whatever_the_page_shows(page: Client, order: Order) -> None:
    charges(order, *EVERY_KIND)
    filtered, whole = (words_of(page.get(f"{STATEMENT}statement.pdf{query}")) for query in ("?kind=size&q=nothing", ""))
    assert filtered == whole


def test_a_long_week_has_all_totals_and_says_that_lines_are_left_out(
    page: Client, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "ON_PAPER", 2)
    monkeypatch.setattr(paper, "TAXED", 10)
    charges(order, *EVERY_KIND)
    words = words_of(page.get(f"{STATEMENT}statement.pdf"))
    assert f"the first 2 of {len(EVERY_KIND)} lines" in words
    assert words.count(order.carrier_reference or "no reference") == 2
    assert f"${sum(Decimal(amount) for _, amount in EVERY_KIND)} AUD" in words
    assert paper.TOO_MANY in words


def test_an_accountant_sees_no_receiver(page: Client, order: Order) -> None:
    charges(order, *EVERY_KIND)
    words = words_of(page.get(f"{STATEMENT}statement.pdf"))
    for private in ("Noor", "Tamsin", "Sample Street", "HOBART", "7000"):
        assert private not in words


def test_an_open_week_says_so_and_pending_refunds_are_named(
    page: Client, order: Order, time_machine: TimeMachineFixture
) -> None:
    next_week = MONDAY + dt.timedelta(days=7)
    time_machine.move_to(dt.datetime.combine(next_week, dt.time(12), dt.UTC))
    charges(order, ("order", "12.08"), week=next_week)
    Order.objects.filter(pk=order.pk).update(status="cancel_asked")
    words = words_of(page.get(f"/billing/{statements.week_name(next_week)}/statement.pdf"))
    assert "This week isn't final yet." in words
    assert "of refunds is pending" in words


def test_a_line_says_which_parcel_of_an_order_it_is(page: Client, order: Order) -> None:
    Order.objects.filter(pk=order.pk).update(consignment=order.form_token, parcel_number=2, parcel_count=3)
    charges(order, ("order", "12.08"))
    assert f"{order.customer_reference} 2 of 3" in words_of(page.get(f"{STATEMENT}statement.pdf"))


def test_the_page_links_to_it(page: Client, order: Order) -> None:
    charges(order, ("order", "12.08"))
    assert f'href="{STATEMENT}statement.pdf"' in page.get(STATEMENT).content.decode()


@pytest.mark.parametrize("week", [WEEK, "2026-W60", "nonsense"])
def test_bobs_pdf_has_none_of_alices_lines(order: Order, bob: User, visit: Visit, week: str) -> None:
    charges(order, *EVERY_KIND)
    assert visit(bob).get(f"/billing/{week}/statement.pdf").status_code == 404
