"""A posted report comes again in another format: none of its lines is new, and nothing is charged twice."""

import csv
import datetime as dt
import io
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from orders.calling import gateway
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.models import BillingReport, Charge, WeekSum
from shipping_portal.billing.reports import posting
from shipping_portal.billing.reports.fields import DEFAULT_COLUMNS, profile_of
from tests import factories
from tests.billing.conftest import HEADER, line, refund, summed

Take = Callable[..., BillingReport]
pytestmark = pytest.mark.django_db
DAYS = ("Order Date", "Refund Date")
NUMBERS = ("Price", "Warranty Price", "Declared Max Weight", "Declared Max Volume")
DECLARED = {"Declared_Max_Weight": "2.400", "Declared_Max_Volume": "0.0108"}
SIZE = {"Type": "Adjustment: Incorrect size declared"}
ROWS = [
    line("SA000001", "10.60", Warranty_Price="2.30", Customer_Reference="#1", **DECLARED),
    line("SA000002", "21.00", Warranty_Price="0.00", **DECLARED),
    line("SA000003", "1021.36", **DECLARED),
    refund("SA000002", "4.00", Refund_Reason="Delay"),
    line("SA000001", "3.30", **SIZE, **DECLARED),
    line("SA000001", "3.30", **SIZE, **DECLARED),  # charged for two parcels of one order
    line("SCANCEL1", "9.90", **DECLARED),
    refund("SCANCEL1", "9.90", **DECLARED),
    line("SNOBODY1", "31.40"),
    line("00123456", "7.00"),  # of a carrier whose numbers are digits
    line("00123456", "1.10", **SIZE),
    line("007", "6.00"),  # unassigned
    line("", "5.00", Type="Adjustment: Oversize penalty"),  # of no parcel at all
]
ROWS = [{**row, "Line": f"{at:04}"} for at, row in enumerate(ROWS, start=7)]
POSTED = {"AUD": sum((Decimal(row["Price"]) * (-1 if row["Paid"] == "Refunded" else 1) for row in ROWS), Decimal(0))}


@pytest.fixture
def orders(quill: Sender, alice: User) -> None:
    """Create every order in the report, except one."""
    for reference in ("SA000001", "SA000002", "SA000003", "00123456"):
        factories.order(quill, alice, status="booked", carrier_reference=reference)
    factories.order(quill, alice, status="cancelled", carrier_reference="SCANCEL1")


def shortest(cell: str) -> str:
    """Return an amount the way a spreadsheet saves 10.60 and 0.00."""
    return format(Decimal(cell).normalize(), "f") if cell.strip() else ""


def serial(day: str) -> str:
    """Return a day the way a spreadsheet saves it from a cell without a date format."""
    return str((dt.date.fromisoformat(day) - dt.date(1899, 12, 30)).days) if day else ""


def measured(row: dict[str, str]) -> None:
    row["Measured Weight"], row["Measured Volume"] = "2.55", "0.0119"


CELLS: dict[str, Callable[[dict[str, str]], None]] = {
    "zeros": lambda row: row.update({name: shortest(row.get(name, "")) for name in NUMBERS}),
    "more zeros": lambda row: row.update({"Price": f"{row['Price']}00"}),
    "capitals": lambda row: row.update({"Type": row["Type"].upper(), "Reference": row.get("Reference", "").lower()}),
    "spaces": lambda row: row.update({name: f" {cell}\N{NO-BREAK SPACE} " for name, cell in row.items()}),
    "measures": measured,
    "lost zeros": lambda row: row.update({name: row[name].lstrip("0") for name in ("Reference", "Line")}),
    "days as numbers": lambda row: row.update({name: serial(row[name]) for name in DAYS}),
    "other references": lambda row: row.update({"Customer Reference": "another"}),
}
OPTIONAL = sorted(set(DEFAULT_COLUMNS) - {"type", "reference", "price", "currency", "paid", "cover"})


