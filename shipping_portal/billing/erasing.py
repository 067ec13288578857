"""Object to erasing a person while text or photos of theirs are in an open dispute.

Bills and amounts stay as posted.
"""

from django.db.models import Q

from shipping_portal.billing.models import Dispute
from shipping_portal.jobs.erasing import Keys, Reasons, objection

ANSWER_FIRST = (
    "A charge is disputed, and the answer needs what is kept of the parcel. Answer the dispute"
    " first."
)


@objection("order")
def disputed(orders: Keys) -> Reasons:
    """Match parcels with an open dispute.

    A photo for several lines stays until the last one is answered.
    """
    waits = Q(state=Dispute.State.OPEN) | Q(photo__disputes__state=Dispute.State.OPEN)
    found = Dispute.objects.filter(waits, charge__order__in=orders)
    for key in found.order_by().values_list("charge__order", flat=True).distinct():
        yield key, ANSWER_FIRST


@objection("sender")
def in_dispute(senders: Keys) -> Reasons:
    for key in (
        Dispute.objects.open()
        .filter(sender__in=senders)
        .values_list("sender", flat=True)
        .distinct()
    ):
        yield key, ANSWER_FIRST
