"""How a carrier's report is read: its cells, its files and its kinds of lines."""

import datetime as dt
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from orders.models import Order
from orders.models.statuses import Progress, Status
from shipping_portal.billing.models import BillingReport, Charge, ChargeKind, ChargeWord
from shipping_portal.billing.reports import fields, kinds
from shipping_portal.billing.reports.reading import ReportRow, read_report
from tests.billing.conftest import HEADER, line, written
from tests.snapshots.comparing import compare
from tests.snapshots.tables import changes, lines, outcome, text_of

PROFILE = fields.Profile(
    ",", fields.DEFAULT_COLUMNS, "%Y-%m-%d", refunds_positive=True, cover_inside=True, total_word="Total"
)
CELLS: dict[str, tuple[str, ...]] = {
    "Price": ("0", "-0", "12.08", "-12.08", "+1", " 1 2 ", "12.080", "0." + "1" * 60, "12.085", "1,5", "1e2",
    "12.0x", "NaN",
    "Infinity", "", "999999999999", "1000000000000", "999999999999.99", "$5", "٣"),
    "Currency": ("aud", "AU", "AUDX", "", "A U D", "A1D", "ÄUD"),
    "Order Date": ("", "2026-11-18", "2026-2-3", "18/11/2026", "2026-02-30", "2026-11-18 10:00", "9999-12-31"),
    "Refund Date": ("2026-11-20", "x"),
    "Warranty Price": ("", "0", "3", "3.005", "-1", "x"),
    "Measured Weight": ("", "0", "1.6", "-0.1", "99999.9", "100000", "1,6", "x"),
    "Declared Max Volume": ("0.012", "-1"),
    "Type": ("", "x" * 100, "x" * 101, "TOTAL", " total ", "Sub total", "Order\n Invoiced", "a\x00b"),
    "Paid": ("", "Refunded", "x" * 60, "x" * 61),
    "Refund Reason": ("Delay", "x" * 101),
    "Reference": ("", "sq7k2m", "S" * 100, "S" * 101),
    "Customer Reference": ("", "c" * 255, "c" * 300, "c" * 10_000, "c" * 10_001),
}  # fmt: skip


def first(row: dict[str, str]) -> Any:
    found = next(read_report(written(row), PROFILE))
    return replace(found, key="") if isinstance(found, ReportRow) else found


def cell(name: str, text: str, plain: ReportRow) -> str:
    row = first(line("SQ7K2M") | {name: text})
    return f"{name}={text_of(text)} -> {changes(row, plain) if isinstance(row, ReportRow) else text_of(row)}"


def test_the_cells_of_a_report_are_read_as_expected() -> None:
    plain = first(line("SQ7K2M"))
    compare("reads-bill-cells", [text_of(plain), *(cell(name, text, plain) for name in CELLS for text in CELLS[name])])


ROWS = written(line("S1"), line("S2"))
HEAD = ",".join(HEADER).encode()
FILES: dict[str, bytes] = {
    "two lines": ROWS, "a mark before": b"\xef\xbb\xbf" + ROWS, "latin": ROWS.replace(b"S1", b"\xe91"),
    "utf-8": ROWS.replace(b"S1", "é1".encode()),
    "empty": b"", "blank lines": b"\r\n\r\n" + ROWS + b"\r\n,,\r\n", "only a header": HEAD,
    "one cell too few": ROWS.replace(b"S1,,", b"S1,"),
    "one cell too many": ROWS.replace(b"S1,,", b"S1,,,"), "no column": HEAD.replace(b"Price", b"Cost"),
    "no columns": b"a,b", "other case": ROWS.replace(b"Price", b" PRICE "),
    "twice a column": HEAD + b",price\r\nOrder Invoiced,S1,,2026-11-18,Paid,1,AUD,,,,,,,,2",
    "a quote that never ends": ROWS + b'"S3', "a line in a cell": ROWS.replace(b"S1", b'"S\n1"'),
    "odd quotes": ROWS + b'Order "x" y,"a"b', "another sign": ROWS.replace(b",", b";"), "tabs": ROWS.replace(b",",
    b"\t"), "a first line": b'"Type\r\n' + ROWS,
}  # fmt: skip


def file(content: bytes, profile: fields.Profile = PROFILE) -> str:
    return outcome(lambda: [by_line(one) for one in read_report(content, profile)])


def by_line(one: Any) -> Any:
    return (one.number, getattr(one, "reference", getattr(one, "message", ""))) if hasattr(one, "number") else one


def keys(*files: list[dict[str, str]], own: str = "") -> list[int]:
    """Replace each line's key by a number, in order of appearance."""
    columns = fields.DEFAULT_COLUMNS | ({"line_id": own} if own else {})
    profile = replace(PROFILE, columns=columns)
    found = [one.key for rows in files for one in read_report(written(*rows), profile) if isinstance(one, ReportRow)]
    return [found.index(key) for key in found]


def by_form(day: str) -> str:
    forms = ("%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y")
    rows = [next(read_report(written(line("S", Order_Date=day)), replace(PROFILE, date_form=form))) for form in forms]
    return ", ".join(str(getattr(row, "day", "no")) for row in rows)


