"""What billing holds of a person: words and photos of disputes. Bills, lines and amounts are kept as posted."""

from collections.abc import Iterator

from django.db.models import Q

from shipping_portal.billing.models import Dispute, DisputePhoto
from shipping_portal.jobs.erasing import ERASED, Keys, eraser, objection, overwrites
from shipping_portal.jobs.retention import delete

ANSWER_FIRST = "A charge is disputed, and the answer needs what is kept of the parcel. Answer the dispute first."


@objection("order")
def disputed(orders: Keys) -> Iterator[tuple[int, str]]:
    """A photo is of all lines that were asked about at once, so it waits for the answer to the last of them."""
    waits = Q(state=Dispute.State.OPEN) | Q(photo__disputes__state=Dispute.State.OPEN)
    found = Dispute.objects.filter(waits, charge__order__in=orders)
    for key in found.order_by().values_list("charge__order", flat=True).distinct():
        yield key, ANSWER_FIRST


@objection("sender")
def in_dispute(senders: Keys) -> Iterator[tuple[int, str]]:
    for key in Dispute.objects.open().filter(sender__in=senders).values_list("sender", flat=True).distinct():
        yield key, ANSWER_FIRST


overwrites("order", "words of disputes", Dispute.objects.all(), "charge__order", text=ERASED, answer=ERASED)
overwrites("sender", "words of disputes", Dispute.objects.all(), "sender", text=ERASED, answer=ERASED)


PHOTOS_AT_ONCE = 5  # each is read to be deleted


@eraser("order", "photos of disputes")
def erase_photos(orders: Keys) -> int:
    return delete(DisputePhoto.objects.filter(disputes__charge__order__in=orders).distinct(), at_once=PHOTOS_AT_ONCE)


@eraser("sender", "photos of disputes")
def erase_photos_of_sender(senders: Keys) -> int:
    return delete(DisputePhoto.objects.filter(sender__in=senders), at_once=PHOTOS_AT_ONCE)
