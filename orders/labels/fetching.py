"""Fetch the carrier's label files and store them byte for byte (interface §1)."""

import datetime as dt
import hashlib
from collections.abc import Collection

from django.conf import settings
from django.db import transaction
from django.db.models import BigIntegerField, DateTimeField
from django.utils import timezone

from orders.calling import gateway
from orders.calling.contract import contract_of
from orders.labels import files
from orders.models import Label, LabelBytes, Order
from orders.models.statuses import Status
from orders.notices import parcel_events
from shipping_portal.accounts.models import Sender
from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import CarrierError, Crowded, OperationOff, Rejected
from shipping_portal.carrier.messages import LabelFile, LabelLink
from shipping_portal.carrier.values import normalise_word
from shipping_portal.db.bucket import OutOfReach
from shipping_portal.db.planned_statements import Given, PlannedSelect, insert_row, update_row
from shipping_portal.jobs.models import PARK_AFTER, UNDER_WAY, backoff, lease_time
from shipping_portal.jobs.registry import NotYet, enqueue, enqueue_next, job

FIRST_WAITS = (2, 5, 15, 60)  # seconds
LATER_WAIT = 300  # seconds
ALARM_AFTER_TRIES = 12
# three days; after that only an operator can retry
LAST_TRY = len(FIRST_WAITS) + 3 * 86_400 // LATER_WAIT
LONGEST_ADDRESS = 2048
UNREACHABLE = "No settings lead to its carrier account any more, so the carrier can't be asked."
# The account may be configured again; its labels are fetched then.
UNREACHABLE_WAIT = dt.timedelta(hours=1)
SIZES = ("full", "cropped")
# The size that this sender doesn't print is fetched later, when there is a spare slot.
SPARE_AFTER = dt.timedelta(seconds=300 * settings.TIME_SCALE)
# Read these columns of an order with its labels, not the many others.
OF_ORDER = (
    "id",
    "account",
    "status",
    "carrier_order_id",
    "carrier_reference",
    "is_cancellable",
    "generation",
    "uuid",
    "request_id",
    "sender",
)
OF_SENDER = ("id", "has_webhooks")
UNSTORED = tuple(state for state in Label.State if state != Label.State.STORED)
RESOLVED = (Label.State.STORED, Label.State.WITHHELD)
OTHERS = PlannedSelect(
    Label.objects.filter(
        order=Given("order", BigIntegerField()),
        due_at__isnull=False,
        purged_at=None,
        failures__lt=PARK_AFTER,
    )
    .exclude(pk=Given("label", BigIntegerField()))
    .exclude(state__in=RESOLVED)
    .exclude(last_error=UNDER_WAY, due_at__gt=Given("now", DateTimeField()))
)


@job(
    "label",
    queue=Label.objects.filter(purged_at=None)
    .exclude(state__in=RESOLVED)
    .select_related("order__account", "order__sender")
    .defer(
        *(
            f"order__{field.name}"
            for field in Order._meta.concrete_fields
            if field.name not in OF_ORDER
        ),
        *(
            f"order__sender__{field.name}"
            for field in Sender._meta.concrete_fields
            if field.name not in OF_SENDER
        ),
    ),
    lane="order__sender",
    order=60,
)
def fetch_due_label(label: Label) -> None:
    """Fetch an order's due labels. If a label isn't ready, retry later; the order is unaffected."""
    end = _fields_if_unneeded(label.order)
    if end is None and gateway.is_reachable(label.order.account):
        return _fetch(label)
    for one in (label, *_other_wanted_sizes(label)):
        if end is None:
            one.postpone(
                timezone.now() + UNREACHABLE_WAIT, state=Label.State.FAILED, problem=UNREACHABLE
            )
        else:
            one.finish(**end)


def _fields_if_unneeded(order: Order) -> dict[str, str] | None:
    """Return the fields for labels that are no longer needed, or None if they are still needed."""
    if order.status == Status.CANCELLED:
        return {"address": ""}
    if not order.carrier_order_id:
        return {"state": Label.State.FAILED, "problem": "The carrier's order id is not known."}
    return None


