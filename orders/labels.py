"""Fetching the carrier's label files and keeping them byte for byte (interface §1)."""

import datetime as dt

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from orders import gateway
from orders.contract import contract_of
from orders.models import Label, LabelBytes, Order
from orders.models.statuses import Status
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import CarrierError, Crowded, OperationOff, Rejected
from shipping_portal.carrier.messages import LabelFile, LabelLink
from shipping_portal.carrier.values import normalise
from shipping_portal.jobs.models import PARK_AFTER, UNDER_WAY, lease
from shipping_portal.jobs.registry import job

FIRST_WAITS = (2, 5, 15, 60)  # seconds
LATER_WAIT = 300  # seconds
ALARM_AFTER_TRIES = 12
LAST_TRY = len(FIRST_WAITS) + 3 * 86_400 // LATER_WAIT  # after three days only an operator asks again
LONGEST_ADDRESS = 2048
UNREACHABLE = "No settings lead to its carrier account any more, so the carrier can't be asked."
UNREACHABLE_WAIT = dt.timedelta(hours=1)  # it is fetched once they do again
SIZES = ("full", "cropped")
SETTLED = (Label.State.STORED, Label.State.WITHHELD)


@job(
    "label",
    queue=Label.objects.filter(purged_at=None).exclude(state__in=SETTLED).select_related("order__account"),
    lane="order__sender",
    order=60,
)
def work(label: Label) -> None:
    """Fetch what is owed of an order's labels. One that is not ready is waited for, never a reason to cancel."""
    end = _of_no_use(label.order)
    if end is None and gateway.is_reachable(label.order.account):
        return _fetch(label)
    for one in (label, *_taken_along(label)):
        if end is None:
            one.postpone(timezone.now() + UNREACHABLE_WAIT, state=Label.State.FAILED, problem=UNREACHABLE)
        else:
            one.finish(**end)


def _of_no_use(order: Order) -> dict[str, str] | None:
    """Return what to write at labels that are not asked for any more; None where they are."""
    if order.status == Status.CANCELLED:
        return {"address": ""}
    if not order.carrier_order_id:
        return {"state": Label.State.FAILED, "problem": "The carrier's order id is not known."}
    return None


def _fetch(label: Label) -> None:
    has_address = bool(label.address) and not contract_of(label.order.account).view
    client = gateway.carrier_of(label.order, first="label" if has_address else "view")
    if has_address:
        size = _sizes(label.size, client.contract)[0]
        _store(label, (LabelLink("pdf", size, label.address),), client)
        return
    taken = [label, *_taken_along(label)]
    try:
        links = _links(label, client)
    except CarrierError as error:
        for place, one in enumerate(taken):
            _failed(one, error, place)
        return
    waiting = 0
    for one in taken:
        waiting += _store(one, links, client, waiting)


def _taken_along(label: Label) -> list[Label]:
    """Return the order's other sizes, claimed: one look at the order tells of all of them."""
    owed = Label.objects.filter(order=label.order, due_at__isnull=False, purged_at=None, failures__lt=PARK_AFTER)
    ours = owed.exclude(pk=label.pk).exclude(
        last_error=UNDER_WAY, due_at__gt=timezone.now()
    )  # those are another worker's
    return [other for other in ours.exclude(state__in=SETTLED) if other.claim()]


def _links(label: Label, client: Carrier) -> tuple[LabelLink, ...]:
    """Return the links that the order itself names now. Raises OperationOff where it can't be looked at."""
    viewed = client.view(label.order.carrier_order_id)
    label.order.note_cancellable(viewed.is_cancellable)
    return viewed.labels


def _store(label: Label, links: tuple[LabelLink, ...], client: Carrier, place: int = 0) -> bool:
    """Fetch the file of this label. True where it has to be waited for."""
    link = wanted(label.size, links, client.contract)
    if link is None and links and label.tries >= len(FIRST_WAITS):
        label.finish(state=Label.State.ABSENT, problem="The carrier has no label of this size.")
        return False
    if link is None:  # one size may be listed seconds before the other
        _wait(label, "The carrier is still making the label.", place=place)
        return True
    if not label.renew():  # the look may have taken most of the lease
        return False
    try:
        store(label, client.label(link), at=timezone.now())
    except CarrierError as error:
        _failed(label, error, place)
        return True
    return False


def _failed(label: Label, error: CarrierError, place: int) -> None:
    if isinstance(error, OperationOff):
        problem = "The reply to the booking named no such label, and the contract has no view to ask again."
        label.finish(state=Label.State.FAILED, problem=problem)
    elif isinstance(error, Crowded):  # nothing was asked, so this was no try
        wait = dt.timedelta(seconds=error.retry_after or 0.0)
        label.postpone(timezone.now() + wait + place * lease())
    elif isinstance(error, Rejected):  # an address that is not the carrier's is no matter of waiting
        _wait(label, str(error.text or error), place=place, alarm=error.code == "unsafe_link")
    else:
        _wait(label, str(error), place=place)


def wanted(size: str, links: tuple[LabelLink, ...], contract: Contract) -> LabelLink | None:
    """Return the carrier's PDF of our size, if it is among these."""
    sizes = _sizes(size, contract)
    return next((link for link in links if link.format == "pdf" and link.size in sizes), None)


def _sizes(size: str, contract: Contract) -> list[str]:
    """Return what the carrier calls one of our sizes."""
    names = contract.full_page_sizes if size == "full" else contract.cropped_sizes
    return [normalise(word) for word in names]


def owe(order: Order, links: tuple[LabelLink, ...], *, at: dt.datetime) -> None:
    """Owe both sizes of a booked order; the second is due by itself only where the first doesn't take it along."""
    for place, size in enumerate(SIZES):
        address = _to_keep(size, links, contract_of(order.account))
        due_at = at if address else at + place * lease()
        Label.objects.get_or_create(order=order, size=size, defaults={"due_at": due_at, "address": address})


def _to_keep(size: str, links: tuple[LabelLink, ...], contract: Contract) -> str:
    """Return the address of a label that the carrier will not name again; "" where the order can be looked at later."""
    link = None if contract.view else wanted(size, links, contract)
    return link.url if link and len(link.url) <= LONGEST_ADDRESS else ""


def store(label: Label, file: LabelFile, *, at: dt.datetime) -> None:
    """Keep the first good file; a later fetch never replaces it, nor brings back one whose receiver was erased."""
    with transaction.atomic(durable=True):
        stored = Label.objects.filter(pk=label.pk, purged_at=None).exclude(state=Label.State.STORED)
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
    """Return seconds between this try, counted from 0, and the next."""
    return FIRST_WAITS[tries] if tries < len(FIRST_WAITS) else LATER_WAIT


def _wait(label: Label, why: str, *, place: int, alarm: bool = False) -> None:
    """Try again later; after many tries, or at once with `alarm`, the operator is told, and in the end acts alone.

    A size that was taken along is due by itself only where the first one doesn't take it along again.
    """
    is_a_case = alarm or label.tries >= ALARM_AFTER_TRIES
    state = Label.State.FAILED if is_a_case else Label.State.PENDING
    if label.tries < LAST_TRY:
        wait = dt.timedelta(seconds=wait_after(label.tries) * settings.TIME_SCALE)
        label.retry(timezone.now() + wait + place * lease(), state=state, problem=why[:300])
    else:
        label.finish(state=state, problem=why[:300])
