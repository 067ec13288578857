"""Which lines come from a row of a carrier's report, and how a statement explains them."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from orders.models import Order
from shipping_portal.accounts.models import Sender
from shipping_portal.billing.models import SIZE_CHARGES, BillingReport, Charge, ChargeKind, ChargeWord, Dispute
from shipping_portal.billing.pages import line_reasons, lines, statements
from shipping_portal.billing.reports import checking, kinds
from shipping_portal.billing.reports.reading import read_report
from tests.billing.conftest import line, written
from tests.snapshots import tables
from tests.snapshots.comparing import compare
from tests.snapshots.tables import text_of
from tests.snapshots.test_readings_of_bills import MEANINGS, PROFILE, W, history, order


def reader(meaning: str, posted: dict[str, dt.date], **profile: bool) -> Iterator[Charge]:
    report = BillingReport(pk=7, account_id=3, week=W[2])
    row = next(
        read_report(
            written(line("sq7k2m", "12.08", Warranty_Price="3.00", Refund_Date="2026-11-20"), line("x")), PROFILE
        )
    )
    term = ChargeWord(pk=4, word=kinds.normalise_word(row.word), meaning=meaning)
    keyed = {"same": row.key, "used": row.used_key}
    orders = {"SQ7K2M": order("cancelled, used" if posted else "booked")}
    made = checking.Reader(
        report,
        replace(PROFILE, **profile),
        orders,
        {term.word: term},
        {keyed[name]: week for name, week in posted.items()},
        history(()),
    )
    for charge in made.lines(row):
        charge.key = next((name for name, key in keyed.items() if key == charge.key), "another")
        yield charge


def charges(meaning: str, posted: dict[str, dt.date], **profile: bool) -> str:
    shown = ("kind", "amount", "stated", "part", "key", "is_repeat", "order_id", "sender_id", "day")
    return "; ".join(", ".join(str(getattr(one, name)) for name in shown) for one in reader(meaning, posted, **profile))


FLAGS = {
    f"refunds {'positive' if positive else 'negative'}, cover {'inside' if inside else 'beside'}":
    {"refunds_positive": positive, "cover_inside": inside} for positive in (True, False) for inside in (True, False)
}  # fmt: skip
BEFORE: list[dict[str, dt.date]] = [{"same": W[1]}, {"same": W[2], "used": W[1]}, {"used": W[2]}, {"used": W[3]}]


def test_a_row_becomes_the_expected_lines() -> None:
    compare(
        "reads-bill-lines",
        [
            *(f"{meaning}, {how} -> {charges(meaning, {}, **FLAGS[how])}" for meaning in MEANINGS for how in FLAGS),
            *(f"order, posted before: {text_of(posted)} -> {charges('order', posted)}" for posted in BEFORE),
        ],
    )


AU, US = (
    Sender(name="AU", country="AU", zone="Australia/Melbourne"),
    Sender(name="US", country="US", zone="America/Los_Angeles"),
)
REPORT = BillingReport(pk=7)
BOOKED = Order(pk=1, weight_kg=Decimal("1.000"), cover_amount=Decimal(150))
MEASURED: list[dict[str, Any]] = [
    {}, {"measured_kg": Decimal("1.600")}, {"declared_kg": Decimal("1.50"), "measured_kg": Decimal("10.000")},
    {"declared_kg": Decimal(1)},
    {"measured_m3": Decimal("0.0120")}, {"declared_m3": Decimal("0.01")}, {"declared_m3": Decimal("0.010"),
    "measured_m3": Decimal("0.02")},
    {"declared_kg": Decimal(0), "measured_kg": Decimal(0)}, {"measured_kg": Decimal(2), "measured_m3": Decimal(1),
    "declared_m3": Decimal(2)},
]  # fmt: skip


def explained(kind: str, sender: Sender, of: Order | None = None, **values: Any) -> str:
    charge = Charge(kind=kind, report=REPORT, order=of, amount=Decimal(1), currency="AUD", week=W[0], **values)
    return line_reasons.line_reason(charge, sender)


def test_a_line_is_explained_as_expected() -> None:
    then = Charge(week=W[2])
    ours = [(text, of, sender) for text in ("", "Late.") for of in (None, then) for sender in (AU, US)]
    measured = [
        (kind, what, sender, of)
        for kind in SIZE_CHARGES
        for what in MEASURED
        for sender in (AU, US)
        for of in (None, BOOKED)
    ]
    compare(
        "reads-bill-reasons",
        [
            *tables.lines(lambda kind, what, sender, of: explained(kind, sender, of, **what), measured, "measured"),
            *tables.lines(lambda kind: (line_reasons.interface_name(kind), explained(kind, AU, BOOKED)), ChargeKind.values,
            "kind"),
            *tables.lines(lambda kind: explained(kind, AU, Order(pk=2), word="w" * 101), ChargeKind.values,
            "with a word"),
            *tables.lines(lambda text, of, sender: line_reasons.line_reason(Charge(report=None, reason=text, reverses=of),
            sender), ours, "ours"),
        ],
    )  # fmt: skip


def disputed(*found: Dispute) -> Charge:
    charge = Charge(pk=1, kind="order", week=W[0])
    charge._prefetched_objects_cache = {"disputes": list(found)}
    return charge


def test_weeks_totals_and_disputes_are_read_as_expected() -> None:
    at = dt.datetime(2026, 11, 30, 20, 0, tzinfo=dt.UTC)
    found = {
        state: Dispute(state=state, made_at=at, answered_at=at + dt.timedelta(days=3), answer="So.")
        for state in Dispute.State.values
    }
    days = [dt.date(2026, 12, 27) + dt.timedelta(n) for n in range(9)]
    sums = [(kind, "AUD", Decimal(10) ** n / 100) for n, kind in enumerate(ChargeKind.values)] + [
        ("order", "NZD", Decimal(-1)),
        ("credit", "CAD", Decimal("-0.005")),
    ]
    compare(
        "reads-bill-weeks",
        [
            *tables.lines(statements.week_name, days),
            *tables.lines(statements.week_named, ["2026-W47", "2026-W53", "2027-W53", "2026-W00", "2026-W1", "2026-w47",
            "26-W47", "0000-W01", "9999-W52", ""]),
            *tables.lines(
                lambda day: (statements.week_words(day, AU), statements.week_words(day, US)), days[:2], "words_of"
            ),
            *tables.lines(lambda until, today: statements.is_final(W[1], until, today), [(until,
            today) for until in (None, *W[:3]) for today in (W[2] - dt.timedelta(1), W[2])], "is_final"),
            *(f"{text_of(one)} charges={one.charges} net={one.net}" for one in statements.balances_of(sums)),
            *tables.lines(statements.LINES.key, ["1.2", "", "1", ".2", "1.", "a.1", "1.b", "1.2.3", "-1.2",
            "123456789.123456789", "123456789.1234567890", "١.٢"], "key"),
            f"no dispute -> {lines.dispute_state(disputed(), AU)}",
            *(f"{state} -> {lines.dispute_state(disputed(one), AU)}" for state, one in found.items()),
            f"two -> {lines.dispute_state(disputed(*found.values()), AU)}",
        ],
    )  # fmt: skip
