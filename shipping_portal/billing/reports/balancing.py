"""Compare a report's lines with the file's stated total: one rule for the admin and for posting."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import Count, F, FilteredRelation, Q, Sum

from shipping_portal.billing.models import STALE, BillingReport, Charge, round_cents

HELD = Q(is_repeat=False, decision="") & ~Q(held="")
LEFT_OUT = Q(is_repeat=False, decision=Charge.Decision.LEAVE)
MATCHED = Q(sender__isnull=False, is_repeat=False, held="")
UNMATCHED = Q(sender=None, is_repeat=False, held="")


@dataclass
class Tally:
    """A report's lines by outcome, and their total by currency."""

    matched: int = 0
    unmatched: int = 0
    repeats: int = 0
    held: int = 0
    left_out: int = 0
    found: dict[str, Decimal] = field(default_factory=dict)


@dataclass(frozen=True)
class Balance:
    """One currency: the sum of the lines, and the total that the file or the operator states."""

    currency: str
    found: Decimal
    stated: Decimal | None

    @property
    def difference(self) -> Decimal | None:
        """Return the difference. It is None if no total is stated, which also prevents posting."""
        return None if self.stated is None else self.found - self.stated


def report_tallies(reports: Collection[BillingReport]) -> dict[int, Tally]:
    """Return these reports' tallies, stored at posting or counted now, in two queries."""
    posted = {report.pk: report.tally for report in reports if report.tally}
    unmatched, held, left_out = (_count_lines(rule, posted) for rule in (UNMATCHED, HELD, LEFT_OUT))
    made = _counted_lines({report.pk for report in reports} - posted.keys())
    for key, kept in posted.items():
        found = {currency: Decimal(amount) for currency, amount in kept["found"].items()}
        nobody, waiting, left = unmatched.get(key, 0), held.get(key, 0), left_out.get(key, 0)
        made[key] = Tally(
            kept["lines"] - nobody - waiting - left, nobody, kept["repeats"], waiting, left, found
        )
    return made


def _count_lines(rule: Q, reports: Collection[int]) -> dict[int, int]:
    lines = Charge.objects.filter(rule, report__in=reports).order_by().values_list("report")
    return dict(lines.annotate(Count("pk")))


def keep_tally(report: BillingReport) -> None:
    """Store the tally on posting: afterwards only the owners of lines can change."""
    tally = _counted_lines({report.pk})[report.pk]
    found = {currency: str(amount) for currency, amount in tally.found.items()}
    lines = tally.matched + tally.unmatched + tally.held + tally.left_out
    report.tally = {"lines": lines, "repeats": tally.repeats, "found": found}
    report.save(update_fields=["tally"])


def _counted_lines(reports: Collection[int]) -> dict[int, Tally]:
    lines = Charge.objects.filter(report__in=reports).exclude(key=STALE).order_by()
    made: dict[int, Tally] = defaultdict(Tally)
    for row in lines.values("report", "currency").annotate(
        matched=Count("pk", filter=MATCHED),
        unmatched=Count("pk", filter=UNMATCHED),
        repeats=Count("pk", filter=Q(is_repeat=True)),
        held=Count("pk", filter=HELD),
        left_out=Count("pk", filter=LEFT_OUT),
        amount=Sum("amount"),
    ):
        tally = made[row["report"]]
        tally.matched += row["matched"]
        tally.unmatched += row["unmatched"]
        tally.repeats += row["repeats"]
        tally.held += row["held"]
        tally.left_out += row["left_out"]
        tally.found[row["currency"]] = round_cents(row["amount"])
    return made


def checked_out_of_balance() -> list[int]:
    """Return the keys of checked reports that don't balance, or state no total. One query."""
    counting = FilteredRelation("lines", condition=~Q(lines__key=STALE))
    checked = BillingReport.objects.filter(state=BillingReport.State.CHECKED)
    sums: Any = checked.annotate(counting=counting, currency=F("counting__currency"))
    tallies: dict[BillingReport, Tally] = defaultdict(Tally)
    for row in sums.annotate(amount=Sum("counting__amount")):
        tallies[row].found |= {row.currency: round_cents(row.amount)} if row.currency else {}
    return [
        report.pk
        for report, tally in tallies.items()
        if any(row.difference != 0 for row in report_balances(report, tally))
    ]


def report_balances(report: BillingReport, tally: Tally | None = None) -> list[Balance]:
    """Return the balance by currency. Repeated lines count here too, as in the file's total."""
    found = (tally or report_tallies([report])[report.pk]).found
    stated = {currency: Decimal(total) for currency, total in report.stated.items()}
    return [
        Balance(currency, found.get(currency, Decimal(0)), stated.get(currency))
        for currency in sorted({*stated, *found})
    ]
