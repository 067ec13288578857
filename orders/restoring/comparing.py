"""Show held labels again once the carrier confirms that they weren't cancelled."""

import datetime as dt

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from orders.calling import gateway
from orders.calling.contract import contract_of
from orders.cancelling import cancel_outcomes
from orders.models import Label
from shipping_portal.carrier.errors import CarrierError
from shipping_portal.carrier.reading import read_cancel_state
from shipping_portal.jobs.models import backoff
from shipping_portal.jobs.registry import enqueue, job

WHY = "the carrier had cancelled it after the backup"
State = Label.State


@job(
    "compare",
    queue=Label.objects.filter(state=State.WITHHELD).select_related("order__account"),
    lane="order__sender",
    order=45,
)
def compare_due_label(label: Label) -> None:
    """Ask the carrier about one held label's order, once for all of its labels."""
    order = label.order
    if order.is_booked:
        try:
            viewed = gateway.carrier_of(order, first="view").view(order.carrier_order_id)
        except CarrierError as error:
            label.retry(timezone.now() + backoff(label.tries, first=2), problem=str(error)[:300])
            return
        meaning = read_cancel_state(viewed.state, contract_of(order.account))
        if meaning in ("cancelled", "asked"):
            is_asked = meaning == "asked"
            cancel_outcomes.record_carrier_cancel(order, viewed, why=WHY, is_asked=is_asked)
    show_labels(Label.objects.filter(order=order), now=timezone.now())


@transaction.atomic
def show_labels(labels: QuerySet[Label], *, now: dt.datetime) -> None:
    """Release those of these labels that are held: as stored, or once they are fetched."""
    withheld = labels.filter(state=State.WITHHELD)
    withheld.exclude(sha256="").update(state=State.STORED, due_at=None, problem="", **Label.AFRESH)
    fetched = list(withheld.values_list("pk", flat=True))
    withheld.update(state=State.PENDING, due_at=now, problem="", **Label.AFRESH)
    enqueue("label", *fetched)
