"""What a billing report holds, added up for the operator who is to post it."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from decimal import Decimal

from django.db.models import Count, Q, Sum

from orders.models import BillingReport, Charge, ChargeWord, Kind
from orders.models.billing import cents

MATCHED = Q(sender__isnull=False, is_repeat=False)
UNMATCHED = Q(sender=None, is_repeat=False)


@dataclass
class Tally:
    """Lines of one report by what becomes of them, and what all of them come to by currency."""

    matched: int = 0
    unmatched: int = 0
    repeats: int = 0
    found: dict[str, Decimal] = field(default_factory=dict)


@dataclass(frozen=True)
class Balance:
    """One currency: what the lines come to, and what the file (or the operator) says they do."""

    currency: str
    found: Decimal
    stated: Decimal | None

    @property
    def difference(self) -> Decimal | None:
        return None if self.stated is None else self.found - self.stated


def tallies(reports: Collection[BillingReport]) -> dict[int, Tally]:
    """For each of these reports. One query."""
    lines = Charge.objects.filter(report__in=[report.pk for report in reports]).order_by()
    made: dict[int, Tally] = defaultdict(Tally)
    for row in lines.values("report", "currency").annotate(
        matched=Count("pk", filter=MATCHED),
        unmatched=Count("pk", filter=UNMATCHED),
        repeats=Count("pk", filter=Q(is_repeat=True)),
        amount=Sum("amount"),
    ):
        tally = made[row["report"]]
        tally.matched += row["matched"]
        tally.unmatched += row["unmatched"]
        tally.repeats += row["repeats"]
        tally.found[row["currency"]] = cents(row["amount"])
    return made


def balances(report: BillingReport, tally: Tally) -> list[Balance]:
    stated = {currency: Decimal(total) for currency, total in report.stated.items()}
    return [
        Balance(currency, tally.found.get(currency, Decimal(0)), stated.get(currency))
        for currency in sorted({*stated, *tally.found})
    ]


def undecided(report: BillingReport) -> list[ChargeWord]:
    """The words that keep it from being posted, each with its `waiting` lines."""
    lines = report.lines.filter(kind=Kind.UNKNOWN).order_by().values("term").annotate(waiting=Count("pk"))
    counts = {row["term"]: row["waiting"] for row in lines}
    return _with_waiting(ChargeWord.objects.filter(pk__in=counts).order_by("word"), counts)


def with_waiting(words: Collection[ChargeWord]) -> list[ChargeWord]:
    """These words, each with its `waiting` lines: those not posted that have no other kind. One query."""
    lines = Charge.objects.filter(term__in=[word.pk for word in words], kind=Kind.UNKNOWN, posted_at=None)
    counted = lines.order_by().values("term").annotate(waiting=Count("pk"))
    return _with_waiting(words, {row["term"]: row["waiting"] for row in counted})


def _with_waiting(words: Collection[ChargeWord], counts: dict[int, int]) -> list[ChargeWord]:
    for word in words:
        word.waiting = counts.get(word.pk, 0)  # type: ignore[attr-defined]
    return list(words)
