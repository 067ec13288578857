"""What a section is made of. A figure is computed once; the chart, the table and the file all take it from there."""

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from shipping_portal.accounts.models import Sender
from shipping_portal.accounts.templatetags.words import money, say

FEWEST = 5  # of fewer parcels no share and no median is shown: one odd parcel would be a fifth of it and more
TOO_FEW = "Not enough parcels"
NOTHING_BEFORE = "No earlier data to compare."
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
    """A shape of a chart from `start` on, both in percent: of its width, in a plot of its height.

    It shows the table's cell under `column`. Without a length it is a dot.
    """

    start: float
    length: float
    column: str
    value: Any
    tone: str = "f1"

    @property
    def at(self) -> str:
        return f"{self.start:.2f}%"

    @property
    def long(self) -> str:
        return f"{self.length:.2f}%"


@dataclass(frozen=True)
class ChartLine:
    """One row of a chart: its name as in the table, its figure in words, and its shapes, if it has any."""

    name: str
    shown: str
    marks: list[Mark] = field(default_factory=list)


@dataclass(frozen=True)
class Key:
    """What a colour stands for, with its sum over all rows."""

    tone: str
    name: str
    sum: Cell


@dataclass(frozen=True)
class PlotBar:
    """One upright bar: places in percent, the words under and above it, and which of them a phone has room for."""

    line: ChartLine
    label: str
    figure: str
    x: str
    width: str
    middle: str
    above: str
    is_named: bool
    has_figure: bool


@dataclass(frozen=True)
class Chart:
    """Rows of bars; or, with `bars`, a plot of upright ones. `group` tells two of one section apart."""

    lines: list[ChartLine]
    group: str = ""
    keys: list[Key] = field(default_factory=list)
    bars: list[PlotBar] = field(default_factory=list)
    zero: str = ""
    is_spread: bool = False

    @property
    def described(self) -> str:
        """The whole of it, for who doesn't see it."""
        return ". ".join(f"{line.name}: {line.shown}" for line in self.lines)


@dataclass(frozen=True)
class Section:
    """`title` is the finding, `name` what was looked at, `note` how it is counted.

    Without rows there is only `nothing` to say.
    """

    slug: str
    name: str
    title: str
    remarks: list[str]
    note: str
    nothing: str
    heads: list[str]
    rows: list[list[Cell]]
    charts: list[Chart]

    def in_words_of(self, sender: Sender) -> "Section":
        """Say it with the sender's own word for a parcel."""
        word = say("parcel", sender.country)

        def worded(text: str) -> str:
            return text.replace("parcel", word).replace("Parcel", word.capitalize())

        remarks = [worded(remark) for remark in self.remarks]
        return replace(self, remarks=remarks, note=worded(self.note), nothing=worded(self.nothing))

    @property
    def columns(self) -> list[tuple[str, bool]]:
        """The heads, and whether there are numbers under them."""
        return [(head, any(row[place].is_number for row in self.rows)) for place, head in enumerate(self.heads)]

    @property
    def labelled(self) -> list[list[tuple[bool, Cell]]]:
        """The rows, each cell with whether its column is of numbers."""
        return [
            [(is_number, cell) for (_, is_number), cell in zip(self.columns, row, strict=True)] for row in self.rows
        ]


def parcels_in_words(count: int, sender: Sender) -> str:
    """Return `1 parcel` or `1,044 packages`, as the sender's country says it."""
    return f"{count:,} {say('parcel' if count == 1 else 'parcels', sender.country)}"


def share(part: int, whole: int) -> str:
    """Return `85%`; of too few the counts, `3 of 4`."""
    return whole_percent(part, whole) if whole >= FEWEST else f"{part:,} of {whole:,}"


def whole_percent(part: int, whole: int) -> str:
    """Return `22%`; never 0% for some, nor 100% for not all."""
    near = round(100 * part / whole)
    return f"{min(max(near, 1), 99) if 0 < part < whole else near}%"


def percent(part: int, whole: int) -> Decimal:
    """Round to one digit, and to none where that is nothing."""
    exact = (Decimal(100 * part) / whole).quantize(Decimal("0.1"))
    return exact.to_integral_value() if exact == exact.to_integral_value() else exact


def counted(counts: dict[str, tuple[int, int]], tones: dict[str, str]) -> tuple[list[ChartLine], list[list[Cell]]]:
    """Return rows of how many there are now and were before, those of now with a bar, on one scale."""
    most = max((now for now, _ in counts.values()), default=0) or 1
    lines = [
        ChartLine(name, f"{now:,}", [Mark(0, 100 * now / most, NOW, now, tones.get(name, "f1"))] if now else [])
        for name, (now, _) in counts.items()
    ]
    return lines, [[Cell.of(name), Cell.of(now), Cell.of(before)] for name, (now, before) in counts.items()]


def before_it_was(part: int, whole: int, weeks: int) -> str:
    return f"In the {weeks} weeks before: {share(part, whole)}." if whole else NOTHING_BEFORE
