"""Measure delivery time by destination, from the first moving scan to the delivery scan."""

import datetime as dt
from bisect import bisect_right
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from operator import add

from shipping_portal.accounts.address.countries import STATES, state_code
from shipping_portal.accounts.formatting import plain
from shipping_portal.accounts.models import Sender
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

TENTH = dt.timedelta(days=0.1)
NAME = "Delivery time"
LOW, MIDDLE, HIGH = "Fast 10%, days", "Typical, days", "Slow 10%, days"
NOTE = (
    "Days from the first scan on the way to delivery. Dot: typical. The bar covers the middle 80%. "
    f"Places with fewer than {FEWEST} parcels show no figures."
)


Times = list[int]  # parcels by transit time: at position n, those that took n tenths of a day


@dataclass(frozen=True)
class Spread:
    """The 10th, 50th and 90th percentile, in days with one digit.

    Percentiles are linear: of n sorted values, percentile p is at position (n − 1) · p / 100,
    counted from 0, interpolated between two neighbours. That is `statistics.quantiles(…,
    method="inclusive")`.
    """

    low: Decimal
    middle: Decimal
    high: Decimal

    @classmethod
    def of(cls, times: Times) -> "Spread":
        until = list(accumulate(times))
        return cls(*(_read_percentile(until, percent) for percent in (10, 50, 90)))


def _read_percentile(until: list[int], percent: int) -> Decimal:
    """Return a percentile in days. `until` counts parcels by tenths of a day, cumulatively."""
    place, rest = divmod((until[-1] - 1) * percent, 100)
    low, high = (bisect_right(until, min(at, until[-1] - 1)) for at in (place, place + 1))
    return (Decimal(100 * low + (high - low) * rest) / 1000).quantize(Decimal("0.1"))


def delivery_section(
    now: dict[str, Times], before: dict[str, Times], sender: Sender, span: Span
) -> Section:
    places = sorted(set(now) | set(before), key=lambda place: (-sum(now.get(place, ())), place))
    spreads = {place: Spread.of(times) for place, times in now.items() if sum(times) >= FEWEST}
    most = max((spread.high for spread in spreads.values()), default=Decimal(0)) or Decimal(1)
    rows = [_place_row(place, now.get(place, []), before.get(place, [])) for place in places]
    lines = [
        _chart_line(place, sum(now[place]), spreads.get(place), most)
        for place in places
        if place in now
    ]
    charts = [Chart(lines, is_spread=True)] if lines else []
    heads = ["To", "Parcels", LOW, MIDDLE, HIGH, "Parcels before", "Typical before, days"]
    nothing = (
        "No delivery in these weeks. A parcel counts here once its scans show it moving, then"
        " delivered."
    )
    these, last = (added_up(*times.values()) for times in (now, before))
    title = (
        f"Half arrive within {_days_in_words(Spread.of(these).middle)}"
        if sum(these) >= FEWEST
        else NAME
    )
    remarks = [_write_remark(these, last, span, sender)] if rows else []
    return Section("delivery", NAME, title, remarks, NOTE, nothing, heads, rows, charts)


def added_up(*counted: Times) -> Times:
    """Add up parcels by transit time."""
    found: Times = []
    for times in counted:
        short, long = sorted((found, times), key=len)
        found = [*map(add, short, long), *long[len(short) :]]
    return found


def tenths_of_days(one: Delivered) -> int | None:
    """Return a parcel's transit time, or None without a scan before its delivery."""
    if one.moved_at is None or one.moved_at >= one.at:
        return None
    return round((one.at - one.moved_at) / TENTH)


def place_of(one: Delivered, sender: Sender) -> str:
    """Return the state for a place at home, the country for one abroad."""
    if one.country != sender.country:
        return COUNTRIES.get(one.country, one.country)
    code = state_code(one.country, one.state)
    return STATES.get(one.country, {}).get(code, (one.state or "State not known", ""))[0]


def _place_row(place: str, now: Times, before: Times) -> list[Cell]:
    if sum(now) >= FEWEST:
        spread = Spread.of(now)
        figures = [Cell.of(value) for value in (spread.low, spread.middle, spread.high)]
    else:
        figures = [Cell("", "–"), Cell("", TOO_FEW), Cell("", "–")]
    last = Cell.of(Spread.of(before).middle) if sum(before) >= FEWEST else Cell("", "–")
    return [Cell.of(place), Cell.of(sum(now)), *figures, Cell.of(sum(before)), last]


def _chart_line(place: str, count: int, spread: Spread | None, most: Decimal) -> ChartLine:
    if spread is None:
        return ChartLine(place, f"{TOO_FEW} ({count})")
    low, middle, high = (
        float(100 * value / most) for value in (spread.low, spread.middle, spread.high)
    )
    marks = [
        Mark(low, middle - low, LOW, spread.low, "f1 soft"),
        Mark(middle, high - middle, HIGH, spread.high, "f1 soft"),
        Mark(middle, 0, MIDDLE, spread.middle),
    ]
    return ChartLine(place, f"{spread.middle} day{'' if spread.middle == 1 else 's'}", marks)


def _days_in_words(value: Decimal) -> str:
    return "a day" if value <= 1 else f"{plain(value)} days"


def _write_remark(these: Times, last: Times, span: Span, sender: Sender) -> str:
    count = parcels_in_words(sum(these), sender)
    if sum(these) < FEWEST:
        few = f"{count} delivered in {span.weeks} weeks: too few to say how long it takes."
        return few if these else f"No delivery in these {span.weeks} weeks."
    delivered_in_all = f"{count} delivered."
    if sum(last) < FEWEST:
        return f"{delivered_in_all} {NOTHING_BEFORE}"
    return (
        f"{delivered_in_all} In the {span.weeks} weeks before, half took"
        f" {_days_in_words(Spread.of(last).middle)} or less."
    )