def _fetch(label: Label) -> None:
    """Fetch this and the order's other sizes, from the booking reply's links or the order's own."""
    client, others = _client_for(label), _other_wanted_sizes(label)
    taken = [label, *(one for one in others if label.is_spare or not one.is_spare)]
    named = [one for one in taken if one.address]
    unknown = [one for one in taken if not one.address]
    waiting = 0
    for one in named:
        link = LabelLink("pdf", _sizes(one.size, client.contract)[0], one.address)
        waiting += _store(one, (link,), client, waiting, others=others)
    if not unknown:
        return
    try:
        links = _read_links(label, client)
    except CarrierError as error:
        for place, one in enumerate(unknown, waiting):
            _record_failure(one, error, client, place)
        return
    for one in unknown:
        # Checking the order may have used most of the lease.
        if one.renew():
            waiting += _store(one, links, client, waiting)


def _client_for(label: Label) -> Carrier:
    first = "label" if label.address else "view"
    if label.address and not gateway.takes_turn(label.order.account, label.address):
        first = ""
    try:
        return gateway.carrier_of(label.order, first=first, is_spare=label.is_spare)
    except NotYet:
        if not label.is_spare:
            raise
    # Don't use the very next free slot, because somebody may want that one too.
    raise NotYet(timezone.now() + backoff(0, first=60.0))


def _other_wanted_sizes(label: Label) -> list[Label]:
    """Return the order's other sizes that are wanted and that no worker is fetching.

    A file is stored only once anyway.
    """
    found = OTHERS.rows(order=label.order_id, label=label.pk, now=timezone.now())
    for one in found:
        one.order = label.order  # read with its sender
    return found


def _read_links(label: Label, client: Carrier) -> tuple[LabelLink, ...]:
    """Return the links that the order names now. Raises OperationOff if it can't be read."""
    viewed = client.view(label.order.carrier_order_id)
    label.order.note_cancellable(viewed.is_cancellable)
    return viewed.labels


def _store(
    label: Label,
    links: tuple[LabelLink, ...],
    client: Carrier,
    place: int = 0,
    others: Collection[Label] = (),
) -> bool:
    """Fetch this label's file. Return True if it isn't ready yet.

    Some carriers have one file for both sizes. It is then stored for both.
    """
    link = wanted(label.size, links, client.contract)
    if link is None and links and label.tries >= len(FIRST_WAITS):
        label.finish(state=Label.State.ABSENT, problem="The carrier has no label of this size.")
        want_spare(label.order, timezone.now())
        return False
    # One size may be listed seconds before the other.
    if link is None:
        _wait(label, "The carrier is still making the label.", place=place)
        return True
    try:
        file = client.label(link)
        same = [one for one in others if one.pk != label.pk and one.address == link.url]
        for one in (label, *same):
            store(one, file, at=timezone.now())
    except CarrierError as error:
        _record_failure(label, error, client, place)
        return True
    except OutOfReach:
        _wait(label, "We couldn't store the label.", place=place)
        return True
    return False


def _record_failure(label: Label, error: CarrierError, client: Carrier, place: int) -> None:
    if client.contract.view and not isinstance(error, Crowded):
        # Next time, read the links from the order.
        label.address = ""
    if isinstance(error, OperationOff):
        problem = (
            "The reply to the booking named no such label, and the contract has no view to ask"
            " again."
        )
        label.finish(state=Label.State.FAILED, problem=problem)
    elif isinstance(error, Crowded):
        # Nothing was sent, so this doesn't count as an attempt.
        wait = dt.timedelta(seconds=error.retry_after or 0.0)
        label.postpone(timezone.now() + wait + place * lease_time())
    elif isinstance(error, Rejected):
        # Waiting doesn't help with an address that isn't the carrier's.
        _wait(label, str(error.text or error), place=place, alarm=error.code == "unsafe_link")
    else:
        _wait(label, str(error), place=place)


def wanted(size: str, links: tuple[LabelLink, ...], contract: Contract) -> LabelLink | None:
    """Return the carrier's PDF of our size from these links, or None."""
    sizes = _sizes(size, contract)
    return next((link for link in links if link.format == "pdf" and link.size in sizes), None)


