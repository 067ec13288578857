"""Erase personal data: `erase` is the only entry point for all data about somebody.

What it does is defined by rows of the table in personal_data.py or, where more than one statement
is needed, by functions:

    @eraser("order", "label files")
    def erase_labels(orders: Keys) -> int: ...

A kind is something by which a person is found: an order, an address book's receiver, a draft, a
quote, a row of an import, a member, a sender. Operators' actions, retention terms and
`after_restore` all call `erase`, so none can forget a part.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from django.apps import apps
from django.db import transaction
from django.db.models import QuerySet

from shipping_portal.jobs import retention
from shipping_portal.jobs.personal_data import ERASED, HELD, ErasingRule

Keys = Collection[int]
Chosen = Mapping[str, Keys]  # by kind
Eraser = Callable[[Keys], int]
Reasons = Iterator[tuple[int, str]]  # keys that can't be erased now, each with the reason
Objection = Callable[[Keys], Reasons]
_ERASERS: list[tuple[str, str, Eraser]] = []
_OBJECTIONS: defaultdict[str, list[Objection]] = defaultdict(list)

MARK = b"Erased: "
BATCH = 100


def eraser(kind: str, what: str) -> Callable[[Eraser], Eraser]:
    """Register a repeatable function that erases the `what` of these keys and returns a count."""

    def register(erase: Eraser) -> Eraser:
        _ERASERS.append((kind, what, erase))
        return erase

    return register


def _erase_by(rule: ErasingRule, model: str, keys: Keys) -> int:
    """Erase the rows of one rule of the table; returns how many."""
    rows = apps.get_model(model)._default_manager.filter(**{f"{rule.by}__in": keys})
    if rule.unless_empty:
        rows = rows.exclude(**{rule.unless_empty: ""})
    if rule.without_order:
        rows = rows.filter(order=None)
    if not rule.overwrites:
        return retention.delete(rows.distinct(), at_once=rule.at_once)
    values = dict.fromkeys(rule.overwrites, ERASED)
    return rows.exclude(**values).update(**values)


def objection(kind: str) -> Callable[[Objection], Objection]:
    """Register a function that yields keys that can't be erased now, with why and until when."""

    def register(object_to: Objection) -> Objection:
        _OBJECTIONS[kind].append(object_to)
        return object_to

    return register


@transaction.atomic
def erase(chosen: Chosen) -> Counter[str]:
    """Erase all data for these keys; return counts by type. The caller has checked for objections.

    The table's rules run first, then the functions in reverse order of registration: higher apps'
    functions find their rows by data that lower apps' functions erase.
    """
    done: Counter[str] = Counter()
    for held in HELD:
        for rule in held.rules:
            if keys := chosen.get(rule.kind):
                done[rule.what] += _erase_by(rule, held.model, keys)
    for kind, what, do in reversed(_ERASERS):
        if keys := chosen.get(kind):
            done[what] += do(keys)
    return +done


@transaction.atomic
def preview(chosen: Chosen) -> Counter[str]:
    """Return what `erase` would do, by running it in a transaction that is rolled back."""
    done = erase(chosen)
    transaction.set_rollback(True)
    return done


def objections(chosen: Chosen) -> dict[tuple[str, int], str]:
    """Return which of these keys can't be erased now, and why."""
    return {
        (kind, key): why for kind, keys in chosen.items() for key, why in _objections(kind, keys)
    }


def _objections(kind: str, keys: Keys) -> Reasons:
    for object_to in _OBJECTIONS[kind]:
        yield from object_to(keys)


def erase_bytes(rows: QuerySet[Any], *columns: str) -> int:
    """Replace each body with its length and SHA-256; return how many were overwritten."""
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
    setattr(
        row,
        column,
        MARK + f"{len(body)} bytes, SHA-256 {hashlib.sha256(body).hexdigest()}".encode(),
    )
    return True
