"""What a section is made of. A figure is computed once; the chart, the table and the file all take it from there."""

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from shipping_portal.accounts.models import Sender
from shipping_portal.accounts.templatetags.words import money, say

FEWEST = 5  # of fewer parcels no share and no median is shown: one odd parcel would be a fifth of it and more
TOO_FEW = "Not enough parcels"
# Where the shapes of a picture stand: from the top, and how high.
SHAPES = {"bar": (2, 18), "before": (22, 6), "range": (8, 6), "cap": (2, 18), "dot": (11, 7)}
NOW, BEFORE = "These weeks", "Weeks before"


@dataclass(frozen=True)
class Cell:
    """One figure: `value` for the file and the chart, `shown` for people."""

    value: Any
    shown: str

    @classmethod
    def of(cls, value: Any) -> "Cell":
        return cls(value, f"{value:,}" if isinstance(value, int) else str(value))

    @classmethod
    def money(cls, amount: Decimal, currency: str) -> "Cell":
        return cls(amount.quantize(Decimal("0.01")), money(amount, currency))

    @property
    def is_number(self) -> bool:
        return isinstance(self.value, int | float | Decimal)


@dataclass(frozen=True)
class Mark:
    """A shape of a chart from `left` on, both in percent of its width. It shows the table's cell under `column`."""

    shape: str
    left: float
    width: float
    column: str
    value: Any
    pattern: int = 1

    @property
    def x(self) -> str:
        return f"{self.left:.2f}%"

    @property
    def wide(self) -> str:
        return f"{self.width:.2f}%"

    @property
    def top(self) -> int:
        return SHAPES[self.shape][0]

    @property
    def high(self) -> int:
        return SHAPES[self.shape][1]


@dataclass(frozen=True)
class ChartLine:
    """One row of a chart: its name as in the table, its figure in words, and its shapes, if it has any."""

    name: str
    shown: str
    marks: list[Mark] = field(default_factory=list)

    @property
    def is_drawn(self) -> bool:
        """Is there anything to see? A bar of nothing is only its figure."""
        return any(mark.width or mark.shape in {"cap", "dot"} for mark in self.marks)


@dataclass(frozen=True)
class Key:
    """What a pattern stands for, with its sum over all rows."""

    pattern: int
    name: str
    sum: Cell


@dataclass(frozen=True)
class Chart:
    """A chart. `group` tells two of one section apart; `zero` is where zero lies, in percent, if not at the left."""

    lines: list[ChartLine]
    group: str = ""
    keys: list[Key] = field(default_factory=list)
    zero: str = ""
    scale: tuple[str, ...] = ()
    has_before: bool = False


@dataclass(frozen=True)
class Section:
    """`headlines` say the whole of it; `rule` says how it is counted. Without rows there is only `nothing` to say."""

    slug: str
    title: str
    rule: str
    nothing: str
    headlines: list[str]
    heads: list[str]
    rows: list[list[Cell]]
    charts: list[Chart]

    def in_words_of(self, sender: Sender) -> "Section":
        """Say it with the sender's own word for a parcel."""
        word = say("parcel", sender.country)

        def worded(text: str) -> str:
            return text.replace("parcel", word).replace("Parcel", word.capitalize())

        return replace(self, rule=worded(self.rule), nothing=worded(self.nothing))

    @property
    def columns(self) -> list[tuple[str, bool]]:
        """The heads, and whether there are numbers under them."""
        return [(head, any(row[place].is_number for row in self.rows)) for place, head in enumerate(self.heads)]

    @property
    def labelled(self) -> list[list[tuple[str, bool, Cell]]]:
        """The rows, each cell with its column: the head stands beside it on a phone."""
        return [[(*column, cell) for column, cell in zip(self.columns, row, strict=True)] for row in self.rows]


def some(count: int, sender: Sender) -> str:
    """Return `1 parcel` or `1,044 packages`, as the sender's country says it."""
    return f"{count:,} {say('parcel' if count == 1 else 'parcels', sender.country)}"


def share(part: int, whole: int) -> str:
    """Return `34 of 40 (85 %)`; of too few only the counts."""
    shown = f"{part:,} of {whole:,}"
    return f"{shown} ({percent(part, whole)} %)" if whole >= FEWEST else shown


def percent(part: int, whole: int) -> Decimal:
    """Round to one digit, and to none where that is nothing."""
    exact = (Decimal(100 * part) / whole).quantize(Decimal("0.1"))
    return exact.to_integral_value() if exact == exact.to_integral_value() else exact


def counted(counts: dict[str, tuple[int, int]]) -> tuple[list[ChartLine], list[list[Cell]]]:
    """Return rows of how many there are now and were before, each with a bar and a thin one under it, on one scale."""
    most = max((max(pair) for pair in counts.values()), default=0) or 1
    lines: list[ChartLine] = []
    rows: list[list[Cell]] = []
    for name, (now, before) in counts.items():
        marks = [
            Mark("bar", 0, 100 * now / most, NOW, now, pattern=len(lines) % 4 + 1),
            Mark("before", 0, 100 * before / most, BEFORE, before),
        ]
        lines.append(ChartLine(name, f"{now:,}", marks))
        rows.append([Cell.of(name), Cell.of(now), Cell.of(before)])
    return lines, rows
