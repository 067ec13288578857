"""Report spend by week: charges and refunds of posted lines only."""

import datetime as dt
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from shipping_portal.accounts.formatting import local_date, money, money_in
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.models import REFUNDS, SIZE_CHARGES, ChargeKind, round_cents
from shipping_portal.billing.pages import statements
from shipping_portal.reports.figures import (
    NOTHING_BEFORE,
    Cell,
    Chart,
    ChartLine,
    Key,
    Mark,
    PlotBar,
    Section,
)
from shipping_portal.reports.figures import whole_percent as percent_of
from shipping_portal.reports.spans import Span

SIZE = "Size charges"
BACK = "Refunds and credits"
PARTS = {
    "Order cost": (ChargeKind.ORDER, ChargeKind.UN_CANCELLATION),
    "Extra Cover": (ChargeKind.COVER,),
    SIZE: SIZE_CHARGES,
    BACK: (*REFUNDS, ChargeKind.CREDIT),
}
TONES = dict(zip(PARTS, ("f1", "f1 soft", "f2", "f3"), strict=True))
PART_OF = {kind: part for part, kinds in PARTS.items() for kind in kinds}
MOST_BARS = 13
# of a plot, in percent of its height: figures are above, days below
TOP, FLOOR = 10.0, 88.0
NAME = "Spend by week"
NOTE = (
    "Lines of the carrier's weekly reports. Order cost includes labels used after cancelling. "
    "What a week costs is often known only the week after."
)


@dataclass
class Sums:
    """The totals of some weeks, by part, with their number of bookings."""

    parts: dict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    bookings: int = 0

    @property
    def net(self) -> Decimal:
        return sum(self.parts.values(), Decimal(0))

    def add(self, other: "Sums") -> "Sums":
        for part, amount in other.parts.items():
            self.parts[part] += amount
        self.bookings += other.bookings
        return self


@dataclass(frozen=True)
class Spend:
    """One currency: bars from its first line on, and the weeks before for comparison.

    For a year, a bar is four weeks.
    """

    currency: str
    bars: dict[dt.date, Sums]
    before: Sums

    @property
    def total(self) -> Sums:
        whole = Sums()
        for sums in self.bars.values():
            whole.add(sums)
        return whole


def read_spends(user: User, sender: Sender, span: Span) -> list[Spend]:
    """Return what was spent in each currency. One query."""
    mine = statements.sums_of(user, sender).filter(week__gte=span.before.first, week__lte=span.last)
    now: dict[str, dict[dt.date, Sums]] = defaultdict(lambda: defaultdict(Sums))
    before: dict[str, Sums] = defaultdict(Sums)
    for week, currency, kind, amount, orders in mine.exclude(kind="").values_list(
        "week", "currency", "kind", "amount", "orders"
    ):
        sums = now[currency][_bar_of_week(week, span)] if week >= span.first else before[currency]
        sums.parts[PART_OF[ChargeKind(kind)]] += round_cents(amount)
        sums.bookings += orders if kind == ChargeKind.ORDER else 0
    return [
        Spend(currency, _without_leading_gaps(now[currency], span), before[currency])
        for currency in sorted({*now, *before})
    ]


