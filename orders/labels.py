"""Fetching the carrier's label files and keeping them byte for byte (interface §1)."""

import datetime as dt

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from orders import gateway
from orders.models import Label, LabelBytes
from orders.models.statuses import Status
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import CarrierError, OperationOff, Rejected
from shipping_portal.carrier.messages import LabelFile, LabelLink
from shipping_portal.carrier.values import fold
from shipping_portal.jobs.registry import job

FIRST_WAITS = (2, 5, 15, 60)  # seconds
LATER_WAIT = 300  # seconds
ALARM_AFTER_TRIES = 12
LAST_TRY = len(FIRST_WAITS) + 3 * 86_400 // LATER_WAIT  # after three days only an operator asks again
LONGEST_ADDRESS = 2048


@job(
    "label",
    queue=Label.objects.exclude(state__in=(Label.State.STORED, Label.State.WITHHELD)).select_related("order"),
    lane="order__sender",
    order=60,
)
def work(label: Label) -> None:
    """Fetch one owed label file. A label that is not ready is waited for, never a reason to cancel."""
    if label.order.status == Status.CANCELLED:
        label.finish(address="")
    elif not label.order.carrier_order_id:
        label.finish(state=Label.State.FAILED, problem="The carrier's order id is not known.")
    elif not gateway.is_reachable(label.order.account):
        label.finish(state=Label.State.FAILED, problem="It was booked on another carrier account.")
    else:
        _fetch(label)


def _fetch(label: Label) -> None:
    client = gateway.carrier_of(label.order)
    try:
        links = _links(label, client)
        link = wanted(label.size, links, client.contract)
        if link and not label.renew():  # the look may have taken most of the lease
            return
        if link:
            return store(label, client.label(link), at=timezone.now())
    except OperationOff:
        problem = "The reply to the booking named no such label, and the contract has no view to ask again."
        label.finish(state=Label.State.FAILED, problem=problem)
        return
    except Rejected as error:  # an address that is not the carrier's is no matter of waiting
        return _wait(label, str(error.text or error), alarm=error.code == "unsafe_link")
    except CarrierError as error:
        return _wait(label, str(error))
    if links and label.tries >= len(FIRST_WAITS):
        label.finish(state=Label.State.ABSENT, problem="The carrier has no label of this size.")
    else:  # one size may be listed seconds before the other
        _wait(label, "The carrier is still making the label.")


def _links(label: Label, client: Carrier) -> tuple[LabelLink, ...]:
    """As the order itself tells them now, or did in the reply to the booking. Raises OperationOff for neither."""
    if label.address and not client.contract.view:
        return (LabelLink("pdf", _sizes(label.size, client.contract)[0], label.address),)
    viewed = client.view(label.order.carrier_order_id)
    label.order.note_cancellable(viewed.is_cancellable)
    return viewed.labels


def wanted(size: str, links: tuple[LabelLink, ...], contract: Contract) -> LabelLink | None:
    """The carrier's PDF of our size, if it is among these."""
    sizes = _sizes(size, contract)
    return next((link for link in links if link.format == "pdf" and link.size in sizes), None)


def _sizes(size: str, contract: Contract) -> list[str]:
    """What the carrier calls one of our sizes."""
    told = contract.full_page_sizes if size == "full" else contract.cropped_sizes
    return [fold(word) for word in told]


def address_to_keep(size: str, links: tuple[LabelLink, ...], contract: Contract) -> str:
    """The address of a label that the carrier will not name again; "" where the order can be looked at later."""
    link = None if contract.view else wanted(size, links, contract)
    return link.url if link and len(link.url) <= LONGEST_ADDRESS else ""


def store(label: Label, file: LabelFile, *, at: dt.datetime) -> None:
    """Keep the first good file; a later fetch never replaces it."""
    with transaction.atomic(durable=True):
        stored = Label.objects.filter(pk=label.pk).exclude(state=Label.State.STORED)
        if stored.update(
            state=Label.State.STORED,
            sha256=file.sha256,
            length=len(file.content),
            stored_at=at,
            address="",
            problem="",
            due_at=None,
            **Label.AFRESH,
        ):
            LabelBytes.objects.create(label=label, content=file.content)


def wait_after(tries: int) -> int:
    """Seconds between this try, counted from 0, and the next."""
    return FIRST_WAITS[tries] if tries < len(FIRST_WAITS) else LATER_WAIT


def _wait(label: Label, why: str, *, alarm: bool = False) -> None:
    """Try again later; after many tries, or at once with `alarm`, the operator is told, and in the end acts alone."""
    is_a_case = alarm or label.tries >= ALARM_AFTER_TRIES
    state = Label.State.FAILED if is_a_case else Label.State.PENDING
    if label.tries < LAST_TRY:
        wait = dt.timedelta(seconds=wait_after(label.tries) * settings.TIME_SCALE)
        label.retry(timezone.now() + wait, state=state, problem=why[:300])
    else:
        label.finish(state=state, problem=why[:300])
