"""Erasing personal data: each app registers what it holds of whom, and `erase` is the one door to all of it.

    deletes("order", "proof packs", Export.objects.all(), "order")
    overwrites("order", "names of watched parcels", Watch.objects.exclude(name=""), "parcel__order", name=ERASED)

    @eraser("order", "label files")
    def erase_labels(orders: Keys) -> int: ...

A kind is what a person is found by: an order, a receiver of an address book, a draft, a quote, a row of an import, a
member, a sender. Acts of operators, retention terms and `after_restore` come through here, so nothing is left to one.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from shipping_portal.jobs import retention

Keys = Collection[int]
Chosen = Mapping[str, Keys]  # by kind
Eraser = Callable[[Keys], int]
Objection = Callable[[Keys], Iterable[tuple[int, str]]]
_ERASERS: list[tuple[str, str, Eraser]] = []
_OBJECTIONS: defaultdict[str, list[Objection]] = defaultdict(list)

ERASED = "Erased"  # instead of words that a page or a rule needs
MARK = b"Erased: "
BATCH = 100


def eraser(kind: str, what: str) -> Callable[[Eraser], Eraser]:
    """Register a function that erases `what` is held of these, as often as wanted, and returns how much that was."""

    def register(erase: Eraser) -> Eraser:
        _ERASERS.append((kind, what, erase))
        return erase

    return register


def deletes(kind: str, what: str, rows: QuerySet[Any], by: str) -> None:
    """Register that `what` is held in these rows, whose column `by` holds the key, and that they are deleted."""
    eraser(kind, what)(lambda keys: retention.delete(rows.filter(**{f"{by}__in": keys})))


def overwrites(kind: str, what: str, rows: QuerySet[Any], by: str, **values: Any) -> None:
    """Register that `what` is held in some columns of these rows, which then hold `values`."""
    eraser(kind, what)(lambda keys: rows.filter(**{f"{by}__in": keys}).exclude(**values).update(**values))


def objection(kind: str) -> Callable[[Objection], Objection]:
    """Register a function that yields which of these can't be erased now: the key, and why and until when."""

    def register(object_to: Objection) -> Objection:
        _OBJECTIONS[kind].append(object_to)
        return object_to

    return register


@transaction.atomic
def erase(chosen: Chosen) -> Counter[str]:
    """Erase all that is held of these; counts by what it was. Whoever calls has asked for objections.

    The last registered goes first: what stands above still finds its own by what is below.
    """
    done: Counter[str] = Counter()
    for kind, what, do in reversed(_ERASERS):
        if keys := chosen.get(kind):
            done[what] += do(keys)
    return +done


def preview(chosen: Chosen) -> Counter[str]:
    """Return what `erase` would do, found by doing it in a transaction that is rolled back."""
    with transaction.atomic():
        done = erase(chosen)
        transaction.set_rollback(True)
    return done


def objections(chosen: Chosen) -> dict[tuple[str, int], str]:
    """Return which of these can't be erased now, and why."""
    return {(kind, key): why for kind, keys in chosen.items() for key, why in _objections(kind, keys)}


def _objections(kind: str, keys: Keys) -> Iterator[tuple[int, str]]:
    for object_to in _OBJECTIONS[kind]:
        yield from object_to(keys)


def erase_bytes(rows: QuerySet[Any], *columns: str) -> int:
    """Keep of each body its length and SHA-256 only, in its place; returns how many were overwritten."""
    count, last = 0, 0
    while batch := list(rows.filter(pk__gt=last).only("pk", *columns).order_by("pk")[:BATCH]):
        changed = [row for row in batch if sum(_erase(row, column) for column in columns)]
        rows.model._default_manager.bulk_update(changed, columns)
        count, last = count + len(changed), batch[-1].pk
    return count


def _erase(row: Any, column: str) -> bool:
    body = bytes(getattr(row, column))
    if not body or body.startswith(MARK):
        return False
    setattr(row, column, MARK + f"{len(body)} bytes, SHA-256 {hashlib.sha256(body).hexdigest()}".encode())
    return True
