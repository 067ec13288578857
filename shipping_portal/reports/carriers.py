"""Report spend by carrier, if two carriers take new orders: posted lines, by account."""

from collections import defaultdict
from decimal import Decimal

from django.db.models import Sum

from orders.calling import gateway
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.models import ChargeKind, round_cents
from shipping_portal.billing.pages import statements
from shipping_portal.reports.figures import Cell, Chart, ChartLine, Mark, Section
from shipping_portal.reports.spans import Span
from shipping_portal.reports.spend import NOTE, PART_OF, PARTS, TONES, Sums, spend_row

NAME = "Spend by carrier"
NOTHING = "No charge was posted in these weeks."


def carrier_section(user: User, sender: Sender, span: Span) -> Section | None:
    """Return each carrier's charges in these weeks, by currency; None if there is one carrier."""
    titles = gateway.carrier_titles()
    if not titles:
        return None
    named: dict[tuple[str, str], Sums] = defaultdict(Sums)
    lines = statements.lines_of(user, sender).filter(week__gte=span.first, week__lte=span.last)
    grouped = lines.order_by("account", "currency").values_list("account", "currency", "kind")
    for account, currency, kind, amount in grouped.annotate(amount=Sum("amount")):
        # Accounts of the past may have the same name.
        its = named[titles.get(account, "Another carrier"), currency]
        its.parts[PART_OF[ChargeKind(kind)]] += round_cents(amount)
    rows = [spend_row(name, currency, its) for (name, currency), its in named.items()]
    charts = [_chart(named, currency) for currency in sorted({one for _, one in named})]
    heads = ["Carrier", "Currency", *PARTS, "Total"]
    return Section("carriers", NAME, NAME, [], NOTE, NOTHING, heads, rows, charts)


def _chart(named: dict[tuple[str, str], Sums], currency: str) -> Chart:
    """Return a bar for each carrier's total."""
    totals = {name: its.net for (name, one), its in named.items() if one == currency}
    most = max(*totals.values(), Decimal(1))
    lines = []
    for name, total in totals.items():
        cell = Cell.money(total, currency)
        length = float(100 * max(total, Decimal(0)) / most)
        marks = [Mark(0, length, "Total", cell.value, TONES["Order cost"])]
        lines.append(ChartLine(name, cell.shown, marks if length else []))
    return Chart(lines, currency)
