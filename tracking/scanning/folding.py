"""A parcel's scans folded into its progress, on itself and on its order, by `orders/status/progress.py: fold`."""

import datetime as dt
from collections.abc import Iterable
from functools import partial

from django.db import transaction
from django.utils import timezone

from orders.calling.contract import contract_of, settings_of
from orders.models import CarrierAccount
from orders.status.progress import Step, fold
from orders.status.transitions import advance
from shipping_portal.jobs.registry import job
from tracking import erasing
from tracking.models import Parcel, TrackingEvent
from tracking.scanning import statements, vocabulary
from tracking.scanning.scans import Held, lock_parcels

PAST_ALLOWED = dt.timedelta(days=30)
LONG_BEFORE = "scan time is long before the booking"
PROGRESS = ("progress", "progress_at", "last_scan_at")
WRITTEN = (*PROGRESS, "due_at", *Parcel.AFRESH)


def project(*parcels: int) -> None:
    """Fold all scans of these parcels and write what they say, on parcels and orders. Safe to repeat."""
    with transaction.atomic():
        fold_held(lock_parcels(parcels))


@job("fold", queue=Parcel.objects.all(), lane="order__sender", order=80)
def work(parcel: Parcel) -> None:
    """Fold a parcel's scans again, as their words mean something else by now, or a worker died before it did."""
    project(parcel.pk)


def fold_held(held: Held) -> None:
    """Do the same for parcels that are held, with the scans that were just stored."""
    now, words = timezone.now(), _words(held)
    _set_aside_what_came_long_before(held)
    changed = []
    for pk, parcel in held.parcels.items():
        before = [getattr(parcel, name) for name in WRITTEN]
        # Its words mean nothing in another's contract.
        if parcel.account_id in words:
            usable = (event for event in held.events[pk] if not event.set_aside)
            result = fold(_step(event, words[parcel.account_id]) for event in usable)
            for name in PROGRESS:
                setattr(parcel, name, getattr(result, name))
        # Its order came while we waited for it, and may have been folded before these scans were stored.
        due_at = now if parcel.order_id and pk not in held.orders else None
        for name, value in {"due_at": due_at, **Parcel.AFRESH}.items():
            setattr(parcel, name, value)
        if before != [getattr(parcel, name) for name in WRITTEN]:
            changed.append(parcel)
    statements.update_each(Parcel, changed, WRITTEN)
    if late := [parcel.pk for parcel in changed if parcel.due_at]:
        transaction.on_commit(partial(project, *late))
    _advance(held, words)


def _advance(held: Held, accounts: Iterable[int]) -> None:
    erased = []
    for pk, order in held.orders.items():
        parcel = held.parcels[pk]
        if parcel.account_id in accounts:
            # A scan that says nothing about where the parcel is still shows that somebody had it in hand.
            advance(order, parcel.progress, at=parcel.progress_at or parcel.last_scan_at)
            erased += [order.pk] if order.erased_at else []
    if erased:  # what came after its receiver was erased says who signed for it
        erasing.erase_scans(erased)


def _words(held: Held) -> dict[int, dict[str, str]]:
    """Return what the words of all scans mean, by account; an account that no settings name any more is left out."""
    accounts = {parcel.account_id: parcel.account for parcel in held.parcels.values()}
    named = {pk: account for pk, account in accounts.items() if settings_of(account)}
    return {pk: vocabulary.meanings(_met(held, account), contract_of(account)) for pk, account in named.items()}


def _met(held: Held, account: CarrierAccount) -> set[str]:
    theirs = [pk for pk, parcel in held.parcels.items() if parcel.account_id == account.pk]
    return {event.event_type for pk in theirs for event in held.events[pk]}


def _set_aside_what_came_long_before(held: Held) -> None:
    """Set scans from long before the booking aside: clocks that lost their date."""
    absurd = [
        event
        for pk, order in held.orders.items()
        for event in held.events[pk]
        if not event.set_aside and event.scan_time < order.created_at - PAST_ALLOWED
    ]
    for event in absurd:
        event.set_aside = LONG_BEFORE
    if absurd:
        TrackingEvent.objects.filter(pk__in=[event.pk for event in absurd]).update(set_aside=LONG_BEFORE)


def _step(event: TrackingEvent, words: dict[str, str]) -> Step:
    progress = words[vocabulary.normalise(event.event_type)]
    return Step(event.scan_time, str(event.event_id or event.fingerprint), progress, event.received_at)
