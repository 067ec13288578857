"""Recount the limits' counters daily from the orders. A wrong one is corrected and reported.

A counter that is too high refuses what is allowed; one that is too low allows what isn't. Neither
can wait for an operator. The old value stays in the audit log, and the admin shows how many were
wrong.
"""

import datetime as dt
import logging
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce, Round

from orders.booking.limits import MONEY
from orders.models import DailySpend, Order
from shipping_portal.accounts.models import Audit, Sender
from shipping_portal.jobs.registry import chore

logger = logging.getLogger(__name__)
COUNTERS = ("booked_today", "spent_today", "unbilled", "booked_in_all", "spent_in_all")
LOOKS_BACK = dt.timedelta(days=7)  # for the daily spend of all senders together


@chore("recount", every=86_400)
def recount_limits(now: dt.datetime) -> None:
    """Compare every counter with the orders, and correct the wrong ones."""
    note_corrected(sum(_correct_counter(row, now) for row in miscounted_rows(now)), now)


def note_corrected(corrected: int, now: dt.datetime) -> None:
    """Record for the admin how many counters or totals were wrong."""
    if corrected:
        day, _ = DailySpend.objects.get_or_create(day=now.date())
        DailySpend.objects.filter(pk=day.pk).update(mended=F("mended") + corrected, mended_at=now)


def miscounted_rows(now: dt.datetime) -> list[Any]:
    """Return the rows with wrong counters: senders, and days of all senders together."""
    return [*_miscounted_senders(), *_miscounted_days(now)]


def _miscounted_senders() -> QuerySet[Any]:
    """Return senders whose counters differ from their orders, in one consistent statement."""
    orders = Order.objects.filter(sender=OuterRef("pk")).order_by().values("sender")
    today = orders.filter(reserved_on=OuterRef("counted_on"))
    in_all = orders.filter(reserved_on__isnull=False)
    counted = {
        "counted_booked_today": _count_of(today),
        "counted_spent_today": _sum_of(today, "reserved"),
        "counted_unbilled": _sum_of(orders, "unbilled"),
        "counted_booked_in_all": _count_of(in_all),
        "counted_spent_in_all": _sum_of(in_all, "reserved"),
    }
    return _wrong_rows(Sender.objects.annotate(**counted), COUNTERS)


def _miscounted_days(now: dt.datetime) -> QuerySet[Any]:
    orders = Order.objects.filter(reserved_on=OuterRef("day")).order_by().values("reserved_on")
    lately = DailySpend.objects.filter(day__gte=(now - LOOKS_BACK).date())
    return _wrong_rows(lately.annotate(counted_spent=_sum_of(orders, "reserved")), ("spent",))


def _count_of(orders: QuerySet[Any, Any]) -> Coalesce:
    return Coalesce(Subquery(orders.annotate(n=Count("pk")).values("n")), 0)


def _sum_of(orders: QuerySet[Any, Any], field: str) -> Coalesce:
    in_all = orders.annotate(in_all=Round(Sum(field), 2)).values("in_all")
    return Coalesce(Subquery(in_all, output_field=MONEY), Value(Decimal(0)), output_field=MONEY)


def _wrong_rows(rows: QuerySet[Any], counters: tuple[str, ...]) -> QuerySet[Any]:
    differs = Q()
    for counter in counters:
        differs |= ~Q((counter, F(f"counted_{counter}")))
    return rows.filter(differs).order_by("pk")


@transaction.atomic
def _correct_counter(seen: Any, now: dt.datetime) -> int:
    """Correct a counter after checking it again under the row's lock, which every change takes."""
    type(seen).objects.select_for_update(no_key=True).get(pk=seen.pk)
    rows, counters = (
        (_miscounted_senders(), COUNTERS)
        if isinstance(seen, Sender)
        else (_miscounted_days(now), ("spent",))
    )
    row = rows.filter(pk=seen.pk).first()
    if row is None:
        return 0
    was = {counter: getattr(row, counter) for counter in counters}
    right = {counter: getattr(row, f"counted_{counter}") for counter in counters}
    type(row).objects.filter(pk=row.pk).update(**right)
    row.refresh_from_db(fields=counters)
    wrong = [counter for counter in counters if getattr(row, counter) != was[counter]]
    summary = "; ".join(
        f"{counter} was {was[counter]}, is {getattr(row, counter)}" for counter in wrong
    )
    sender = row if isinstance(row, Sender) else None
    Audit.write("limits recounted", row, by=None, sender=sender, reason=summary, at=now)
    logger.error(
        "limits_miscounted", extra={"row": f"{row._meta.model_name} {row.pk}", "summary": summary}
    )
    return len(wrong)