def written(
    cells: set[str], seed: int, *, bom: bool, delimiter: str, end: str, quoting: int, empty: bool, dates: str,
    sign: str,
) -> bytes:  # fmt: skip
    """Return the same lines and totals with the rows and columns shuffled by the seed."""
    dice = random.Random(seed)  # noqa: S311  (nothing is kept secret by it)
    rows, totals = _read(summed(*ROWS))
    for row in rows:
        for name in sorted(cells):
            CELLS[name](row)
        for name in DAYS:
            row[name] = dates.format(*row[name].strip().split("-")) if "-" in row[name] else row[name]
    for row in (*rows, *totals):
        row.update({name: row[name].replace(".", sign) for name in (*NUMBERS, "Measured Weight", "Measured Volume")})
    dice.shuffle(rows)
    header = dice.sample(HEADER, len(HEADER))
    text = io.StringIO()
    writer = csv.DictWriter(text, header, restval="", delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writeheader()
    writer.writerows([*rows, *totals])
    return (b"\xef\xbb\xbf" if bom else b"") + text.getvalue().encode() + (b"\r\n" if empty else b"")


def _read(content: bytes) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    found = list(csv.DictReader(io.StringIO(content.decode())))
    return [row for row in found if row["Type"] != "Total"], [row for row in found if row["Type"] == "Total"]


FORMS = {"%Y-%m-%d": "{0}-{1}-{2}", "%d/%m/%Y": "{2}/{1}/{0}", "%m/%d/%Y": "{1}/{2}/{0}", "%d.%m.%Y": "{2}.{1}.{0}"}


@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    cells=st.sets(st.sampled_from(sorted(CELLS))),
    seed=st.integers(0, 1000),
    unmapped=st.sampled_from(["", *OPTIONAL]),
    was_unmapped=st.sampled_from(["", *OPTIONAL]),
    form=st.sampled_from(sorted(FORMS)),
    numbered=st.tuples(st.booleans(), st.booleans()),
    layout=st.fixed_dictionaries({
        "bom": st.booleans(), "empty": st.booleans(), "delimiter": st.sampled_from(",;\t|"),
        "sign": st.sampled_from(".,"),
        "end": st.sampled_from(["\r\n", "\n"]), "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    }),
)  # fmt: skip
def test_a_posted_report_in_another_format_has_no_new_lines_and_charges_nothing(
    orders: None, take: Take, cells: set[str], seed: int, unmapped: str, was_unmapped: str, form: str,
    layout: dict[str, Any], numbered: tuple[bool, bool],
) -> None:  # fmt: skip
    with transaction.atomic():
        posted = by_profile(take, summed(*ROWS), was_unmapped, numbered=numbered[0])
        posting.post_report(posted, by=None, now=timezone.now())
        assert not posted.lines.exclude(held="", is_repeat=False).exists()
        again = by_profile(
            take, written(cells, seed, dates=FORMS[form], **layout), unmapped, form=form,
            delimiter=layout["delimiter"], decimal_sign=layout["sign"], numbered=numbered[1],
        )  # fmt: skip
        assert list(again.lines.filter(is_repeat=False).values_list("reference", "word", "amount", "day")) == []
        posting.post_report(again, by=None, now=timezone.now())
        assert Charge.objects.posted().net() == POSTED
        assert WeekSum.objects.get(kind="").amount == POSTED["AUD"] - Decimal("42.40")  # of unassigned lines
        transaction.set_rollback(True)


def by_profile(
    take: Take, content: bytes, unmapped: str, *, form: str = "%Y-%m-%d", delimiter: str = ",", decimal_sign: str = "",
    numbered: bool = False,
) -> BillingReport:  # fmt: skip
    """Return a report read by this profile. If `numbered`, a column has the carrier's own line numbers."""
    profile = profile_of(gateway.current_account())
    profile.columns = {**DEFAULT_COLUMNS, "line_id": "Line" if numbered else "", unmapped: ""}
    profile.date_form, profile.delimiter, profile.decimal_sign = form, delimiter, decimal_sign
    profile.save()
    return take(content + b"\n")  # never the same bytes


@pytest.mark.parametrize(
    ("known", "named"),
    [
        (["00123456"], "00123456"),
        (["0123456", "00123456"], None),  # either may be meant
        (["123456"], "123456"),
        (["0" * 12 + "123456"], None),  # more zeros than a number has
        (["A0123456"], None),
        ([], None),
    ],
)
def test_a_reference_that_lost_its_zeros_is_matched_if_only_one_parcel_fits(
    take: Take, quill: Sender, alice: User, known: list[str], named: str | None
) -> None:
    for reference in known:
        factories.order(quill, alice, status="booked", carrier_reference=reference)
    charge = take(summed(line("123456"))).lines.get()
    assert (charge.order and charge.order.carrier_reference) == named
    assert charge.reference == (named or "123456")


@pytest.mark.parametrize(
    ("cell", "day"),
    [("46352", "2026-11-26"), ("46352.0", "2026-11-26"), ("29999", None), ("80000", None), ("4.6E+04", None)],
)
def test_a_day_saved_as_a_number_must_be_a_plausible_day(take: Take, cell: str, day: str | None) -> None:
    report = take(summed(line("SA000001", Order_Date=cell)))
    assert [str(one) for one in report.lines.values_list("day", flat=True)] == ([day] if day else [])
