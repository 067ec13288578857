"""Check a report: read and match every line and decide its kind. Nothing counts before posting.

read_due_report    (worker)  a thousand lines at a time, each batch with its progress
read_report_again  (admin)   the same from the first line, after a decision on a term or the profile
"""

import datetime as dt
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from typing import Self

from django.db import transaction
from django.utils import timezone

from orders.models import Order
from shipping_portal.billing.charges import holding, matching
from shipping_portal.billing.models import (
    COSTS,
    STALE,
    BillingReport,
    Charge,
    ChargeKind,
    ChargeWord,
)
from shipping_portal.billing.reports import kinds
from shipping_portal.billing.reports.fields import Profile, profile_of
from shipping_portal.billing.reports.reading import (
    NotAReport,
    Problem,
    ReportRow,
    ReportTotal,
    read_report,
)
from shipping_portal.jobs.registry import enqueue, job

State = BillingReport.State
BATCH = 1000
MOST_PROBLEMS = 100
OVERWRITTEN = [field.name for field in Charge._meta.concrete_fields if not field.primary_key]
DECIDED_ABOUT = ("reference", "kind", "amount", "currency")
UNPOSTED = (State.READING, State.CHECKED, State.DAMAGED)


class LeaseLost(Exception):
    """Raised when another worker has taken over the report, or an operator has voided it."""


@job("report", queue=BillingReport.objects.filter(state=State.READING), order=130)
def read_due_report(report: BillingReport) -> None:
    """Read one report. If the worker is killed, the next one continues where it stopped."""
    with suppress(LeaseLost):
        _read_report(report)


def read_report_again(report: BillingReport, *, now: dt.datetime) -> bool:
    """Read a report from the start with the current profile.

    Return False if it is posted or void.
    """
    profile = Profile.of(profile_of(report.account)).to_json()
    with transaction.atomic():
        unposted = BillingReport.objects.filter(pk=report.pk, state__in=UNPOSTED)
        if not unposted.update(
            state=State.READING,
            due_at=now,
            read=0,
            rows=0,
            problems=[],
            profile=profile,
            **BillingReport.AFRESH,
        ):
            return False
        # Keep the rows, so that a line read again keeps its number in the admin and its decision.
        report.lines.filter(decision="").update(held="")
        report.lines.update(key=STALE, is_repeat=True)
        enqueue("report", report.pk)
    return True


def _read_report(report: BillingReport) -> None:
    records = enumerate(_read_records(report), start=1)
    totals: dict[str, Decimal] = {}
    problems = []
    while batch := list(islice(records, BATCH)):
        for _, record in batch:
            if isinstance(record, ReportTotal):
                totals[record.currency] = totals.get(record.currency, Decimal(0)) + record.amount
            elif isinstance(record, Problem):
                problems.append(record)
        _store_batch(report, batch)
    _finish_reading(report, totals, problems)


def _read_records(report: BillingReport) -> Iterator[ReportRow | ReportTotal | Problem]:
    try:
        yield from read_report(bytes(report.file.content), Profile(**report.profile))
    except NotAReport as refusal:
        # The account's columns have changed since it was uploaded.
        yield Problem(1, str(refusal))


def _store_batch(
    report: BillingReport, batch: list[tuple[int, ReportRow | ReportTotal | Problem]]
) -> None:
    upto = batch[-1][0]
    fresh = [
        record for place, record in batch if place > report.read and isinstance(record, ReportRow)
    ]
    # It was already stored when a worker was killed.
    if upto <= report.read:
        return
    with transaction.atomic():
        if not report.renew(read=upto, rows=report.rows + len(fresh)):
            raise LeaseLost
        Charge.objects.bulk_create(
            _make_lines(report, fresh),
            update_conflicts=True,
            unique_fields=["report", "line", "part"],
            update_fields=OVERWRITTEN,
        )


def _make_lines(report: BillingReport, rows: list[ReportRow]) -> list[Charge]:
    whole = matching.whole_references(report.account_id, {row.reference for row in rows})
    rows = [replace(row, reference=whole.get(row.reference, row.reference)) for row in rows]
    reader = Reader.of(report, rows)
    decided = report.lines.exclude(decision="").filter(line__in=[row.number for row in rows])
    before = {(line.line, line.part): line for line in decided}
    made = [line for row in rows for line in reader.lines(row)]
    for line in made:
        _decide_as_before(line, before.get((line.line, line.part)))
    return made


def _decide_as_before(line: Charge, before: Charge | None) -> None:
    """Keep the decision on a held line if the line is unchanged and not posted elsewhere."""
    if (
        before
        and not line.is_repeat
        and all(getattr(line, name) == getattr(before, name) for name in DECIDED_ABOUT)
    ):
        line.held, line.decision = before.held, before.decision


