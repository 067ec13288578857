"""Decide what a carrier's word means, and project the parcels scanned with it again."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from orders.models.statuses import Progress
from shipping_portal.accounts.models import Audit
from tracking.models import EventWord, Parcel
from tracking.scanning import projecting, scans
from tracking.scanning.vocabulary import parcels_with


@dataclass(frozen=True)
class Move:
    """A parcel whose progress changes, described for the operator."""

    parcel: Parcel  # as stored; without a key if it isn't stored yet
    before: str
    after: str


def compare_progress(as_they_would_be: Iterable[Parcel]) -> list[Move]:
    """Compare parcels as read inside the transaction with what is stored after it ends."""
    changed = {parcel.pk: parcel for parcel in as_they_would_be}
    stored = Parcel.objects.in_bulk(list(changed))
    return [
        Move(
            stored.get(pk) or Parcel(reference=parcel.reference),
            _label_of(stored.get(pk)),
            _label_of(parcel),
        )
        for pk, parcel in changed.items()
        if _progress_of(stored.get(pk)) != parcel.progress
    ]


def _progress_of(parcel: Parcel | None) -> str:
    return parcel.progress if parcel else ""


def _label_of(parcel: Parcel | None) -> str:
    return str(Progress(_progress_of(parcel)).label)


MOST_TRIED = 200
BATCH = 500
PROJECTIONS_A_SECOND = 5  # so that new scans don't wait behind a decision
NOTHING = "nothing about where the parcel is"


@dataclass(frozen=True)
class Effect:
    """How many parcels have such a scan, and how the newest of them would change."""

    parcels: int
    tried: int
    moves: list[Move]


def preview_effect(word: EventWord, progress: str) -> Effect:
    """Return what this meaning would change. The newest parcels are tried and rolled back."""
    concerned = parcels_with(word)
    tried = list(concerned.order_by("-pk").values_list("pk", flat=True)[:MOST_TRIED])
    with transaction.atomic():
        held = scans.lock_parcels(tried)  # before locking the word, as readers of scans do
        EventWord.objects.filter(pk=word.pk).update(progress=progress)
        projecting.project_held(held)
        as_they_would_be = list(Parcel.objects.filter(pk__in=tried).order_by("-pk"))
        transaction.set_rollback(True)
    return Effect(concerned.count(), len(tried), compare_progress(as_they_would_be))


@transaction.atomic
def decide_word(word: EventWord, progress: str, *, by: Any, reason: str, now: dt.datetime) -> int:
    """Save the decision and schedule a projection of every affected parcel; return how many.

    The newest come first.

    Making the same decision again re-applies it to stored scans, for a contract file that has
    changed.
    """
    due = _schedule_projections(parcels_with(word), now)
    EventWord.objects.filter(pk=word.pk).update(progress=progress, is_known=True)
    means = (
        f"“{word.word}” means {Progress(progress).label if progress else NOTHING}, {due} parcels"
    )
    Audit.write("word decided", word, by=by, reason=f"{means}: {reason}", at=now)
    return due


def _schedule_projections(parcels: QuerySet[Parcel], now: dt.datetime) -> int:
    """Schedule projections in batches, each due after the last. An earlier due time stays."""
    keys = list(parcels.order_by("-pk").values_list("pk", flat=True))
    for start in range(0, len(keys), BATCH):
        due_at = now + dt.timedelta(seconds=start / PROJECTIONS_A_SECOND)
        later = Q(due_at=None) | Q(due_at__gt=due_at)
        Parcel.objects.filter(later, pk__in=keys[start : start + BATCH]).update(due_at=due_at)
    return len(keys)
