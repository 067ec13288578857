"""Fetching the carrier's label files and keeping them byte for byte (interface §1)."""

import datetime as dt

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from orders import gateway
from orders.models import Label, LabelBytes
from orders.models.statuses import Status
from shipping_portal.carrier.errors import CarrierError, Rejected
from shipping_portal.carrier.messages import LabelFile, LabelLink

FIRST_WAITS = (2, 5, 15, 60)  # seconds
LATER_WAIT = 300  # seconds
ALARM_AFTER_TRIES = 12
LAST_TRY = len(FIRST_WAITS) + 3 * 86_400 // LATER_WAIT  # after three days only an operator asks again
MOST_TRIES = 30_000  # the column is a small integer
CARRIER_SIZES = {"full": ("a4", "letter"), "cropped": ("cropped",)}


def work(label_id: int) -> None:
    """Fetch one owed label file, if it is due. A label that is not ready is waited for, never a reason to cancel."""
    now = timezone.now()
    label = Label.objects.select_related("order").get(pk=label_id)
    if label.state == Label.State.STORED or label.due_at is None or label.due_at > now:
        return
    if not _claim(label, now):
        return
    if label.order.status == Status.CANCELLED:
        _set(label, due_at=None)
    elif not label.order.carrier_order_id:
        _set(label, state=Label.State.FAILED, due_at=None, problem="The carrier's order id is not known.")
    elif not gateway.is_ours(label.order):  # its id may be somebody else's parcel there
        _set(
            label, state=Label.State.FAILED, due_at=None, problem="It was booked on another carrier account."
        )
    else:
        _fetch(label)


def _fetch(label: Label) -> None:
    client = gateway.carrier(label.order)
    try:
        links = client.view(label.order.carrier_order_id).labels
        link = _wanted(label, links)
        if link:
            return store(label, client.label(link), at=timezone.now())
    except Rejected as error:  # an address that is not the carrier's is no matter of waiting
        return _wait(label, str(error.text or error), alarm=error.code == "unsafe_link")
    except CarrierError as error:
        return _wait(label, str(error))
    if links and label.tries >= len(FIRST_WAITS):
        _set(label, state=Label.State.ABSENT, due_at=None, problem="The carrier has no label of this size.")
    else:  # one size may be listed seconds before the other
        _wait(label, "The carrier is still making the label.")


def _wanted(label: Label, links: tuple[LabelLink, ...]) -> LabelLink | None:
    sizes = CARRIER_SIZES[label.size]
    return next((link for link in links if link.format == "pdf" and link.size in sizes), None)


def store(label: Label, file: LabelFile, *, at: dt.datetime) -> None:
    """Keep the first good file; a later fetch never replaces it."""
    with transaction.atomic(durable=True):
        stored = Label.objects.filter(pk=label.pk).exclude(state=Label.State.STORED)
        if stored.update(
            state=Label.State.STORED,
            sha256=file.sha256,
            length=len(file.content),
            stored_at=at,
            due_at=None,
            problem="",
        ):
            LabelBytes.objects.create(label=label, content=file.content)


def _claim(label: Label, now: dt.datetime) -> bool:
    until = now + dt.timedelta(seconds=settings.LEASE_SECONDS)
    if not Label.objects.filter(pk=label.pk, due_at=label.due_at).update(due_at=until):
        return False
    label.due_at = until
    return True


def wait_after(tries: int) -> int:
    """Seconds between this try, counted from 0, and the next."""
    return FIRST_WAITS[tries] if tries < len(FIRST_WAITS) else LATER_WAIT


def _wait(label: Label, why: str, *, alarm: bool = False) -> None:
    """Try again later; after many tries, or at once with `alarm`, the operator is told, and in the end acts alone."""
    is_a_case = alarm or label.tries >= ALARM_AFTER_TRIES
    wait = dt.timedelta(seconds=wait_after(label.tries) * settings.TIME_SCALE)
    _set(
        label,
        state=Label.State.FAILED if is_a_case else Label.State.PENDING,
        tries=min(label.tries + 1, MOST_TRIES),
        due_at=timezone.now() + wait if label.tries < LAST_TRY else None,
        problem=why[:300],
    )


def _set(label: Label, **changes: object) -> None:
    """Change the label as we claimed it; not when our lease ran out and somebody else has it by now."""
    ours = Label.objects.filter(pk=label.pk, due_at=label.due_at).exclude(state=Label.State.STORED)
    ours.update(**changes)
