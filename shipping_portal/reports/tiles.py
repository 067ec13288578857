"""Show figures with a spark line of weeks or days, above the reports and on Today."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from shipping_portal.accounts.formatting import money as written
from shipping_portal.reports.figures import FEWEST, whole_percent
from shipping_portal.reports.sizes import Counts, parcels_and_charged
from shipping_portal.reports.spend import SIZE, Spend, Sums, round_money

WIDTH, LOW, HIGH = 72, 28.0, 4.0  # size of the spark line in its own units


@dataclass(frozen=True)
class Tile:
    """One figure, its values by week or day, and a comparison; `tone` is that of `change`."""

    label: str
    value: str
    values: Sequence[Decimal]
    change: str = ""
    tone: str = ""
    rest: str = ""

    @property
    def points(self) -> str:
        """Return the spark line's points; none for a single week."""
        if len(self.values) < 2:
            return ""
        least, most = min(self.values), max(self.values)
        step = (WIDTH - 4) / (len(self.values) - 1)
        shares = [float((value - least) / ((most - least) or 1)) for value in self.values]
        return " ".join(
            f"{2 + step * number:.1f},{LOW - (LOW - HIGH) * share:.1f}"
            for number, share in enumerate(shares)
        )

    @property
    def last(self) -> str:
        return self.points.rpartition(" ")[2].replace(",", " ")


def report_tiles(
    found: list[Spend], kept: list[tuple[int, int]], sizes: tuple[Counts, Counts]
) -> list[Tile]:
    """Return the tiles that have a figure. `kept` is (on time, promised) by week.

    Currencies are never added up, so the one with the larger amount is shown.
    """
    spend = max(found, key=lambda spend: spend.total.net, default=None)
    money = list(_money_tiles(spend, sizes)) if spend and spend.bars else []
    return [*money[:2], *_on_time(kept), *money[2:]]


def _money_tiles(spend: Spend, sizes: tuple[Counts, Counts]) -> Iterator[Tile]:
    bars, before, whole = list(spend.bars.values()), spend.before, spend.total
    yield Tile(
        "Spent",
        round_money(whole.net, spend.currency),
        [it.net for it in bars],
        *compare_amounts(whole.net, before.net, spend.currency),
    )
    each = [_cost_per_booking(it) for it in bars if it.bookings]
    if each:
        compared = compare_amounts(
            _cost_per_booking(whole),
            _cost_per_booking(before) if before.bookings else Decimal(0),
            spend.currency,
        )
        yield Tile(
            "For each booking", written(_cost_per_booking(whole), spend.currency), each, *compared
        )
    if charged := whole.parts[SIZE]:
        (parcels, hit), (last, last_hit) = (parcels_and_charged(counts) for counts in sizes)
        was = f", was {_one_in(last, last_hit)}" if last_hit else ""
        change, rest = (_one_in(parcels, hit), f" bookings{was}") if hit else ("", "")
        yield Tile(
            SIZE,
            round_money(charged, spend.currency),
            [it.parts[SIZE] for it in bars],
            change,
            "bad",
            rest,
        )


def _on_time(kept: list[tuple[int, int]]) -> Iterator[Tile]:
    good, dated = (sum(counts) for counts in zip(*kept, strict=True)) if kept else (0, 0)
    if dated >= FEWEST:
        yield Tile(
            "On time or early",
            whole_percent(good, dated),
            [Decimal(part) / whole for part, whole in kept if whole],
            rest=f"{good:,} of {dated:,} delivered",
        )


def _cost_per_booking(sums: Sums) -> Decimal:
    return sums.net / sums.bookings


def _one_in(parcels: int, hit: int) -> str:
    return f"1 in {round(parcels / hit)}"


def compare_amounts(now: Decimal, before: Decimal, currency: str) -> tuple[str, str, str]:
    """Return the change, its tone and the rest of the sentence; blank if there is no change."""
    difference = now.quantize(Decimal("0.01")) - before.quantize(Decimal("0.01"))
    if before <= 0 or not difference:
        return "", "", ""
    words, tone = ("more", "warn") if difference > 0 else ("less", "ok")
    return f"{written(abs(difference), currency)} {words}", tone, " than before"
