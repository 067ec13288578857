"""Report how often a saved size turned out bigger or heavier than declared."""

import datetime as dt
from collections import defaultdict
from decimal import Decimal

from django.db.models import Count, Q
from django.db.models.functions import TruncDate

from shipping_portal.accounts.models import Sender
from shipping_portal.billing.models import SIZE_CHARGES, Charge
from shipping_portal.reports.figures import (
    FEWEST,
    TOO_FEW,
    Cell,
    Chart,
    ChartLine,
    Mark,
    Section,
    compare_with_before,
    round_percent,
    share_in_words,
    whole_percent,
)
from shipping_portal.reports.spans import Days, Span

RATE = "Rate, %"
NO_SIZE = "No saved size"
NAME = "Size charges by saved size"
NOTE = (
    "Of the parcels booked in these weeks and charged so far. A size charge may come weeks later;"
    f" one that was taken back doesn't count. Sizes with fewer than {FEWEST} parcels show no rate."
)


# by size: charged parcels, and how many of them had a size charge
Counts = dict[str, tuple[int, int]]


def size_section(now: Counts, before: Counts, span: Span) -> Section:
    names = sorted(
        set(now) | set(before), key=lambda name: (name == NO_SIZE, -now.get(name, (0, 0))[0], name)
    )
    rows = [_size_row(name, now.get(name, (0, 0)), before.get(name, (0, 0))) for name in names]
    rates = [_charge_rate(*now[name]) or Decimal(0) for name in now]
    most = max(rates, default=Decimal(0)) or Decimal(1)
    lines = [_chart_line(name, *now[name], most) for name in names if name in now]
    nothing = "No charge was posted yet for what you booked in these weeks."
    charts = [Chart(lines)] if lines else []
    heads = [
        "Size",
        "Parcels",
        "With a size charge",
        RATE,
        "Parcels before",
        "With one before",
        "Before, %",
    ]
    remarks = [_write_remark(now, before, span)] if rows else []
    return Section(
        "size-charges", NAME, _section_title(now), remarks, NOTE, nothing, heads, rows, charts
    )


def counts_by_day(sender: Sender, days: Days) -> dict[dt.date, Counts]:
    """Count bookings of these days that were charged later.

    An order counts once, however many lines it has.
    """
    booked = Q(order__booked_at__gte=days.start, order__booked_at__lt=days.end)
    mine = Charge.objects.posted().filter(booked, sender=sender, order__sender=sender).order_by()
    stands = Q(kind__in=SIZE_CHARGES, amount__gt=0, reversed_by=None)
    by_day = mine.annotate(booked_on=TruncDate("order__booked_at", tzinfo=days.zone))
    found = by_day.values_list("booked_on", "order__size__name").annotate(
        parcels=Count("order", distinct=True), charged=Count("order", filter=stands, distinct=True)
    )
    counts: dict[dt.date, Counts] = defaultdict(dict)
    for day, name, parcels, charged in found:
        counts[day][name or NO_SIZE] = (parcels, charged)
    return counts


def _charge_rate(parcels: int, charged: int) -> Decimal | None:
    """Return the rate in percent, or None for too few parcels."""
    return round_percent(charged, parcels) if parcels >= FEWEST else None


def _size_row(name: str, now: tuple[int, int], before: tuple[int, int]) -> list[Cell]:
    return [
        Cell.of(name),
        *_row_figures(*now, TOO_FEW if now[0] else "–"),
        *_row_figures(*before, "–"),
    ]


def _row_figures(parcels: int, charged: int, too_few: str) -> list[Cell]:
    rate = _charge_rate(parcels, charged)
    return [
        Cell.of(parcels),
        Cell.of(charged),
        Cell("", too_few) if rate is None else Cell.of(rate),
    ]


def _chart_line(name: str, parcels: int, charged: int, most: Decimal) -> ChartLine:
    rate = _charge_rate(parcels, charged)
    if rate is None:
        return ChartLine(name, f"{TOO_FEW} ({parcels})")
    bar = [Mark(0, float(100 * rate / most), RATE, rate, "f2")] if rate else []
    return ChartLine(name, f"{whole_percent(charged, parcels)} of {parcels:,}", bar)


def _section_title(now: Counts) -> str:
    """Name the saved size with the most size charges."""
    parcels, charged = parcels_and_charged(now)
    most = max((name for name in now if name != NO_SIZE), key=lambda name: now[name][1], default="")
    if most and now[most][1] * 2 > charged:
        return f"“{most}” gets most size charges"
    if not charged:
        return "No size charges" if parcels else NAME
    return f"{share_in_words(charged, parcels)} got a size charge"


def _write_remark(now: Counts, before: Counts, span: Span) -> str:
    (parcels, charged), (last, last_charged) = parcels_and_charged(now), parcels_and_charged(before)
    if not parcels:
        return f"Nothing you booked in these {span.weeks} weeks was charged yet."
    got = f"{charged:,} of {parcels:,} parcel{'' if parcels == 1 else 's'} got one."
    return f"{got} {compare_with_before(last_charged, last, span.weeks)}"


def parcels_and_charged(counts: Counts) -> tuple[int, int]:
    return sum(parcels for parcels, _ in counts.values()), sum(
        charged for _, charged in counts.values()
    )