OTHERWISE = {
    "Type": "Other",
    "Price": "1",
    "Customer Reference": "x",
    "Measured Weight": "1",
    "Reference": "s1",
    "Paid": "",
}


def test_report_files_and_the_keys_of_their_lines_are_read_as_expected() -> None:
    one, sums = line("S1"), written(line("T", Type="SUM"), line("T", Type="Total"))
    two = {"nothing": one} | {name: one | {name: text} for name, text in OTHERWISE.items()}
    compare(
        "reads-bill-files",
        [
            *(f"{name} -> {file(content)}" for name, content in FILES.items()),
            f"semicolons -> {file(FILES['another sign'], replace(PROFILE, delimiter=';'))}",
            f"no word for totals -> {file(sums, replace(PROFILE, total_word=''))}",
            f"another word -> {file(sums, replace(PROFILE, total_word='Sum'))}",
            *(f"{day} -> {by_form(day)}" for day in ("2026-11-18", "18/11/2026", "11/18/2026", "18.11.2026",
            "1/2/2026")),
            *(f"{name} otherwise -> {keys([one], [other])}" for name, other in two.items()),
            *(f"{name} otherwise, numbered -> {keys([one], [other], own='Reference')}" for name, other in two.items()),
            f"four lines -> {keys([one, one, line('S2'), one], [one, one])}",
        ],
    )  # fmt: skip


W = [dt.date(2026, 11, 2) + dt.timedelta(weeks=n) for n in range(5)]
MEANINGS = (*(kind for kind in ChargeKind.values if kind not in ("unknown", "credit")), ChargeWord.ORDER_REFUND, "")
STEPS: dict[str, tuple[tuple[str, int, int], ...]] = {
    "nothing before": (), "charged in week 1": (("order", 1, 9),), "charged in 2, this report": (("order", 2, 7),),
    "charged in 3": (("order", 3, 9),),
    "charged in 1, given back in 1": (("order", 1, 9), ("cancel-refund", 1, 9)),
    "given back only": (("cancel-refund-later", 1, 9),),
    "charged twice, given back once": (("order", 1, 9), ("un-cancellation", 2, 9), ("cancel-refund", 2, 9)),
    "its size in 1": (("oversize", 1, 9),),
    "charged in 1 and here": (("order", 1, 9), ("order", 2, 7)), "given back in 3": (("order", 1, 9),
    ("cancel-refund", 3, 9)),
}  # fmt: skip


def order(what: str) -> Order:
    at = dt.datetime.combine(W[2], dt.time(), dt.UTC)
    made = Order(pk=1, sender_id=5, status=Status.CANCELLED if "cancelled" in what else Status.BOOKED)
    made.cancelled_at = at if "cancelled" in what else None
    made.used_after_cancel_at = at if "used" in what else None
    made.progress, made.progress_at = (Progress.IN_TRANSIT, at) if "moving" in what else (Progress.NONE, at)
    new = Status.CANCEL_UNCONFIRMED if "unclear" in what else Status.BOOKED
    made._prefetched_objects_cache = {"changes": [SimpleNamespace(new=new)]}
    return made


ORDERS = ("booked", "cancelled", "unclear", "used", "cancelled, used", "moving", "moving, unclear", "cancelled, moving")


def history(steps: tuple[tuple[str, int, int], ...]) -> kinds.History:
    made = kinds.History([], BillingReport(pk=7))
    for kind, week, report in steps:
        made.add(Charge(order_id=1, kind=kind, week=W[week], report_id=report))
    made.add(Charge(order_id=None, kind="order", week=W[0], report_id=9))
    made.add(Charge(order_id=1, kind="order", week=W[0], report_id=9), counts=False)
    return made


def found(steps: Any, what: str) -> list[str]:
    one = order(what)
    of = [history(steps).kind(meaning, one, W[2]) for meaning in ("order", ChargeWord.ORDER_REFUND)]
    return [*of, f"given back: {history(steps).is_given_back(one, W[2])}"]


def test_each_line_has_the_expected_kind() -> None:
    weeks = [(what, n) for what in ORDERS for n in (1, 2, 3)]
    compare(
        "reads-bill-kinds",
        [
            *(f"{name}; {what} -> {', '.join(found(steps, what))}" for name,
            steps in STEPS.items() for what in ORDERS),
            *lines(lambda meaning: (history(()).kind(meaning, None, W[2]),
            history(STEPS["charged in week 1"]).kind(meaning, order("booked"), W[2])), MEANINGS, "no order; an order"),
            *lines(lambda what, n: (kinds.may_be_cancelled(order(what)), kinds.was_used(order(what), W[n])), weeks,
            "may be cancelled; was used"),
            *lines(lambda word: (kinds.normalise_word(word), str(kinds.KNOWN.get(kinds.normalise_word(word), ""))), [*kinds.KNOWN,
            "Order Invoiced / PAID"], "word"),
        ],
    )  # fmt: skip
