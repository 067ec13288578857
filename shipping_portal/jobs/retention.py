"""Retention: each app registers how long it keeps a kind of row, and the sweep deletes what is older."""

import datetime as dt
from collections import Counter
from collections.abc import Callable

from django.db.models import QuerySet

from shipping_portal.jobs.registry import chore

BATCH = 500
Purge = Callable[[dt.datetime], int]
_TERMS: dict[str, Purge] = {}


def term(name: str) -> Callable[[Purge], Purge]:
    """Register a function that deletes what is past its term by a given time and returns how many rows that was."""

    def register(purge: Purge) -> Purge:
        _TERMS[name] = purge
        return purge

    return register


@chore("retention", every=3600)
def purge(now: dt.datetime) -> Counter[str]:
    """Delete everything past its term, in small transactions. Safe to stop and repeat at any point."""
    return Counter({name: over(now) for name, over in _TERMS.items()})


def delete(rows: QuerySet, at_once: int = BATCH) -> int:
    """Delete these rows a few at a time, so that nobody waits long for a lock; returns how many."""
    deleted = 0
    while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:at_once]):
        rows.model._default_manager.filter(pk__in=ids).delete()
        deleted += len(ids)
    return deleted
