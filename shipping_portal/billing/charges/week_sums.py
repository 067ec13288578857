"""Store each sender's weekly totals along with the lines, so that pages never add up a history.

Code that changes a line recounts its week in the same transaction, holding the lock on the sender's
row. A daily recount checks all totals and corrects wrong ones, which the admin shows.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable

import structlog
from django.db import transaction
from django.db.models import Count, Q, QuerySet, Sum, Value

from orders.booking.recounting import note_corrected
from shipping_portal.accounts.models import Audit, Sender
from shipping_portal.billing.models import Charge, WeekSum, round_cents
from shipping_portal.jobs.registry import chore

logger = structlog.get_logger(__name__)
Week = tuple[int, dt.date]  # a sender's key and a Monday
GROUP = ("sender", "week", "currency", "kind")
SENDERS = 200  # checked per SQL statement


def weeks_of(lines: QuerySet[Charge]) -> set[Week]:
    """Return the weeks in which these lines count."""
    return set(
        lines.filter(sender__isnull=False).order_by().values_list("sender", "week").distinct()
    )


@transaction.atomic
def add_up(weeks: Collection[Week]) -> None:
    """Recount these weeks. Senders are locked in one order, so call it before locking an order."""
    senders: dict[dt.date, list[int]] = defaultdict(list)
    for sender, week in weeks:
        senders[week].append(sender)
    Sender.lock_all({sender for sender, _ in weeks})
    for week, theirs in senders.items():
        mine = Q(sender__in=theirs, week=week)
        WeekSum.objects.filter(mine).delete()
        WeekSum.objects.bulk_create(_count_lines(mine))


def _count_lines(of: Q) -> list[WeekSum]:
    """Return the totals from the lines: by kind, and for all kinds, counting each order once."""
    lines = Charge.objects.posted().filter(of, sender__isnull=False).order_by()
    found = []
    for grouped in (lines.values_list(*GROUP), lines.values_list(*GROUP[:3], Value(""))):
        sums = grouped.annotate(Count("pk"), Count("order", distinct=True), Sum("amount"))
        for sender, week, currency, kind, count_of_lines, orders, amount in sums:
            found.append(
                WeekSum(
                    sender_id=sender,
                    week=week,
                    currency=currency,
                    kind=kind,
                    lines=count_of_lines,
                    orders=orders,
                    amount=round_cents(amount),
                )
            )
    return found


@chore("recount of weeks", every=86_400)
def recount_weeks(now: dt.datetime) -> None:
    """Compare every total with its lines, and correct the wrong ones."""
    senders = list(Sender.objects.order_by("pk").values_list("pk", flat=True))
    some_at_a_time = (senders[at : at + SENDERS] for at in range(0, len(senders), SENDERS))
    wrong = [week for some in some_at_a_time for week in wrong_weeks(Q(sender__in=some))]
    note_corrected(sum(_correct_sums(sender, week, now) for sender, week in wrong), now)


def wrong_weeks(of: Q) -> set[Week]:
    """Return the weeks whose totals differ from their lines."""
    kept = {_row_facts(row) for row in WeekSum.objects.filter(of)}
    return {
        (sender, week) for sender, week, *_ in kept ^ {_row_facts(row) for row in _count_lines(of)}
    }


def _row_facts(row: WeekSum) -> tuple[int, dt.date, str, str, int, int, str]:
    return (
        row.sender_id,
        row.week,
        row.currency,
        row.kind,
        row.lines,
        row.orders,
        str(round_cents(row.amount)),
    )


@transaction.atomic
def _correct_sums(sender: int, week: dt.date, now: dt.datetime) -> int:
    """Correct a total after checking it again under the lock of the sender's row."""
    locked = Sender.locked(sender)
    mine = Q(sender=sender, week=week)
    if not wrong_weeks(mine):
        return 0
    was = _in_words(WeekSum.objects.filter(mine))
    add_up([(sender, week)])
    summary = f"{week}: was {was}, is {_in_words(WeekSum.objects.filter(mine))}"
    Audit.write("week recounted", locked, by=None, sender=locked, reason=summary, at=now)
    logger.error("week_miscounted", sender=sender, summary=summary)
    return 1


def _in_words(rows: Iterable[WeekSum]) -> str:
    words = [f"{row.kind or 'all'} {row.amount} {row.currency} of {row.lines}" for row in rows]
    return ", ".join(sorted(words)) or "nothing"
