"""Post a report, which then counts as a whole. Before that, it can be voided."""

import datetime as dt
from collections.abc import Collection
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Round

from orders.booking import limits
from orders.models import CarrierAccount, Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.charges import charge_events, holding, reconciling, week_sums
from shipping_portal.billing.models import (
    REFUNDS,
    BillingReport,
    Charge,
    ChargeKind,
    Hold,
    round_cents,
)
from shipping_portal.billing.pages import notifications
from shipping_portal.billing.reports.balancing import keep_tally, report_balances

State = BillingReport.State
BATCH = 10_000  # lines of the file per SQL statement


class NotReady(Exception):
    """Raised when a report can't be posted or voided; `obstacles` says why."""

    def __init__(self, obstacles: list[str]) -> None:
        super().__init__(" ".join(obstacles))
        self.obstacles = obstacles


def report_totals(report: BillingReport) -> list[Any]:
    """Return `lines` and `amount` by currency and kind, with repeats and held lines separate."""
    columns = ("currency", "is_repeat", "held", "decision", "kind")
    sums = (
        report.lines.order_by(*columns)
        .values(*columns)
        .annotate(lines=Count("pk"), amount=Sum("amount"))
    )
    return [
        {**row, "amount": round_cents(row["amount"]), "words": _kind_words(**row)} for row in sums
    ]


def _kind_words(kind: str, *, is_repeat: bool, held: str, decision: str, **sums: Any) -> str:
    """Return what the lines are, and why they don't count (if they don't)."""
    left = (
        "left out"
        if decision == Charge.Decision.LEAVE
        else f"on hold: {Hold(held).label}"
        if held
        else ""
    )
    why = "already posted" if is_repeat else left
    return ", ".join(filter(None, (ChargeKind(kind).label, why)))


def posting_obstacles(report: BillingReport) -> list[str]:
    """Return why a report can't be posted, or an empty list if it can."""
    if report.state != State.CHECKED:
        return [f"It is {report.get_state_display().lower()}."]
    unknown = (
        report.lines.filter(kind=ChargeKind.UNKNOWN)
        .order_by("word")
        .values_list("word", flat=True)
        .distinct()
    )
    found = [f"“{word}” isn't mapped yet." for word in unknown[:20]]
    for row in report_balances(report):
        if row.difference is None:
            found.append(
                f"The file has no {row.currency} total. Set the one on the carrier's invoice."
            )
        elif row.difference:
            found.append(
                f"{row.currency} lines add up to {row.found}, but the stated total is {row.stated}:"
                f" off by {row.difference}."
            )
    return found


def state_total(report: BillingReport, stated: dict[str, Decimal]) -> bool:
    """Store the invoice's totals for a file that states none.

    Returns False for one that is posted, void or being read.
    """
    checked = BillingReport.objects.filter(pk=report.pk, state=State.CHECKED)
    return bool(checked.update(stated={currency: str(total) for currency, total in stated.items()}))


@transaction.atomic
def post_report(report: BillingReport, *, by: User | None, now: dt.datetime) -> None:
    """Make a report count permanently. Lines posted before are left out. Raises NotReady."""
    # Postings run one after the other. The key isn't locked, because each booking needs it after
    # locking its sender's row.
    CarrierAccount.locked(report.account_id)
    report.refresh_from_db()
    if found := posting_obstacles(report):
        raise NotReady(found)
    holding.compare_lines(report)
    _end_report(report, State.POSTED, [State.CHECKED], by=by, now=now)
    _post_lines(report, now)
    keep_tally(report)
    week_sums.add_up(week_sums.weeks_of(report.lines.posted()))
    end_exposure(report.lines.posted())
    reconciling.note_unexpected(report.lines.posted())
    notifications.notify_posted(report, now)
    charge_events.note_charges(report.lines.all(), now)


def _post_lines(report: BillingReport, now: dt.datetime) -> None:
    """Post a few thousand lines per SQL statement: a hundred thousand would nearly time out."""
    last = report.lines.aggregate(last=Max("line"))["last"] or 0
    for first in range(0, last + 1, BATCH):
        lines = report.lines.filter(
            is_repeat=False, held="", line__gte=first, line__lt=first + BATCH
        )
        lines.update(posted_at=now)


@transaction.atomic
def void_report(report: BillingReport, *, by: User | None, now: dt.datetime) -> None:
    """Delete a report's lines; its file stays and may be uploaded again. Raises NotReady."""
    _end_report(report, State.VOID, [State.READING, State.CHECKED, State.DAMAGED], by=by, now=now)
    report.lines.all().delete()