@dataclass
class Reader:
    """Build the lines of one batch from its orders, terms, and earlier charges."""

    report: BillingReport
    profile: Profile
    orders: dict[str, Order]  # by upper-case reference
    terms: dict[str, ChargeWord]
    posted: dict[str, dt.date]  # week by key
    history: kinds.History

    @classmethod
    def of(cls, report: BillingReport, rows: list[ReportRow]) -> Self:
        orders = matching.orders_of(report.account_id, {row.reference for row in rows})
        posted = Charge.objects.posted().filter(
            account=report.account_id,
            key__in=[key for row in rows for key in (row.key, row.used_key, *row.other_keys)],
        )
        return cls(
            report,
            Profile(**report.profile),
            orders,
            kinds.known_terms((row.word for row in rows), now=timezone.now()),
            dict(posted.values_list("key", "week")),
            kinds.History([order.pk for order in orders.values()], report),
        )

    def lines(self, row: ReportRow) -> list[Charge]:
        """Return the row's line, with the Extra Cover in its price as a separate line."""
        term = self.terms[kinds.normalise_word(row.word)]
        order = self.orders.get(row.reference.upper())
        kind = self.history.kind(term.meaning, order, self.report.week)
        whole = row.price if self.profile.cover_inside else row.price + row.cover
        key = self._key(row, kind, order)
        if kind not in COSTS or not row.cover:
            made = [self._line(row, term, kind, whole, key)]
        else:
            made = [
                self._line(row, term, kind, whole - row.cover, key),
                self._line(row, term, ChargeKind.COVER, row.cover, key, part=1),
            ]
        if not made[0].is_repeat:
            self.history.add(made[0])
        return made

    def _key(self, row: ReportRow, kind: str, order: Order | None) -> str:
        """Return a line's key; a different one if a refunded order is charged again.

        A report for an earlier week than that line's has the first charge, even if read later.
        """
        week = self.report.week
        if order is None or kind != ChargeKind.UN_CANCELLATION or not kinds.was_used(order, week):
            return next((key for key in (row.key, *row.other_keys) if key in self.posted), row.key)
        posted = self.posted.get(row.used_key)
        is_anew = (posted and posted <= week) or self.history.is_given_back(order, week)
        return row.used_key if is_anew else row.key

    def _line(
        self,
        row: ReportRow,
        term: ChargeWord,
        kind: str,
        stated: Decimal,
        key: str,
        *,
        part: int = 0,
    ) -> Charge:
        turned = term.meaning in kinds.MEANS_REFUND and self.profile.refunds_positive
        order = self.orders.get(row.reference.upper())
        return Charge(
            account_id=self.report.account_id,
            report_id=self.report.pk,
            line=row.number,
            part=part,
            key=key,
            is_repeat=key in self.posted,
            week=self.report.week,
            reference=row.reference,
            customer_reference=row.customer_reference,
            order_id=order.pk if order else None,
            sender_id=order.sender_id if order else None,
            kind=kind,
            term_id=term.pk,
            word=row.word,
            stated=stated,
            amount=-stated if turned else stated,
            currency=row.currency,
            day=row.day,
            **row.measures,
        )


def _finish_reading(
    report: BillingReport, totals: dict[str, Decimal], problems: list[Problem]
) -> None:
    if not report.rows and not problems:
        problems = [Problem(1, "The file has no lines.")]
    listed = [[problem.number, problem.message] for problem in problems[:MOST_PROBLEMS]]
    if len(problems) > MOST_PROBLEMS:
        listed.append(
            [
                problems[MOST_PROBLEMS].number,
                f"And {len(problems) - MOST_PROBLEMS} more like these.",
            ]
        )
    stated = {currency: str(total) for currency, total in totals.items()} or report.stated
    with transaction.atomic():
        state = State.DAMAGED if problems else State.CHECKED
        if not report.finish(state=state, problems=listed, stated=stated):
            raise LeaseLost
        report.lines.filter(key=STALE).delete()
        if problems:
            # Only a damaged file keeps its problems.
            report.lines.all().delete()
        else:
            holding.compare_lines(report)


def decide_word(term: ChargeWord, meaning: str, *, now: dt.datetime) -> list[BillingReport]:
    """Store a term's meaning and return the unposted reports that have it, to be read again."""
    ChargeWord.objects.filter(pk=term.pk).update(meaning=meaning)
    waiting = BillingReport.objects.filter(lines__term=term, state__in=UNPOSTED).distinct()
    return [report for report in waiting if read_report_again(report, now=now)]
