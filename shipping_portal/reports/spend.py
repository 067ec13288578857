"""Spend by week: what the carrier's reports charged and gave back, of posted lines only."""

import datetime as dt
from collections import defaultdict
from decimal import Decimal

from django.db.models import Sum

from shipping_portal.accounts.models import Sender, User
from shipping_portal.accounts.templatetags.words import local_date, money_in
from shipping_portal.billing.models import REFUNDS, SIZE_CHARGES, Charge, ChargeKind, cents
from shipping_portal.reports.figures import Cell, Chart, ChartLine, Key, Mark, Section
from shipping_portal.reports.spans import Span

PARTS = {
    "Order cost": (ChargeKind.ORDER, ChargeKind.UN_CANCELLATION),
    "Extra Cover": (ChargeKind.COVER,),
    "Size charges": SIZE_CHARGES,
    "Refunds and credits": (*REFUNDS, ChargeKind.CREDIT),
}
PART_OF = {kind: part for part, kinds in PARTS.items() for kind in kinds}
MOST_BARS = 13
Sums = dict[str, Decimal]  # by part
RULE = (
    "Lines of the carrier’s weekly reports, in the week whose statement has them. Order cost includes labels used "
    "after cancelling. What a week costs is often known only the week after."
)


def section(user: User, sender: Sender, span: Span) -> Section:
    """Return one picture for each currency; over a year a bar is four weeks."""
    step = max(1, span.weeks // MOST_BARS)
    bars = [span.first + dt.timedelta(weeks=number) for number in range(0, span.weeks, step)]
    now, before = _sums(user, sender, span, step)
    charts, rows, headlines = [], [], []
    for currency in sorted({currency for currency, _ in now} | set(before)):
        weeks = {_name(bar, step, sender): now.get((currency, bar), {}) for bar in bars}
        total = _added(list(weeks.values()))
        last = before.get(currency, {})
        charts.append(_chart(weeks, total, currency))
        rows += [_row(name, currency, sums) for name, sums in weeks.items()]
        rows += [_row("All these weeks", currency, total), _row("The weeks before", currency, last)]
        headlines.append(_headline(total, last, currency, span))
    heads = ["Weeks", "Currency", *PARTS, "Net"]
    nothing = "No charge was posted in these weeks. The carrier’s weekly report usually comes on Monday or Tuesday."
    return Section("spend", "Spend by week", RULE, nothing, headlines, heads, rows, charts)


def _sums(user: User, sender: Sender, span: Span, step: int) -> tuple[dict[tuple[str, dt.date], Sums], dict[str, Sums]]:
    """Return the sums by currency and first week of a bar; and by currency for the weeks before."""
    mine = Charge.objects.for_user(user).filter(sender=sender)
    lines = mine.filter(week__gte=span.before.first, week__lte=span.last).order_by()
    now: dict[tuple[str, dt.date], Sums] = defaultdict(lambda: defaultdict(Decimal))
    before: dict[str, Sums] = defaultdict(lambda: defaultdict(Decimal))
    for week, currency, kind, amount in lines.values_list("week", "currency", "kind").annotate(net=Sum("amount")):
        bar = span.first + dt.timedelta(weeks=(week - span.first).days // 7 // step * step)
        sums = now[currency, bar] if week >= span.first else before[currency]
        sums[PART_OF[ChargeKind(kind)]] += cents(amount)
    return now, before


def _name(monday: dt.date, step: int, sender: Sender) -> str:
    return f"{'Week of' if step == 1 else f'{step} weeks from'} {local_date(monday, sender)}"


def _added(weeks: list[Sums]) -> Sums:
    return {part: sum((sums.get(part, Decimal(0)) for sums in weeks), Decimal(0)) for part in PARTS}


def _net(sums: Sums) -> Decimal:
    return sum(sums.values(), Decimal(0))


def _row(name: str, currency: str, sums: Sums) -> list[Cell]:
    amounts = [sums.get(part, Decimal(0)) for part in PARTS]
    return [Cell.of(name), Cell.of(currency), *(Cell.money(amount, currency) for amount in (*amounts, _net(sums)))]


def _headline(total: Sums, last: Sums, currency: str, span: Span) -> str:
    back = -total["Refunds and credits"]
    charged = _net(total) + back
    net = f"Net {money_in(_net(total), currency)} in {span.weeks} weeks"
    parts = f"{money_in(charged, currency)} charged, {money_in(back, currency)} given back"
    return f"{net}: {parts}. In the {span.weeks} weeks before, net {money_in(_net(last), currency)}."


def _chart(weeks: dict[str, Sums], total: Sums, currency: str) -> Chart:
    """Return what is charged goes to the right of zero, what is given back to the left; all bars on one scale."""
    right = max(sum((a for a in sums.values() if a > 0), Decimal(0)) for sums in weeks.values())
    left = max(sum((-a for a in sums.values() if a < 0), Decimal(0)) for sums in weeks.values())
    whole = float(right + left) or 1.0
    zero = 100 * float(left) / whole
    lines = []
    for name, sums in weeks.items():
        net = Cell.money(_net(sums), currency)
        lines.append(ChartLine(name, net.shown, _stack(sums, zero, whole)))
    keys = [Key(number, part, Cell.money(total[part], currency)) for number, part in enumerate(PARTS, start=1)]
    return Chart(lines, currency, keys, zero=f"{zero:.2f}%" if left else "")


def _stack(sums: Sums, zero: float, whole: float) -> list[Mark]:
    marks, right, left = [], zero, zero
    for number, part in enumerate(PARTS, start=1):
        amount = sums.get(part, Decimal(0)).quantize(Decimal("0.01"))
        width = 100 * abs(float(amount)) / whole
        if amount < 0:
            left -= width
        if amount:
            marks.append(Mark("bar", left if amount < 0 else right, width, part, amount, pattern=number))
        if amount > 0:
            right += width
    return marks
