"""What billing holds of a person: words of a dispute. Bills, lines and amounts are kept as they were posted."""

from collections.abc import Iterator

from shipping_portal.billing.models import Dispute
from shipping_portal.jobs.erasing import ERASED, Keys, objection, overwrites

ANSWER_FIRST = "A charge is disputed, and the answer needs what is kept of the parcel. Answer the dispute first."


@objection("order")
def disputed(orders: Keys) -> Iterator[tuple[int, str]]:
    for key in Dispute.objects.open().filter(charge__order__in=orders).values_list("charge__order", flat=True):
        yield key, ANSWER_FIRST


@objection("sender")
def in_dispute(senders: Keys) -> Iterator[tuple[int, str]]:
    for key in Dispute.objects.open().filter(sender__in=senders).values_list("sender", flat=True).distinct():
        yield key, ANSWER_FIRST


overwrites("order", "words of disputes", Dispute.objects.all(), "charge__order", text=ERASED, answer=ERASED)
overwrites("sender", "words of disputes", Dispute.objects.all(), "sender", text=ERASED, answer=ERASED)
