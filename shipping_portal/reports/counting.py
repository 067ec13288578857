"""Count a sender's days in a job, so that reports add up days and never read a history.

A day's figures are never incremented. The last fourteen days are recounted whenever something in
them may have changed; all days are recounted daily and after a report is posted. So a late scan's
effect on an older day shows the next day.
"""

import datetime as dt
from collections.abc import Iterator
from typing import Any

from django.db.models import F, Max, Min, Q, QuerySet
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender
from shipping_portal.billing.models import BillingReport, Charge
from shipping_portal.jobs.registry import chore, job
from shipping_portal.reports.day_figures import count_days
from shipping_portal.reports.models import Counting, DayFigures
from shipping_portal.reports.spans import CHOICES, Days
from tracking.models import TrackingEvent
from tracking.scanning.projecting import PAST_ALLOWED

LATELY = dt.timedelta(days=14)
A_DAY = dt.timedelta(days=1)
AT_ONCE = dt.timedelta(days=28)  # days counted in one query
LOOKS_EVERY = 300  # seconds
OVERLAP = dt.timedelta(seconds=2 * LOOKS_EVERY)
# so that many senders together don't delay other jobs
IN_A_TURN, A_TURN = 100, dt.timedelta(seconds=10)
DAILY = 100  # senders fully recounted each time: 28,800 a day


@job("count", queue=Counting.objects.select_related("sender"), lane="sender", order=200)
def count_due_days(counting: Counting) -> None:
    """Count a sender's last days, or all of them if due, several weeks at a time."""
    sender, now, last = counting.sender, timezone.now(), counting.all_counted_at
    today = sender.day_of(now)
    is_in_full = last is None or last <= now - A_DAY or counting.zone != sender.zone
    first = _first_day(sender, today) if is_in_full else today - LATELY
    for days in _in_parts(first, today, sender):
        count_days(sender, days)
        if not counting.renew():
            return
    if is_in_full:
        DayFigures.objects.filter(sender=sender).exclude(day__range=(first, today)).delete()
    counting.finish(
        counted_at=now, zone=sender.zone, **({"all_counted_at": now} if is_in_full else {})
    )


def schedule_days(sender: Sender, at: dt.datetime) -> None:
    """Schedule a full recount of a sender's days, regardless of earlier counts."""
    afresh = {"due_at": at, "all_counted_at": None, **Counting.AFRESH}
    Counting.objects.update_or_create(sender=sender, defaults=afresh)


def _first_day(sender: Sender, today: dt.date) -> dt.date:
    """Return the first day in the reports' period that may have something to count."""
    farthest = today - dt.timedelta(weeks=2 * max(CHOICES))
    booked = Order.objects.filter(sender=sender).aggregate(Min("booked_at"))["booked_at__min"]
    first = (booked - PAST_ALLOWED).astimezone(sender.tzinfo).date() if booked else today
    return max(farthest, first)


def _in_parts(first: dt.date, last: dt.date, sender: Sender) -> Iterator[Days]:
    while first <= last:
        yield Days(first, min(first + AT_ONCE, last), sender.tzinfo)
        first += AT_ONCE + A_DAY


@chore("days to count", every=LOOKS_EVERY)
def mark_days_to_count(now: dt.datetime) -> None:
    """Schedule senders with changes since their last count, and those due for a full recount."""
    Counting.objects.bulk_create(
        [Counting(sender=sender) for sender in Sender.objects.filter(counting=None)],
        ignore_conflicts=True,
    )
    last = Counting.objects.aggregate(Max("counted_at"))["counted_at__max"] or now
    since = min(last, now) - OVERLAP
    _note_reports(since)
    scanned = TrackingEvent.objects.filter(received_at__gte=since, parcel__order__isnull=False)
    changed = _distinct_senders(scanned, "parcel__order__sender") | _distinct_senders(
        Order.objects.filter(submitted_at__gte=since), "sender"
    )
    idle = Counting.objects.filter(due_at=None).order_by()
    by_turn = (
        idle.filter(all_counted_at__lte=now - A_DAY)
        .order_by("all_counted_at")
        .values_list("pk", flat=True)
    )
    is_due = (
        Q(pk__in=changed | {*by_turn[:DAILY]}) | Q(all_counted_at=None) | ~Q(zone=F("sender__zone"))
    )
    due = list(idle.filter(is_due).values_list("pk", flat=True))
    for turn, first in enumerate(range(0, len(due), IN_A_TURN)):
        idle.filter(pk__in=due[first : first + IN_A_TURN]).update(due_at=now + turn * A_TURN)


def _note_reports(since: dt.datetime) -> None:
    """Schedule full recounts for senders with new charges, which follow weeks after booking."""
    posted = BillingReport.objects.filter(state=BillingReport.State.POSTED, ended_at__gte=since)
    if ended_at := posted.aggregate(Max("ended_at"))["ended_at__max"]:
        billed = _distinct_senders(
            Charge.objects.posted().filter(report__in=posted, sender__isnull=False), "sender"
        )
        Counting.objects.filter(sender__in=billed, all_counted_at__lte=ended_at).update(
            all_counted_at=None
        )


def _distinct_senders(rows: QuerySet[Any], sender: str) -> set[int]:
    return set(rows.order_by().values_list(sender, flat=True).distinct())
