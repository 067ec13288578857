"""Find lines of a report that were posted before, and lines that an operator must decide on.

Lines with the same reference are compared, whichever file they came in and however it was written:

- A line equal to a known one is the same line: a second equal line is new only if just one is
  known.
- An order may be charged once, and once more each time its charge was refunded because it was
  cancelled. Any further charge is held as “billed twice?”, as is a second Extra Cover.
- No more is refunded than was charged, and nothing while a charge of the same amount is on hold.
  For a lost parcel, the contents may be paid for, which is more.

An operator's decisions stay. This runs after a report has been read, for its page, and again while
it is being posted, when no other report can be.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import groupby, islice
from operator import attrgetter
from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet
from django.db.models.functions import Upper

from orders.models import Order
from shipping_portal.billing.models import (
    CANCEL_REFUNDS,
    COSTS,
    STALE,
    BillingReport,
    Charge,
    ChargeKind,
    ChargeQuerySet,
    Hold,
)
from shipping_portal.billing.reports import kinds

BATCH = 1000  # references compared, and lines marked, per SQL statement
READ = (
    "report",
    "line",
    "part",
    "key",
    "is_repeat",
    "held",
    "decision",
    "reference",
    "order",
    "kind",
    "word",
    "amount",
    "currency",
    "day",
    "week",
)


@dataclass(eq=False)
class ComparedLine:
    """One line of a file, with a price that includes the Extra Cover."""

    parts: list[Charge]
    is_own: bool  # of the compared report
    has_number: bool  # the carrier's own
    is_reversed: bool = False
    is_repeat: bool = False
    held: str = ""

    @property
    def first(self) -> Charge:
        return self.parts[0]

    @property
    def amount(self) -> Decimal:
        return sum((part.amount for part in self.parts), Decimal(0))

    @property
    def is_open(self) -> bool:
        """Return whether the line is in this report, undecided, and without a finding so far."""
        return self.is_own and not (self.first.decision or self.is_repeat or self.held)

    @property
    def counts(self) -> bool:
        return not (self.is_repeat or self.held or self.is_reversed)


@dataclass
class Group:
    """The lines with one reference, other reports' first.

    `order` is set only if there are several.
    """

    name: str
    order: Order | None
    items: list[ComparedLine]
    # Its order is known, but it isn't matched yet.
    spare: dict[object, list[ComparedLine]] = field(default_factory=lambda: defaultdict(list))
    days: set[object] = field(default_factory=set)

    def compare(self) -> None:
        """Find repeats, and lines to hold."""
        for item in self.items:
            if not item.is_own:
                self.spare[item.amount, item.first.currency].append(item)
            if item.first.kind in COSTS:
                self.days.add(item.first.day)
        for item in self.items:
            if item.is_own and (item.is_repeat or item.is_open):
                self._take(item, by_key=True)
        for item in self._open():
            if not self._may_bill_used_label(item):
                self._take(item)
        # A line without a parcel, such as a fee, isn't a second charge for one.
        if self.name:
            allowed = self._allowed()
            self._hold_beyond(allowed, COSTS)
            self._hold_beyond(allowed, (ChargeKind.COVER,))
            self._hold_refunds()

    def _open(self) -> list[ComparedLine]:
        return [item for item in self.items if item.is_open]

    def _take(self, item: ComparedLine, *, by_key: bool = False) -> bool:
        """Mark a line as the repeat of a known line that no other line here repeats already."""
        alike = self.spare[item.amount, item.first.currency]
        for at, known in enumerate(alike):
            if known.first.key == item.first.key if by_key else self._is_alike(item, known):
                del alike[at]
                item.is_repeat = True
                return True
        return False

    def _may_bill_used_label(self, item: ComparedLine) -> bool:
        """Return whether the line may be for a label used after cancelling.

        Such use is billed by a line just like the first.
        """
        is_used = self.order is not None and kinds.was_used(self.order, item.first.week)
        return item.first.kind in COSTS and is_used

    def _is_alike(self, one: ComparedLine, other: ComparedLine) -> bool:
        """Return whether two lines agree wherever both have a value.

        A column may be mapped for only one of them.
        """
        if one.has_number and other.has_number:
            return False
        # The newer report may be posted before the older one.
        if self._may_bill_used_label(other) and not self._may_bill_used_label(one):
            return False
        return _is_same_word(one.first.word, other.first.word) and self._is_same_day(
            one.first, other.first
        )

    def _is_same_day(self, one: Charge, other: Charge) -> bool:
        if one.day == other.day or one.day is None or other.day is None:
            return True
        # A spreadsheet may read 2/11 as 11/2.
        if f"{one.day:%Y-%d-%m}" == str(other.day):
            return True
        # A refund whose day has no column gets its order's day.
        return one.amount < 0 and (one.day in self.days or other.day in self.days)

    def _counting_lines(self, of: Collection[str]) -> list[ComparedLine]:
        return [
            item
            for item in self.items
            if item.counts and any(part.kind in of for part in item.parts)
        ]

    def _allowed(self) -> int:
        """Return how often this order may be charged.

        The refund of a cancellation may be in a later report, unless the first charge was for the
        used label.
        """
        refunds = len(self._counting_lines(CANCEL_REFUNDS)) + sum(
            item.amount < 0 for item in self._counting_lines(COSTS)
        )
        is_cancelled = self.order is not None and kinds.may_be_cancelled(self.order)
        return 1 + max(
            refunds, int(is_cancelled and bool(self._counting_lines([ChargeKind.ORDER])))
        )

    def _hold_beyond(self, allowed: int, of: Collection[str]) -> None:
        """Leave out repeats beyond the allowed number and hold the rest, last ones first."""
        found = [item for item in self._counting_lines(of) if item.amount >= 0]
        excess = len(found) - allowed
        fresh = [item for item in reversed(found) if item.is_open and item.first.kind in of]
        if excess > 0:
            excess -= sum(self._take(item) for item in fresh[:excess])
        for item in [item for item in fresh if item.is_open][: max(excess, 0)]:
            item.held = Hold.BILLED_TWICE

    def _hold_refunds(self) -> None:
        net: dict[str, Decimal] = defaultdict(Decimal)
        for item in self.items:
            net[item.first.currency] += item.amount if item.counts else 0
        waiting = {(item.amount, item.first.currency) for item in self.items if item.held}
        for item in reversed(self._open()):
            currency = item.first.currency
            is_refund = item.amount < 0 and item.first.kind != ChargeKind.LOSS_REFUND
            if is_refund and (net[currency] < 0 or (-item.amount, currency) in waiting):
                net[currency] -= item.amount
                item.held = Hold.OVER_REFUNDED


def _is_same_word(one: str, other: str) -> bool:
    """Return whether one term contains the other: “order invoiced”, “order invoiced / paid”."""
    short, long = sorted((one.casefold().split(" / "), other.casefold().split(" / ")), key=len)
    rest = iter(long[1:])
    return short[0] == long[0] and all(part in rest for part in short[1:])


def compare_lines(report: BillingReport) -> None:
    """Mark a report's repeated lines, and those that an operator must decide on."""
    changed: dict[tuple[bool, str], list[int]] = defaultdict(list)
    for group in _same_lines(report):
        group.compare()
        for item in filter(lambda item: item.is_own, group.items):
            for part in item.parts:
                if (item.is_repeat, item.held) != (part.is_repeat, part.held):
                    changed[item.is_repeat, item.held].append(part.pk)
    for (is_repeat, held), keys in changed.items():
        for batch in (keys[at : at + BATCH] for at in range(0, len(keys), BATCH)):
            Charge.objects.filter(pk__in=batch).update(is_repeat=is_repeat, held=held)


