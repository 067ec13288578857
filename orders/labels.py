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

FIRST_WAITS = (2, 5, 15, 60)  # seconds; then every five minutes
ALARM_AFTER_TRIES = 12
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
    if links:
        _set(label, state=Label.State.ABSENT, due_at=None, problem="The carrier has no label of this size.")
    else:
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
    return bool(Label.objects.filter(pk=label.pk, due_at=label.due_at).update(due_at=until))


def _wait(label: Label, why: str, *, alarm: bool = False) -> None:
    """Try again later; after too many tries, or at once with `alarm`, the operator is told."""
    seconds = FIRST_WAITS[label.tries] if label.tries < len(FIRST_WAITS) else 300
    is_a_case = alarm or label.tries >= ALARM_AFTER_TRIES
    state = Label.State.FAILED if is_a_case else Label.State.PENDING
    due_at = timezone.now() + dt.timedelta(seconds=seconds * settings.TIME_SCALE)
    _set(label, state=state, tries=label.tries + 1, due_at=due_at, problem=why[:300])


def _set(label: Label, **changes: object) -> None:
    Label.objects.filter(pk=label.pk).exclude(state=Label.State.STORED).update(**changes)
