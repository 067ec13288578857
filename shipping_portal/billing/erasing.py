"""What billing holds of a person: words of a dispute. Bills, lines and amounts are kept as they were posted."""

from collections.abc import Iterator

from django.db.models import QuerySet

from shipping_portal.billing.models import Dispute
from shipping_portal.jobs.erasing import ERASED, Keys, eraser, objection

ANSWER_FIRST = "A charge is disputed, and the answer needs what is kept of the parcel. Answer the dispute first."


@objection("order")
def disputed(orders: Keys) -> Iterator[tuple[int, str]]:
    for key in Dispute.objects.open().filter(charge__order__in=orders).values_list("charge__order", flat=True):
        yield key, ANSWER_FIRST


@objection("sender")
def in_dispute(senders: Keys) -> Iterator[tuple[int, str]]:
    for key in Dispute.objects.open().filter(sender__in=senders).values_list("sender", flat=True).distinct():
        yield key, ANSWER_FIRST


@eraser("order", "words of disputes")
def erase_disputes(orders: Keys) -> int:
    return _erased(Dispute.objects.filter(charge__order__in=orders))


@eraser("sender", "words of disputes")
def erase_all_disputes(senders: Keys) -> int:
    return _erased(Dispute.objects.filter(sender__in=senders))


def _erased(disputes: QuerySet[Dispute]) -> int:
    return disputes.exclude(text=ERASED).update(text=ERASED, answer=ERASED)