def _weeks_per_bar(span: Span) -> int:
    return max(1, span.weeks // MOST_BARS)


def _bar_of_week(week: dt.date, span: Span) -> dt.date:
    step = _weeks_per_bar(span)
    return span.first + dt.timedelta(weeks=(week - span.first).days // 7 // step * step)


def _without_leading_gaps(bars: dict[dt.date, Sums], span: Span) -> dict[dt.date, Sums]:
    every = [
        span.first + dt.timedelta(weeks=number)
        for number in range(0, span.weeks, _weeks_per_bar(span))
    ]
    return {bar: bars[bar] for bar in every if bars and bar >= min(bars)}


def spend_section(
    found: list[Spend], sender: Sender, span: Span, pending: list[dict[str, Any]]
) -> Section:
    """Return a chart for each currency, and the `pending` part (see pending_refunds)."""
    charts, rows, remarks = [], [], []
    for spend in found:
        weeks = {_bar_name(bar, sender, span): sums for bar, sums in spend.bars.items()}
        rows += [spend_row(name, spend.currency, sums) for name, sums in weeks.items()]
        rows.append(spend_row("All these weeks", spend.currency, spend.total))
        rows.append(spend_row("The weeks before", spend.currency, spend.before))
        remarks.append(_write_remark(spend, span))
        if weeks:
            days = [_day_in_words(bar, sender) for bar in spend.bars]
            charts.append(_draw_chart(weeks, days, spend))
    remarks += [
        f"{money_in(row['amount'], row['currency'])} of refunds is pending; it counts as spent."
        for row in pending
    ]
    heads = ["Weeks", "Currency", *PARTS, "Total"]
    nothing = (
        "No charge was posted in these weeks. The carrier's weekly report usually comes on Monday"
        " or Tuesday."
    )
    shown = money if len(found) == 1 else money_in
    spent = " and ".join(shown(spend.total.net, spend.currency) for spend in found)
    title = f"You spent {spent} in {span.weeks} weeks" if found else NAME
    return Section("spend", NAME, title, remarks, NOTE, nothing, heads, rows, charts)


def _bar_name(monday: dt.date, sender: Sender, span: Span) -> str:
    step = _weeks_per_bar(span)
    return f"{'Week of' if step == 1 else f'{step} weeks from'} {local_date(monday, sender)}"


def _day_in_words(monday: dt.date, sender: Sender) -> str:
    return f"{monday:%b} {monday.day}" if sender.country == "US" else f"{monday.day} {monday:%b}"


def spend_row(name: str, currency: str, sums: Sums) -> list[Cell]:
    """Return a row of the table: a name, and the amount of each part."""
    amounts = [sums.parts.get(part, Decimal(0)) for part in PARTS]
    return [
        Cell.of(name),
        Cell.of(currency),
        *(Cell.money(amount, currency) for amount in (*amounts, sums.net)),
    ]


def _write_remark(spend: Spend, span: Span) -> str:
    """Return what the total includes, and how it compares with the weeks before."""
    currency, net, last = spend.currency, spend.total.net, spend.before.net
    back = -spend.total.parts[BACK]
    parts = (
        f"{money_in(net + back, currency)} charged, {money_in(back, currency)} given back. "
        if back
        else ""
    )
    if last <= 0:
        return f"{parts}{NOTHING_BEFORE}"
    part = percent_of(int(100 * abs(net - last)), int(100 * last))
    much = "As much as" if net == last else f"{part} {'more' if net > last else 'less'} than"
    return f"{parts}{much} in the {span.weeks} weeks before: {money_in(last, currency)}."


def _draw_chart(weeks: dict[str, Sums], days: list[str], spend: Spend) -> Chart:
    """Return upright bars on one scale: charges go up from zero, refunds down."""
    ups, downs = (
        [sum(_parts_by_sign(sums, sign), Decimal(0)) for sums in weeks.values()] for sign in (1, -1)
    )
    whole = float(max(ups) + max(downs)) or 1.0
    zero = FLOOR - (FLOOR - TOP) * float(max(downs)) / whole
    bars = []
    for number, (name, sums) in enumerate(weeks.items()):
        marks = _stack_marks(sums, zero, (FLOOR - TOP) / whole)
        slot, left = 100 / len(weeks), 100 * number / len(weeks)
        left_over = len(weeks) - 1 - number
        bars.append(
            PlotBar(
                ChartLine(name, money(sums.net, spend.currency), marks),
                days[number],
                round_money(sums.net, spend.currency),
                f"{left + slot * 0.18:.2f}%",
                f"{slot * 0.64:.2f}%",
                f"{left + slot / 2:.2f}%",
                f"{min((mark.start for mark in marks), default=zero) - 2:.2f}%",
                is_named=left_over % 3 == 0,
                has_figure=not left_over or ups[number] == max(ups),
            )
        )
    total = spend.total.parts
    keys = [
        Key(TONES[part], part, Cell.money(total[part], spend.currency))
        for part in PARTS
        if total[part]
    ]
    return Chart([bar.line for bar in bars], spend.currency, keys, bars, zero=f"{zero:.2f}%")


def round_money(amount: Decimal, currency: str) -> str:
    """Return `$1,018`, without cents."""
    return money(amount.quantize(Decimal(1)), currency).removesuffix(".00")


def _parts_by_sign(sums: Sums, sign: int) -> list[Decimal]:
    """Return the parts above zero, or those below it as positive amounts."""
    return [sign * amount for amount in sums.parts.values() if sign * amount > 0]


def _stack_marks(sums: Sums, zero: float, scale: float) -> list[Mark]:
    marks, top, floor = [], zero, zero
    for part, tone in TONES.items():
        amount = sums.parts.get(part, Decimal(0)).quantize(Decimal("0.01"))
        height = abs(float(amount)) * scale
        if amount > 0:
            top -= height
        if amount:
            marks.append(Mark(floor if amount < 0 else top, height, part, amount, tone))
        if amount < 0:
            floor += height
    return marks
