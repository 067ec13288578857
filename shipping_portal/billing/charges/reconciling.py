"""Compare the carrier's charges with what was expected: lists of recent orders for operators."""

import datetime as dt
from collections import defaultdict

from django.db.models import DateField, Exists, Min, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Cast, Coalesce, Least, Round

from orders.models import Order
from orders.models.statuses import Status
from shipping_portal.billing.models import (
    CANCEL_REFUNDS,
    BillingReport,
    Charge,
    ChargeKind,
    round_cents,
)

LOOKS_BACK = dt.timedelta(days=90)
ENOUGH_REPORTS = 2
BATCH = 1000  # lines marked per SQL statement
Weeks = dict[int, list[dt.date]]  # by account
# What an order may cost: the carrier's price at booking, but never more than agreed.
EXPECTED = Least(Coalesce("order__charged_price", "order__price"), "order__price")
POSTED = Charge.objects.filter(order=OuterRef("pk"), posted_at__isnull=False)
COST = POSTED.filter(kind=ChargeKind.ORDER)
USED = POSTED.filter(kind=ChargeKind.UN_CANCELLATION)


def charged_after_cancelling(now: dt.datetime) -> QuerySet[Order]:
    """Return cancelled orders that still have an un-cancellation charge.

    The operator informs the sender or disputes the charge.
    """
    return _costing_orders(now).filter(Exists(USED), status=Status.CANCELLED)


def not_refunded(now: dt.datetime, weeks: Weeks | None = None) -> QuerySet[Order]:
    """Return cancelled orders not fully refunded after two reports of later weeks."""
    refund = Charge.objects.posted().filter(
        order=OuterRef("order"), kind__in=CANCEL_REFUNDS, currency=OuterRef("currency")
    )
    cost, reported = COST.filter(~Exists(refund)), _in_reported_week("cancelled_at", weeks)
    return _costing_orders(now).filter(reported, Exists(cost), status=Status.CANCELLED)


def charged_otherwise(now: dt.datetime) -> QuerySet[Order]:
    """Return orders not charged as agreed, until an operator accepts or corrects that.

    Before the bill arrives this compares the booking's price, afterwards the bill's lines.
    """
    billed = Charge.objects.posted().filter(is_unexpected=True).values("order")
    booked = Order.objects.filter(unagreed_price__isnull=False, status=Status.BOOKED)
    unbilled = booked.exclude(Exists(COST)).values("pk")
    return _recent_orders(now).filter(
        ~Exists(POSTED.filter(report=None)), pk__in=billed.union(unbilled)
    )


def note_unexpected(lines: QuerySet[Charge]) -> None:
    """Mark posted charges that, with their cover, differ from what was agreed.

    This is done once, because comparing three months of orders on every visit to the admin takes
    half a second. Orders are found first and then marked by key: PostgreSQL has no statistics of a
    new report, and repeated a subquery in the UPDATE for each line (20,000 lines hit the statement
    timeout).
    """
    odd, turned = _odd_orders(lines), defaultdict(list)
    costs = lines.filter(kind=ChargeKind.ORDER, order__isnull=False)
    for line, order, is_marked in costs.values_list("pk", "order", "is_unexpected").iterator():
        if is_marked != (order in odd):
            turned[not is_marked].append(line)
    for mark, keys in turned.items():
        for batch in (keys[at : at + BATCH] for at in range(0, len(keys), BATCH)):
            Charge.objects.filter(pk__in=batch).update(is_unexpected=mark)


def _odd_orders(lines: QuerySet[Charge]) -> set[int]:
    """Return the orders whose charge and cover differ from the agreed amount or currency."""
    costs = lines.filter(
        kind__in=(ChargeKind.ORDER, ChargeKind.COVER), order__isnull=False
    ).order_by()
    billed = costs.values_list("order", "currency", "order__currency").annotate(
        billed=Sum("amount"), expected=Min(EXPECTED)
    )
    return {
        order
        for order, currency, agreed, amount, expected in billed.iterator()
        if (currency, round_cents(amount)) != (agreed, round_cents(expected))
    }


def accept_price(line: Charge) -> bool:
    """Accept this charge as correct. Return False if it isn't waiting for that."""
    return bool(Charge.objects.filter(pk=line.pk, is_unexpected=True).update(is_unexpected=False))


def never_charged(now: dt.datetime, weeks: Weeks | None = None) -> QuerySet[Order]:
    """Return booked orders still without a charge after reports for two weeks from theirs on."""
    reported = _in_reported_week("booked_at", weeks)
    cost = COST.filter(report__state=BillingReport.State.POSTED)
    # an index has them: the few recent ones
    return _recent_orders(now).filter(~Exists(cost), reported, status=Status.BOOKED, unbilled__gt=0)


def shown_at() -> dict[str, Coalesce | Subquery]:
    """Return when an order entered each list, by the list's age column."""
    return {
        "used_charge_at": _posted_at(USED),
        "unrefunded_at": _second_report_at("cancelled_at"),
        "unexpected_at": Coalesce(_posted_at(POSTED.filter(is_unexpected=True)), "booked_at"),
        "uncharged_at": _second_report_at("booked_at"),
    }


def _posted_at(lines: QuerySet[Charge]) -> Subquery:
    return Subquery(lines.order_by("posted_at").values("posted_at")[:1])


def _second_report_at(moment: str) -> Subquery:
    """Return when the second reported week, counting from this moment's own, was posted."""
    later = BillingReport.objects.filter(
        account=OuterRef("account"),
        state=BillingReport.State.POSTED,
        week__gt=Cast(OuterRef(moment) - dt.timedelta(days=7), DateField()),
    )
    times = later.order_by("week").values("week").annotate(at=Min("ended_at")).values("at")
    return Subquery(times[1:ENOUGH_REPORTS])


def _recent_orders(now: dt.datetime) -> QuerySet[Order]:
    return Order.objects.filter(submitted_at__gte=now - LOOKS_BACK)


def _costing_orders(now: dt.datetime) -> QuerySet[Order]:
    """Return orders whose lines still add up to a cost in some currency, to the cent."""
    # Rounded, because SQLite adds in floating point.
    sums = POSTED.order_by().values("currency").annotate(net=Round(Sum("amount"), 2))
    return _recent_orders(now).filter(Exists(sums.filter(net__gt=0)))


def reported_weeks() -> Weeks:
    """Return the weeks of each account's posted reports, in order."""
    posted = BillingReport.objects.filter(state=BillingReport.State.POSTED).order_by(
        "account", "week"
    )
    weeks = defaultdict(list)
    for account, week in posted.values_list("account", "week").distinct():
        weeks[account].append(week)
    return weeks


def _in_reported_week(moment: str, weeks: Weeks | None) -> Q:
    """Return whether reports had begun by this moment, and two weeks from it on are reported.

    `weeks` are the reported ones, if already read.
    """
    found = Q(pk__in=[])
    for account, known in (reported_weeks() if weeks is None else weeks).items():
        if len(known) >= ENOUGH_REPORTS:
            begin = _start_of_day(known[0])
            last = _start_of_day(known[-ENOUGH_REPORTS] + dt.timedelta(days=7))
            found |= Q(("account", account), (f"{moment}__gte", begin), (f"{moment}__lt", last))
    return found


def _start_of_day(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(), dt.UTC)
