"""Decide a line's kind: from its term, mapped once by an operator, and from its order."""

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable

from django.db.models import Prefetch, QuerySet
from django.db.models.functions import Upper

from orders.models import Order, OrderChange
from orders.models.statuses import STILL_AT_SENDER, Status
from shipping_portal.billing.models import (
    CANCEL_REFUNDS,
    COSTS,
    REFUNDS,
    BillingReport,
    Charge,
    ChargeKind,
    ChargeWord,
    week_of,
)

# Normalised terms known in this carrier's family. Any other term waits for an operator.
KNOWN = {
    "order invoiced": ChargeKind.ORDER,
    "order invoiced / paid": ChargeKind.ORDER,
    "order invoiced / refunded": ChargeWord.ORDER_REFUND,
    "order invoiced / refunded / delay": ChargeKind.DELAY_REFUND,
    "order invoiced / refunded / loss": ChargeKind.LOSS_REFUND,
    "order invoiced / refunded / other": ChargeKind.OTHER_REFUND,
    "adjustment: incorrect size declared": ChargeKind.UNDER_DECLARED,
    "adjustment: incorrect size declared / paid": ChargeKind.UNDER_DECLARED,
    "adjustment: package type": ChargeKind.UNDER_DECLARED,
    "adjustment: package type / paid": ChargeKind.UNDER_DECLARED,
    "adjustment: oversize penalty": ChargeKind.OVERSIZE,
    "adjustment: oversize penalty / paid": ChargeKind.OVERSIZE,
    "size adjustment charge refunded": ChargeKind.OTHER_REFUND,
    "size adjustment charge refunded / refunded": ChargeKind.OTHER_REFUND,
    "package type adjustment refunded": ChargeKind.OTHER_REFUND,
    "package type adjustment refunded / refunded": ChargeKind.OTHER_REFUND,
}
MEANS_REFUND = {*REFUNDS, ChargeWord.ORDER_REFUND}


def known_terms(words: Iterable[str], *, now: dt.datetime) -> dict[str, ChargeWord]:
    """Return operators' decisions by normalised term. New terms are stored for them to decide."""
    wanted = {normalise_word(word) for word in words}
    found = _stored_terms(wanted)
    if new := wanted - set(found):
        ChargeWord.objects.bulk_create(
            (
                ChargeWord(word=word, meaning=KNOWN.get(word, ""), first_seen_at=now)
                for word in sorted(new)
            ),
            ignore_conflicts=True,
        )
        found = _stored_terms(wanted)
    return found


def normalise_word(word: str) -> str:
    return word.casefold()


def _stored_terms(words: Collection[str]) -> dict[str, ChargeWord]:
    return {term.word: term for term in ChargeWord.objects.filter(word__in=words)}


class History:
    """The kinds charged to these orders before, by week. Lines are added as they are read."""

    def __init__(self, orders: Collection[int], report: BillingReport | None) -> None:
        self.report_id = report and report.pk
        self.weeks: dict[tuple[int, str], Counter[dt.date]] = defaultdict(Counter)
        # charged by other reports
        self.invoiced: dict[int, Counter[dt.date]] = defaultdict(Counter)
        self.given_back: dict[int, Counter[dt.date]] = defaultdict(Counter)
        named = Upper("order__carrier_reference")
        # without those added by hand
        own = Charge.objects.filter(order__in=orders, reference__upper=named)
        reported = own.filter(report__isnull=False, is_repeat=False, held="")
        reported = reported.exclude(report__state=BillingReport.State.REVERSED)
        for charge in reported.only("order_id", "kind", "week", "posted_at", "report_id"):
            self.add(
                charge, counts=charge.posted_at is not None or charge.report_id == self.report_id
            )

    def add(self, charge: Charge, *, counts: bool = True) -> None:
        """Add a line. Of a line in another unposted report, only a refund counts."""
        if charge.order_id and counts:
            self.weeks[charge.order_id, charge.kind][charge.week] += 1
            if charge.kind in COSTS and charge.report_id != self.report_id:
                self.invoiced[charge.order_id][charge.week] += 1
        if charge.order_id and charge.kind in CANCEL_REFUNDS:
            self.given_back[charge.order_id][charge.week] += 1

    def kind(self, meaning: str, order: Order | None, week: dt.date) -> str:
        """Return a line's kind in this week.

        A plain order line of a cancelled order is an un-cancellation if the order was charged
        before or its label was used: this family's reports have no separate term for that. Without
        a cancellation it never is.
        """
        if not meaning:
            return ChargeKind.UNKNOWN
        if meaning == ChargeWord.ORDER_REFUND:
            return self._refund(order, week)
        if meaning == ChargeKind.ORDER and order:
            is_second = (
                may_be_cancelled(order) and _count_up_to(week, self._weeks_charged(order)) > 0
            )
            return ChargeKind.UN_CANCELLATION if is_second or was_used(order, week) else meaning
        return meaning

    def is_given_back(self, order: Order, week: dt.date) -> bool:
        """Return whether every charge up to this week was refunded because of a cancellation."""
        return (
            _count_up_to(week, self._weeks_charged(order))
            <= _count_up_to(week, self.given_back[order.pk])
            > 0
        )

    def _refund(self, order: Order | None, week: dt.date) -> str:
        if order is None or not may_be_cancelled(order):
            return ChargeKind.OTHER_REFUND
        # Two reports may cover one week: the first one's charges are invoiced when the second
        # refunds them.
        is_same_cycle = week in self._weeks_charged(order) and not _count_up_to(
            week, self.invoiced[order.pk]
        )
        return ChargeKind.CANCEL_REFUND if is_same_cycle else ChargeKind.CANCEL_REFUND_LATER

    def _weeks_charged(self, order: Order) -> Counter[dt.date]:
        """Return the weeks in which the order was charged, and how often."""
        return (
            self.weeks[order.pk, ChargeKind.ORDER]
            + self.weeks[order.pk, ChargeKind.UN_CANCELLATION]
        )


def _count_up_to(week: dt.date, counted: Counter[dt.date]) -> int:
    return sum(times for at, times in counted.items() if at <= week)


def with_cancellations(orders: QuerySet[Order]) -> QuerySet[Order]:
    """Prefetch only the changes that `may_be_cancelled` needs: most orders have none."""
    unclear = OrderChange.objects.filter(new=Status.CANCEL_UNCONFIRMED).only("order_id", "new")
    return orders.prefetch_related(Prefetch("changes", unclear))


def may_be_cancelled(order: Order) -> bool:
    """Return whether the order is cancelled, or its cancellation is pending or once was unclear.

    Once the label is used, this is False.
    """
    unclear = Status.CANCEL_UNCONFIRMED
    is_cancelled = order.cancelled_at is not None or order.status == Status.CANCEL_ASKED
    return is_cancelled or any(change.new == unclear for change in order.changes.all())


def was_used(order: Order, week: dt.date) -> bool:
    """Return whether its label was used after cancelling, in this week or before.

    A parcel can't be cancelled once it is moving, so a scan from just before we learned of the
    cancellation counts too.
    """
    moves = order.progress not in STILL_AT_SENDER and may_be_cancelled(order)
    used = order.used_after_cancel_at or (order.progress_at if moves else None)
    return used is not None and week >= week_of(used.date())
