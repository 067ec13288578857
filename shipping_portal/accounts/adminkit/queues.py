"""Queues: what waits for a person is a rule, a count, the age of its oldest row and the next thing to do.

A rule is written once, as a row of a table (`Wait`): the first page counts by it and the list filters by it, so a
count and its list always agree.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from django.contrib import admin
from django.db.models import Count, Min, QuerySet
from django.urls import reverse

from shipping_portal.accounts.adminkit.filters import Rule, choices, now_of


@dataclass(frozen=True)
class Wait:
    """One row of a table of queues. Without a `next_step` it is a filter of the list only.

    `since` is the column from which its age counts.
    """

    title: str
    rule: Rule
    next_step: str = ""
    since: str = "created_at"


@dataclass(frozen=True)
class Queue:
    """One line of the first page. `oldest` is None when nothing waits; `late` is a word for waiting long."""

    title: str
    count: int
    oldest: dt.datetime | None
    next_step: str
    url: str
    late: str = ""


def counted(
    rows: QuerySet[Any],
    waits: Mapping[str, Wait],
    now: dt.datetime,
    *,
    query: str = "?needs={}",
    late: Callable[[str, dt.datetime | None], str] = lambda name, oldest: "",
) -> list[Queue]:
    """Count the rows of one model by several rules, in one query over what any of them can touch."""
    shown = {name: wait for name, wait in waits.items() if wait.next_step}
    rules = [now_of(wait.rule, now) for wait in shown.values()]
    # A single rule is the whole filter: as a condition of each sum it would be built and looked up three times.
    only = rules if len(rules) > 1 else [None]
    sums: dict[str, Any] = {f"n{at}": Count("pk", filter=rule) for at, rule in enumerate(only)}
    for at, (wait, rule) in enumerate(zip(shown.values(), only, strict=True)):
        sums[f"oldest{at}"] = Min(wait.since, filter=rule)
    found = rows.filter(reduce(or_, rules)).aggregate(**sums)
    return [
        queue(rows, wait, found[f"n{at}"], oldest := found[f"oldest{at}"], query.format(name), late(name, oldest))
        for at, (name, wait) in enumerate(shown.items())
    ]


def queue(
    rows: QuerySet[Any], wait: Wait, count: int, oldest: dt.datetime | None, query: str = "", late: str = ""
) -> Queue:
    """Return a queue whose list is that of the rows' model, filtered by `query`."""
    options = rows.model._meta
    url = reverse(f"admin:{options.app_label}_{options.model_name}_changelist") + query
    return Queue(wait.title, count, oldest, wait.next_step, url, late)


def needs(waits: Mapping[str, Wait]) -> type[admin.SimpleListFilter]:
    """Return the list's filter by the same rules as the queues on the first page."""
    return choices("needs", "needs", {name: (wait.title, wait.rule) for name, wait in waits.items()})
