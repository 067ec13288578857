"""Project a parcel's scans to the progress of the parcel and its order.

See `orders/status/progress.py: project_steps`.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable
from functools import partial

from django.db import transaction
from django.utils import timezone

from orders.calling.contract import settings_of
from orders.models import CarrierAccount
from orders.status.progress import Step, project_steps
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


@transaction.atomic
def project_parcels(*parcels: int) -> None:
    """Project all scans of these parcels and store the result on parcels and orders.

    Safe to repeat.
    """
    project_held(lock_parcels(parcels))


@job("fold", queue=Parcel.objects.all(), lane="order__sender", order=80)
def project_due_parcel(parcel: Parcel) -> None:
    """Project a parcel again, because words changed meaning or a worker died before doing it."""
    project_parcels(parcel.pk)


def project_held(held: Held) -> None:
    """Project parcels that are locked, including the scans just stored."""
    _set_aside_early_scans(held)
    now, words = timezone.now(), _meanings_by_account(held)
    changed = []
    for pk, parcel in held.parcels.items():
        before = [getattr(parcel, name) for name in WRITTEN]
        # Its words can't be read by another account's contract.
        if parcel.account_id in words:
            steps = [
                _make_step(event, words[parcel.account_id])
                for event in held.events[pk]
                if not event.set_aside
            ]
            result = project_steps(steps)
            for name in PROGRESS:
                setattr(parcel, name, getattr(result, name))
        # Its order appeared while we waited for the lock, and may have been projected before these
        # scans.
        due_at = now if parcel.order_id and pk not in held.orders else None
        for name, value in {"due_at": due_at, **Parcel.AFRESH}.items():
            setattr(parcel, name, value)
        if before != [getattr(parcel, name) for name in WRITTEN]:
            changed.append(parcel)
    statements.update_each(Parcel, changed, WRITTEN)
    if late := [parcel.pk for parcel in changed if parcel.due_at]:
        transaction.on_commit(partial(project_parcels, *late))
    _advance_orders(held, words)


def _advance_orders(held: Held, accounts: Iterable[int]) -> None:
    erased = []
    for pk, order in held.orders.items():
        parcel = held.parcels[pk]
        if parcel.account_id in accounts:
            # Even a scan without progress shows that somebody has had the parcel.
            advance(order, parcel.progress, at=parcel.progress_at or parcel.last_scan_at)
            erased += [order.pk] if order.erased_at else []
    # A scan that arrives after erasure may name who signed for the parcel.
    if erased:
        erasing.erase_scans(erased)


def _meanings_by_account(held: Held) -> dict[int, dict[str, str]]:
    """Return the meanings of all scan words by account. Accounts without settings are left out."""
    spelled: dict[CarrierAccount, set[str]] = defaultdict(set)
    for pk, parcel in held.parcels.items():
        spelled[parcel.account] |= {event.event_type for event in held.events[pk]}
    contracts = {
        account: configured.contract for account in spelled if (configured := settings_of(account))
    }
    return {
        account.pk: vocabulary.meanings_of(spelled[account], contract)
        for account, contract in contracts.items()
    }


def _set_aside_early_scans(held: Held) -> None:
    """Set aside scans dated long before the booking, by clocks that lost their date."""
    absurd = [
        event
        for pk, order in held.orders.items()
        for event in held.events[pk]
        if not event.set_aside and event.scan_time < order.created_at - PAST_ALLOWED
    ]
    for event in absurd:
        event.set_aside = LONG_BEFORE
    if absurd:
        TrackingEvent.objects.filter(pk__in=[event.pk for event in absurd]).update(
            set_aside=LONG_BEFORE
        )


def _make_step(event: TrackingEvent, words: dict[str, str]) -> Step:
    progress = words[vocabulary.normalise_word(event.event_type)]
    return Step(
        event.scan_time, str(event.event_id or event.fingerprint), progress, event.received_at
    )
