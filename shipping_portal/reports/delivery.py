"""Delivery time by destination, from the first scan of a parcel that moves to the scan that it is delivered."""

import statistics
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal

from shipping_portal.accounts.countries import STATES, state_code
from shipping_portal.accounts.models import Sender
from shipping_portal.accounts.templatetags.words import plain
from shipping_portal.reports.figures import (
    FEWEST,
    NOTHING_BEFORE,
    TOO_FEW,
    Cell,
    Chart,
    ChartLine,
    Mark,
    Section,
    parcels_in_words,
)
from shipping_portal.reports.shipments import Delivered
from shipping_portal.reports.spans import Span
from tracking.timeline import COUNTRIES

DAY = 24 * 60 * 60
NAME = "Delivery time"
LOW, MIDDLE, HIGH = "Fast 10%, days", "Typical, days", "Slow 10%, days"
NOTE = (
    "Days from the first scan on the way to delivery. Dot: typical. The bar covers the middle 80%. "
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
    lines = [_line(place, len(now[place]), spreads.get(place), most) for place in places if place in now]
    charts = [Chart(lines, is_spread=True)] if lines else []
    heads = ["To", "Parcels", LOW, MIDDLE, HIGH, "Parcels before", "Typical before, days"]
    nothing = "No delivery in these weeks. A parcel counts here once its scans show it moving, then delivered."
    these, last = ([day for days in spell.values() for day in days] for spell in (now, before))
    title = f"Half arrive within {_days(Spread.of(these).middle)}" if len(these) >= FEWEST else NAME
    remarks = [_remark(these, last, span, sender)] if rows else []
    return Section("delivery", NAME, title, remarks, NOTE, nothing, heads, rows, charts)


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


def _line(place: str, count: int, spread: Spread | None, most: Decimal) -> ChartLine:
    if spread is None:
        return ChartLine(place, f"{TOO_FEW} ({count})")
    low, middle, high = (float(100 * value / most) for value in (spread.low, spread.middle, spread.high))
    marks = [
        Mark(low, middle - low, LOW, spread.low, "f1 soft"),
        Mark(middle, high - middle, HIGH, spread.high, "f1 soft"),
        Mark(middle, 0, MIDDLE, spread.middle),
    ]
    return ChartLine(place, f"{spread.middle} day{'' if spread.middle == 1 else 's'}", marks)


def _days(value: Decimal) -> str:
    return "a day" if value <= 1 else f"{plain(value)} days"


def _remark(these: list[float], last: list[float], span: Span, sender: Sender) -> str:
    count = parcels_in_words(len(these), sender)
    if len(these) < FEWEST:
        few = f"{count} delivered in {span.weeks} weeks: too few to say how long it takes."
        return few if these else f"No delivery in these {span.weeks} weeks."
    delivered_in_all = f"{count} delivered."
    if len(last) < FEWEST:
        return f"{delivered_in_all} {NOTHING_BEFORE}"
    return f"{delivered_in_all} In the {span.weeks} weeks before, half took {_days(Spread.of(last).middle)} or less."