@transaction.atomic
def count_repeats(report: BillingReport) -> int:
    """Count repeated lines with this report, because the carrier says they are new.

    Returns how many. Raises NotReady.
    """
    # Locks it: it is posted or read again before this or after, never in between.
    if not BillingReport.objects.filter(pk=report.pk, state=State.CHECKED).update(
        state=State.CHECKED
    ):
        report.refresh_from_db()
        raise NotReady(posting_obstacles(report))
    renamed = list(report.lines.filter(is_repeat=True))
    for line in renamed:
        line.key, line.is_repeat = f"{line.key[:40]}-{report.pk}-{line.line}", False
        line.decision = Charge.Decision.POST
    return Charge.objects.bulk_update(renamed, ["key", "is_repeat", "decision"], batch_size=500)


def decide_lines(lines: Collection[Charge], *, post: bool, now: dt.datetime) -> list[Charge]:
    """Let held lines count as they are, or leave them out for good; return those decided.

    In a posted report they count immediately, in the report's week; otherwise once it is posted. A
    line that another report has posted is skipped.
    """
    found = []
    for account in sorted({line.account_id for line in lines}):
        with transaction.atomic():
            CarrierAccount.locked(account)
            held = Charge.objects.exclude(held="").filter(
                account=account, is_repeat=False, posted_at=None
            )
            same = Charge.objects.posted().filter(account=OuterRef("account"), key=OuterRef("key"))
            chosen = held.filter(
                ~Exists(same), pk__in=[line.pk for line in lines], report__state__in=DECIDABLE
            )
            found += _decide_chosen(list(chosen.select_related("report")), post=post, now=now)
    return found


DECIDABLE = (State.CHECKED, State.POSTED)


def _decide_chosen(chosen: list[Charge], *, post: bool, now: dt.datetime) -> list[Charge]:
    these = Charge.objects.filter(pk__in=[line.pk for line in chosen])
    if not post:
        these.update(decision=Charge.Decision.LEAVE)
        return chosen
    counting = [line.pk for line in chosen if line.report and line.report.state == State.POSTED]
    these.update(decision=Charge.Decision.POST, held="")
    counted = these.filter(pk__in=counting)
    counted.update(posted_at=now)
    week_sums.add_up(week_sums.weeks_of(counted))
    end_exposure(counted)
    reconciling.note_unexpected(counted)
    charge_events.note_charges(counted, now)
    for report in {line.report for line in chosen if line.report and line.pk in counting}:
        notifications.notify_counted(report, counted.filter(report=report), now)
    return chosen


def _end_report(
    report: BillingReport, state: str, from_states: list[str], *, by: User | None, now: dt.datetime
) -> None:
    mine = BillingReport.objects.filter(pk=report.pk, state__in=from_states)
    if not mine.update(state=state, due_at=None, ended_at=now, ended_by=by):
        report.refresh_from_db()
        raise NotReady(posting_obstacles(report))
    report.refresh_from_db()


# kinds of the order itself, not its size or cover
BILLS = (ChargeKind.ORDER, ChargeKind.UN_CANCELLATION, *REFUNDS)


def end_exposure(lines: QuerySet[Charge]) -> None:
    """Count these posted lines in the limits.

    Senders are locked in a fixed order, before any order's row.
    """
    owners = lines.filter(order__isnull=False)
    Sender.lock_all(owners.values("sender"))
    limits.count_as_billed(
        Order.objects.filter(pk__in=owners.filter(kind__in=BILLS).values("order"), unbilled__gt=0)
    )
    _count_dearer(
        Order.objects.filter(pk__in=owners.values("order"), reserved_on=F("sender__counted_on"))
    )


def count_unbilled_again(orders: QuerySet[Order]) -> None:
    """Count those of these orders as unbilled that have no bill left."""
    left = Charge.objects.posted().filter(kind__in=BILLS, report__state=State.POSTED)
    limits.count_as_unbilled(orders.exclude(Exists(left.filter(order=OuterRef("pk")))))


def _count_dearer(orders: QuerySet[Order]) -> None:
    """Count what bills charge above the reserved amount if its day still counts, which is rare."""
    own = Q(charges__posted_at__isnull=False, charges__currency=F("currency"))
    billed = orders.annotate(billed=Round(Sum("charges__amount", filter=own), 2))
    for order in billed.filter(billed__gt=F("reserved")):
        limits.count_bills(order, round_cents(order.billed))
