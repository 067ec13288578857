"""Delete rows past their retention periods, which each app registers, as part of the sweep."""

import datetime as dt
from collections import Counter
from collections.abc import Callable

from django.db import transaction
from django.db.models import QuerySet

from shipping_portal.jobs.registry import chore

BATCH = 500
Purge = Callable[[dt.datetime], int]
_TERMS: dict[str, Purge] = {}


def term(name: str) -> Callable[[Purge], Purge]:
    """Register a function that deletes rows past their period and returns how many."""

    def register(purge: Purge) -> Purge:
        _TERMS[name] = purge
        return purge

    return register


@chore("retention", every=3600)
def purge(now: dt.datetime) -> Counter[str]:
    """Delete everything past its period in small transactions. This is safe to stop and repeat."""
    return Counter({name: over(now) for name, over in _TERMS.items()})


def delete(rows: QuerySet, at_once: int = BATCH) -> int:
    """Delete these rows in batches, so that nobody waits long for a lock. Return how many."""
    deleted = 0
    while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:at_once]):
        with transaction.atomic():
            some = rows.model._default_manager.filter(pk__in=ids)
            list(some.select_for_update().values_list("pk"))
            # Somebody may have changed one before it was locked.
            still = list(rows.filter(pk__in=ids).values_list("pk", flat=True))
            some.filter(pk__in=still).delete()
        deleted += len(still)
    return deleted
