"""Delivery time by destination, from the first scan of a parcel that moves to the scan that it is delivered."""

import statistics
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal

from shipping_portal.accounts.countries import STATES, state_code
from shipping_portal.accounts.models import Sender
from shipping_portal.reports.figures import FEWEST, TOO_FEW, Cell, Chart, ChartLine, Mark, Section, some
from shipping_portal.reports.shipments import Delivered
from shipping_portal.reports.spans import Span
from tracking.timeline import COUNTRIES

DAY = 24 * 60 * 60
LOW, MIDDLE, HIGH = "10 %, days", "Median, days", "90 %, days"
RULE = (
    "From the first scan that shows the parcel moving to its delivery, in days of 24 hours. The dot is the median: "
    "half took no longer. The bar holds the middle: 10 % were faster, 10 % slower. "
    f"Places with fewer than {FEWEST} parcels show no figures."
)


@dataclass(frozen=True)
class Spread:
    """The 10th, 50th and 90th percentile, in days with one digit.

    Percentiles are linear: of n values in order, p percent lie at place (n − 1) · p / 100 counted from 0, and between
    two neighbours in proportion. That is `statistics.quantiles(…, method="inclusive")`.
    """

    low: Decimal
    middle: Decimal
    high: Decimal

    @classmethod
    def of(cls, days: list[float]) -> "Spread":
        tenths = statistics.quantiles(days, n=10, method="inclusive")
        return cls(*(Decimal(tenths[place]).quantize(Decimal("0.1")) for place in (0, 4, 8)))


def section(delivered: list[Delivered], sender: Sender, span: Span) -> Section:
    now, before = _by_place(delivered, sender, span), _by_place(delivered, sender, span.before)
    places = sorted(set(now) | set(before), key=lambda place: (-len(now.get(place, ())), place))
    spreads = {place: Spread.of(days) for place, days in now.items() if len(days) >= FEWEST}
    most = max((spread.high for spread in spreads.values()), default=Decimal(0)) or Decimal(1)
    rows = [_row(place, now.get(place, []), before.get(place, [])) for place in places]
    lines = [_line(place, len(now[place]), spreads.get(place), most, sender) for place in places if place in now]
    charts = [Chart(lines, scale=("0", f"{most} days"))] if lines else []
    heads = ["To", "Parcels", LOW, MIDDLE, HIGH, "Parcels before", "Median before, days"]
    nothing = "No delivery in these weeks. A parcel counts here once its scans show it moving, then delivered."
    headlines = [_headline(now, before, sender, span)] if rows else []
    return Section("delivery", "Delivery time by destination", RULE, nothing, headlines, heads, rows, charts)


def _by_place(delivered: list[Delivered], sender: Sender, span: Span) -> dict[str, list[float]]:
    """Return days on the way, by destination; parcels of which no scan before the delivery is known are left out."""
    found: dict[str, list[float]] = defaultdict(list)
    for one in delivered:
        if one.moved_at and one.moved_at < one.at and span.holds(one.day):
            found[_place(one, sender)].append((one.at - one.moved_at).total_seconds() / DAY)
    return dict(found)


def _place(one: Delivered, sender: Sender) -> str:
    """Return the state at home, the country abroad."""
    if one.country != sender.country:
        return COUNTRIES.get(one.country, one.country)
    code = state_code(one.country, one.state)
    return STATES.get(one.country, {}).get(code, (one.state or "State not known", ""))[0]


def _row(place: str, now: list[float], before: list[float]) -> list[Cell]:
    if len(now) >= FEWEST:
        spread = Spread.of(now)
        figures = [Cell.of(value) for value in (spread.low, spread.middle, spread.high)]
    else:
        figures = [Cell("", "–"), Cell("", TOO_FEW), Cell("", "–")]
    last = Cell.of(Spread.of(before).middle) if len(before) >= FEWEST else Cell("", "–")
    return [Cell.of(place), Cell.of(len(now)), *figures, Cell.of(len(before)), last]


def _line(place: str, count: int, spread: Spread | None, most: Decimal, sender: Sender) -> ChartLine:
    counted = some(count, sender)
    if spread is None:
        return ChartLine(place, f"{TOO_FEW} ({count})")
    low, middle, high = (float(100 * value / most) for value in (spread.low, spread.middle, spread.high))
    marks = [
        Mark("range", low, high - low, "", ""),
        Mark("cap", low, 0, LOW, spread.low),
        Mark("cap", high, 0, HIGH, spread.high),
        Mark("dot", middle, 0, MIDDLE, spread.middle),
    ]
    return ChartLine(place, f"{spread.middle} days, {spread.low} to {spread.high} · {counted}", marks)


def _headline(now: dict[str, list[float]], before: dict[str, list[float]], sender: Sender, span: Span) -> str:
    these, last = ([day for days in spell.values() for day in days] for spell in (now, before))
    if not these:
        return f"No delivery in these {span.weeks} weeks."
    if len(these) < FEWEST:
        return f"{some(len(these), sender)} delivered in {span.weeks} weeks: too few to say how long it takes."
    headline = f"Half of {some(len(these), sender)} took {Spread.of(these).middle} days or less."
    if len(last) < FEWEST:
        return f"{headline} In the {span.weeks} weeks before there were too few to compare."
    return f"{headline} In the {span.weeks} weeks before it was {Spread.of(last).middle}."