def _same_lines(report: BillingReport) -> Iterator[Group]:
    same = Charge.objects.posted().filter(account=OuterRef("account"), key=OuterRef("key"))
    found: Any = _in_order(report.lines.exclude(key=STALE)).annotate(is_posted=Exists(same))
    by_name = groupby(found.iterator(chunk_size=BATCH), key=attrgetter("name"))
    while own := {name: list(theirs) for name, theirs in islice(by_name, BATCH)}:
        known = _known_references(report, own)
        numbered = _numbered_reports(
            {line.report_id for lines in (*own.values(), *known.values()) for line in lines}
        )
        several = [
            lines[0].order_id for name, lines in own.items() if len(lines) + len(known[name]) > 1
        ]
        orders = kinds.with_cancellations(
            Order.objects.filter(pk__in=[key for key in several if key])
        ).in_bulk()
        for name, lines in own.items():
            items = [
                *_group_items(known[name], numbered, is_own=False),
                *_group_items(lines, numbered, is_own=True),
            ]
            yield Group(name, orders.get(lines[0].order_id), items)


def _known_references(report: BillingReport, names: Collection[str]) -> dict[str, list[Any]]:
    """Return by reference the lines that this account's other reports posted or hold."""
    found: dict[str, list[Any]] = defaultdict(list)
    posted = Charge.objects.filter(
        account=report.account_id, report__state=BillingReport.State.POSTED, is_repeat=False
    )
    for line in _in_order(posted.exclude(report=report.pk)).filter(name__in=list(names)):
        found[line.name].append(line)
    return found


def _in_order(lines: ChargeQuerySet) -> QuerySet[Any]:
    named = lines.annotate(name=Upper("reference"), reversal=F("reversed_by"))
    return named.only(*READ).order_by("name", "report", "line", "part")


def _numbered_reports(reports: Collection[int]) -> set[int]:
    """Return the reports in which each line has the carrier's own number."""
    profiles = BillingReport.objects.filter(pk__in=reports).values_list("pk", "profile")
    return {pk for pk, profile in profiles if profile.get("columns", {}).get("line_id")}


def _group_items(
    lines: list[Any], numbered: Collection[int], *, is_own: bool
) -> Iterator[ComparedLine]:
    for (report, _), parts in groupby(lines, key=attrgetter("report_id", "line")):
        item = ComparedLine(list(parts), is_own, report in numbered)
        first: Any = item.first
        item.is_reversed = first.reversal is not None
        item.is_repeat = is_own and first.is_posted
        item.held = first.held if first.decision or not is_own else ""
        yield item
