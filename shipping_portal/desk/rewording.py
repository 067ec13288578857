"""Deciding what a carrier's word means; the parcels that have such a scan are folded again."""

import datetime as dt
from typing import Any

from django.db import transaction

from shipping_portal.accounts.models import Audit
from tracking.models import EventWord, Parcel, TrackingEvent
from tracking.vocabulary import fold_word


def reword(word: EventWord, *, by: Any, reason: str, now: dt.datetime) -> None:
    """Keep the decision and owe a fold to every parcel concerned. The sweep pays it within seconds."""
    with transaction.atomic():
        word.save(update_fields=["progress", "is_known"])
        means = f"“{word.word}” means {word.get_progress_display()}: {reason}"
        Audit.write("word decided", word, by=by, reason=means, at=now)
        spellings = [kind for kind in _all_types() if fold_word(kind) == word.word]
        Parcel.objects.filter(events__event_type__in=spellings).update(fold_due_at=now)


def _all_types() -> list[str]:
    """Every kind of scan met so far; the carrier spells one word in several ways."""
    return list(TrackingEvent.objects.order_by().values_list("event_type", flat=True).distinct())