def _sizes(size: str, contract: Contract) -> list[str]:
    """Return the carrier's names for one of our sizes."""
    names = contract.full_page_sizes if size == "full" else contract.cropped_sizes
    return [normalise_word(word) for word in names]


def request_labels(
    order: Order, links: tuple[LabelLink, ...], *, at: dt.datetime, is_worthless: bool = False
) -> None:
    """Make the size that the sender prints due now, and the other later: nobody waits for it."""
    contract, printed = contract_of(order.account), order.sender.label_size
    due = [
        Label(
            order=order,
            size=size,
            due_at=at if size == printed else at + SPARE_AFTER,
            address=_to_keep(size, links, contract),
            is_worthless=is_worthless,
            is_spare=size != printed,
        )
        for size in sorted(SIZES, key=lambda size: size != printed)
    ]
    # Insert without overwriting, and still get the existing row's key.
    insert_row(*due, conflict="ON CONFLICT (order_id, size) DO UPDATE SET size = EXCLUDED.size")
    enqueue_next("label", due[0].pk)


def want_spare(order: Order, at: dt.datetime) -> None:
    """Fetch the order's other size like any label: somebody asked for it, or there is no other."""
    spare = Label.objects.filter(order=order, is_spare=True).exclude(state__in=RESOLVED)
    if spare.filter(due_at__isnull=False).update(is_spare=False, due_at=at):
        enqueue("label", *Label.objects.filter(order=order, due_at=at).values_list("pk", flat=True))


def _to_keep(size: str, links: tuple[LabelLink, ...], contract: Contract) -> str:
    """Return a label's address from the booking reply, if it stays valid long enough."""
    link = wanted(size, links, contract)
    return link.url if link and len(link.url) <= LONGEST_ADDRESS else ""


def store(label: Label, file: LabelFile, *, at: dt.datetime) -> None:
    """Store the first good file. A later fetch never replaces it or restores an erased one.

    Raises OutOfReach.
    """
    uploaded = files.upload(file.content, file.sha256)
    stored = {
        "state": Label.State.STORED,
        "sha256": file.sha256,
        "length": len(file.content),
        "stored_at": at,
        "address": "",
        "problem": "",
        "due_at": None,
        **Label.AFRESH,
    }
    kept = files.bytes_of(label, file.content, uploaded)
    with transaction.atomic(durable=True):
        if update_row(label, {"purged_at": None, "state": UNSTORED}, stored, kept):
            if uploaded:
                files.name_file(uploaded)
            parcel_events.note_label(label, at)


@transaction.atomic
def restore_file(label: Label) -> bool:
    """Offer a damaged file again if it now matches its sha256; otherwise delete it.

    Raises OutOfReach.
    """
    failed = Label.objects.filter(pk=label.pk, state=Label.State.FAILED, purged_at=None)
    kept = LabelBytes.objects.filter(label__in=failed)
    row = kept.first()
    if row and hashlib.sha256(row.read()).hexdigest() == label.sha256:
        return bool(failed.update(state=Label.State.STORED, problem=""))
    files.forget(kept)
    return False


def wait_after(tries: int) -> int:
    """Return the seconds between this attempt, counted from 0, and the next."""
    return FIRST_WAITS[tries] if tries < len(FIRST_WAITS) else LATER_WAIT


def _wait(label: Label, why: str, *, place: int, alarm: bool = False) -> None:
    """Retry later. After many attempts, or immediately with `alarm`, alert the operator.

    In the end only the operator can retry. A size that was fetched along with another becomes due
    by itself only if the other one won't fetch it again.
    """
    is_a_case = alarm or label.tries >= ALARM_AFTER_TRIES
    state = Label.State.FAILED if is_a_case else Label.State.PENDING
    if not label.is_spare:
        want_spare(label.order, timezone.now() + lease_time())
    if label.tries < LAST_TRY:
        wait = dt.timedelta(seconds=wait_after(label.tries) * settings.TIME_SCALE)
        label.retry(
            timezone.now() + wait + place * lease_time(),
            state=state,
            problem=why[:300],
            address=label.address,
        )
    else:
        label.finish(state=state, problem=why[:300], address=label.address)
