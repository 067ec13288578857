"""The carrier's words for scans, and what they mean here. Unknown words are stored, shown and survived."""

import datetime as dt
from collections.abc import Iterable

from django.db.models import QuerySet

from orders import gateway
from tracking.models import EventWord, Parcel, TrackingEvent


def fold_word(word: str) -> str:
    """How words are compared: the carrier writes both "Dropped off" and "Dropped Off"."""
    return " ".join(word.split()).casefold()[:100]


def meanings(words: Iterable[str]) -> dict[str, str]:
    """Folded word → progress; "" says nothing about where the parcel is. The operator's map wins over the contract."""
    folded = {fold_word(word) for word in words}
    contract = gateway.contract()
    found = {word: contract.progress(word) or "" for word in folded}
    mapped = EventWord.objects.filter(word__in=folded).exclude(progress="")
    found.update(mapped.values_list("word", "progress"))
    return found


def is_known(word: str) -> bool:
    """Whether the contract names this word at all, "Info" included."""
    return gateway.contract().progress(word) is not None


def note(word: str, at: dt.datetime) -> None:
    """Count a scan whose word the contract does not name, so that an operator can say what it means."""
    if is_known(word):
        return
    # Locked, as two scans at once may bring two spellings.
    rows = EventWord.objects.select_for_update()
    row, _ = rows.get_or_create(word=fold_word(word), defaults={"first_seen_at": at})
    row.scans += 1
    if word not in row.spellings:
        row.spellings.append(word)
    row.save(update_fields=["scans", "spellings"])


def parcels_with(word: EventWord) -> QuerySet[Parcel]:
    """Every parcel that was scanned with this word, however the carrier spelled it."""
    scanned = TrackingEvent.objects.filter(event_type__in=word.spellings)
    return Parcel.objects.filter(pk__in=scanned.values("parcel"))
