"""Build a report section. A figure is computed once, for the chart, the table and the file."""

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from shipping_portal.accounts.formatting import local_word, money
from shipping_portal.accounts.models import Sender

# with fewer parcels, shares and medians aren't shown: one odd parcel would be a fifth or more of
# them
FEWEST = 5
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
    """A chart's shape: its start and length, in percent of the chart's width or a plot's height.

    It shows the table cell under `column`. Without a length it is a dot.
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
    """One row of a chart: its name as in the table, its figure in words, and any shapes."""

    name: str
    shown: str
    marks: list[Mark] = field(default_factory=list)


@dataclass(frozen=True)
class Key:
    """A colour's meaning, with its total over all rows."""

    tone: str
    name: str
    sum: Cell


@dataclass(frozen=True)
class PlotBar:
    """One upright bar: positions in percent, and the words under and above it.

    Some of the words are only for phones.
    """

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
    """Rows of bars or, with `bars`, a plot of upright bars.

    `group` separates two charts of one section.
    """

    lines: list[ChartLine]
    group: str = ""
    keys: list[Key] = field(default_factory=list)
    bars: list[PlotBar] = field(default_factory=list)
    zero: str = ""
    is_spread: bool = False

    @property
    def described(self) -> str:
        """Return the whole chart in words, for people who can't see it."""
        return ". ".join(f"{line.name}: {line.shown}" for line in self.lines)


@dataclass(frozen=True)
class Section:
    """A section: `title` is the finding, `name` the subject, `note` the counting rule.

    Without rows it only shows `nothing`.
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
        """Use the word for a parcel in the sender's country."""
        word = local_word("parcel", sender.country)

        def worded(text: str) -> str:
            return text.replace("parcel", word).replace("Parcel", word.capitalize())

        remarks = [worded(remark) for remark in self.remarks]
        return replace(self, remarks=remarks, note=worded(self.note), nothing=worded(self.nothing))

    @property
    def columns(self) -> list[tuple[str, bool]]:
        """Return the headings, with whether their columns hold numbers."""
        return [
            (head, any(row[place].is_number for row in self.rows))
            for place, head in enumerate(self.heads)
        ]

    @property
    def labelled(self) -> list[list[tuple[bool, Cell]]]:
        """Return the rows, with whether each cell's column holds numbers."""
        return [
            [(is_number, cell) for (_, is_number), cell in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]


def parcels_in_words(count: int, sender: Sender) -> str:
    """Return `1 parcel` or `1,044 packages`, in the words of the sender's country."""
    return f"{count:,} {local_word('parcel' if count == 1 else 'parcels', sender.country)}"


def share_in_words(part: int, whole: int) -> str:
    """Return `85%` or, for too few parcels, the counts: `3 of 4`."""
    return whole_percent(part, whole) if whole >= FEWEST else f"{part:,} of {whole:,}"


def whole_percent(part: int, whole: int) -> str:
    """Return `22%`. It is 0% only for none, and 100% only for all."""
    near = round(100 * part / whole)
    return f"{min(max(near, 1), 99) if 0 < part < whole else near}%"


def round_percent(part: int, whole: int) -> Decimal:
    """Round to one digit, or none if it is zero."""
    exact = (Decimal(100 * part) / whole).quantize(Decimal("0.1"))
    return exact.to_integral_value() if exact == exact.to_integral_value() else exact


def counted_rows(
    counts: dict[str, tuple[int, int]], tones: dict[str, str]
) -> tuple[list[ChartLine], list[list[Cell]]]:
    """Return rows of current and earlier counts, the current ones with bars on one scale."""
    most = max((now for now, _ in counts.values()), default=0) or 1
    lines = [
        ChartLine(
            name,
            f"{now:,}",
            [Mark(0, 100 * now / most, NOW, now, tones.get(name, "f1"))] if now else [],
        )
        for name, (now, _) in counts.items()
    ]
    return lines, [
        [Cell.of(name), Cell.of(now), Cell.of(before)] for name, (now, before) in counts.items()
    ]


def compare_with_before(part: int, whole: int, weeks: int) -> str:
    return (
        f"In the {weeks} weeks before: {share_in_words(part, whole)}." if whole else NOTHING_BEFORE
    )
