"""What a line is for: what its words mean, decided once by an operator, and what its order tells."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable

from django.db.models import Q

from orders.models import BillingReport, Charge, ChargeWord, Kind, Order
from orders.models.billing import REFUNDS, week_of

# The words known of this carrier's family (folded). A word that is not here waits for an operator.
KNOWN = {
    "order invoiced": Kind.ORDER,
    "order invoiced / paid": Kind.ORDER,
    "order invoiced / refunded": ChargeWord.ORDER_REFUND,
    "order invoiced / refunded / delay": Kind.DELAY_REFUND,
    "order invoiced / refunded / loss": Kind.LOSS_REFUND,
    "order invoiced / refunded / other": Kind.OTHER_REFUND,
    "adjustment: incorrect size declared": Kind.UNDER_DECLARED,
    "adjustment: incorrect size declared / paid": Kind.UNDER_DECLARED,
    "adjustment: package type": Kind.UNDER_DECLARED,
    "adjustment: package type / paid": Kind.UNDER_DECLARED,
    "adjustment: oversize penalty": Kind.OVERSIZE,
    "adjustment: oversize penalty / paid": Kind.OVERSIZE,
    "size adjustment charge refunded": Kind.OTHER_REFUND,
    "size adjustment charge refunded / refunded": Kind.OTHER_REFUND,
    "package type adjustment refunded": Kind.OTHER_REFUND,
    "package type adjustment refunded / refunded": Kind.OTHER_REFUND,
}
MEANS_REFUND = {*REFUNDS, ChargeWord.ORDER_REFUND}
COSTS_AN_ORDER = {Kind.ORDER, Kind.UN_CANCELLATION}


def terms(words: Iterable[str], *, now: dt.datetime) -> dict[str, ChargeWord]:
    """By folded word, what an operator decided of it; one met for the first time is kept for them."""
    wanted = {fold(word) for word in words}
    found = _stored(wanted)
    if new := wanted - set(found):
        ChargeWord.objects.bulk_create(
            (ChargeWord(word=word, meaning=KNOWN.get(word, ""), first_seen_at=now) for word in new),
            ignore_conflicts=True,
        )
        found = _stored(wanted)
    return found


def fold(word: str) -> str:
    return word.casefold()


def _stored(words: Collection[str]) -> dict[str, ChargeWord]:
    return {term.word: term for term in ChargeWord.objects.filter(word__in=words)}


class History:
    """Which kinds were charged to some orders before, and in which weeks; lines are added as they are read."""

    def __init__(self, orders: Collection[int], report: BillingReport | None) -> None:
        self.weeks: dict[tuple[int, str], set[dt.date]] = defaultdict(set)
        before = Charge.objects.filter(Q(posted_at__isnull=False) | Q(report=report, report__isnull=False))
        for order, kind, week in before.filter(order__in=orders).values_list("order", "kind", "week"):
            self.weeks[order, kind].add(week)

    def add(self, charge: Charge) -> None:
        if charge.order_id:
            self.weeks[charge.order_id, charge.kind].add(charge.week)

    def kind(self, meaning: str, order: Order | None, week: dt.date) -> str:
        """The kind of a line of this week. A plain order line is an un-cancellation once the order was charged before,
        or when its label was used after it was cancelled: the family's report has no word of its own for it."""
        if not meaning:
            return Kind.UNKNOWN
        if meaning == ChargeWord.ORDER_REFUND:
            return self._refund(order, week)
        if meaning == Kind.ORDER and order and (self._costs(order) or _was_used(order, week)):
            return Kind.UN_CANCELLATION
        return meaning

    def _refund(self, order: Order | None, week: dt.date) -> str:
        if order is None or order.cancelled_at is None:
            return Kind.OTHER_REFUND
        return Kind.CANCEL_REFUND if week in self._costs(order) else Kind.CANCEL_REFUND_LATER

    def _costs(self, order: Order) -> set[dt.date]:
        """The weeks in which it was charged."""
        return self.weeks[order.pk, Kind.ORDER] | self.weeks[order.pk, Kind.UN_CANCELLATION]


def _was_used(order: Order, week: dt.date) -> bool:
    used = order.used_after_cancel_at
    return used is not None and week >= week_of(used.date())
