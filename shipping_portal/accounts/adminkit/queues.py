"""Define queues: a rule, a count, the age of the oldest row, and the next step.

Each rule is written once, as a row of a table (`Wait`). The first page counts by it and the list
filters by it, so a count always agrees with its list.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from django.contrib import admin
from django.db.models import Count, IntegerField, Min, QuerySet, Value
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from shipping_portal.accounts.adminkit.filters import Rule, choices, now_of
from shipping_portal.db.keyset import MOST_COUNTED

# NOW sends an alert as soon as there is one row
NOW, AT_ONCE = dt.timedelta(0), dt.timedelta(minutes=15)
DAY, WEEK = dt.timedelta(days=1), dt.timedelta(days=7)


@dataclass(frozen=True)
class Wait:
    """One row of a table of queues. Without a `next_step` it only filters the list.

    `since` is the column from which ages are counted; `term` is how soon a person should act.
    """

    title: str
    rule: Rule
    next_step: str = ""
    since: str = "created_at"
    term: dt.timedelta = DAY

    @property
    def within(self) -> str:
        """Return the response time in words: "within 2 h"."""
        return response_time_words(self.term)


@dataclass(frozen=True)
class Queue:
    """One line of the first page.

    `name` is permanent, for alerts and metrics; `oldest` is None if nothing waits; `urgency` is a
    word for the oldest row, or "".
    """

    name: str
    title: str
    count: int
    oldest: dt.datetime | None
    next_step: str
    url: str
    term: dt.timedelta
    urgency: str = ""

    @property
    def within(self) -> str:
        """Return the response time in words: "within 2 h"."""
        return response_time_words(self.term)


def response_time_words(term: dt.timedelta) -> str:
    """Return a response time in words, such as "now", "within 15 min" or "within a day"."""
    if term >= DAY:
        return {DAY: "within a day", WEEK: "within a week"}.get(term, f"within {term.days} days")
    if term == NOW:
        return "now"
    minutes = int(term.total_seconds() // 60)
    return f"within {minutes} min" if minutes < 60 else f"within {minutes // 60} h"


def urgency(since: dt.datetime | None, term: dt.timedelta, now: dt.datetime) -> str:
    """Return "overdue" after the response time, "late" after an eighth of it, otherwise "new"."""
    if since is None:
        return ""
    waited = now - since
    if waited >= term:
        return "overdue"
    return "late" if waited >= term / 8 else "new"


def age_words(since: dt.datetime | None, term: dt.timedelta, now: dt.datetime) -> tuple[str, str]:
    """Return a tone and words for a wait: "bad" and "3 hours, overdue".

    If the response time is in hours, late is as urgent as overdue.
    """
    tone, word = "on", "new"
    waits = urgency(since, term, now)
    if waits == "overdue":
        tone, word = "bad", waits
    elif waits == "late":
        tone, word = (
            ("bad", "act now") if term < DAY else ("warn", "today" if term == DAY else "this week")
        )
    age = timesince(since, now, depth=2).replace(",", "") if since else ""
    return tone, ", ".join(filter(None, (age, word)))


def age_column(wait: Wait, now: dt.datetime) -> Callable[[Any], SafeString | str]:
    """Return a list column that shows how long each row has waited, worded as on the first page."""
    path = wait.since.split("__")

    @admin.display(description="waits", ordering=wait.since)
    def waits(row: Any) -> SafeString | str:
        since = reduce(lambda thing, name: getattr(thing, name, None), path, row)
        return (
            format_html('<span class="badge {}">{}</span>', *age_words(since, wait.term, now))
            if since
            else "–"
        )

    return waits


def summary(wait: Wait, rows: QuerySet[Any], count: int) -> dict[str, Any]:
    """Return the head of a queue's list: its rule in words, and the age of its oldest row."""
    oldest = rows.order_by().aggregate(at=Min(wait.since))["at"] if count else None
    tone, age = age_words(oldest, wait.term, timezone.now())
    return {"wait": wait, "count": count, "tone": tone, "age": age if oldest else ""}


def counted(
    rows: QuerySet[Any], waits: Mapping[str, Wait], now: dt.datetime, *, query: str = "?needs={}"
) -> list[Queue]:
    """Count a model's rows by several rules, in one query over the rows that match any of them.

    For a single rule, at most 1,001 rows are counted, and the oldest is one of these.
    """
    shown = {name: wait for name, wait in waits.items() if wait.next_step}
    rules = [now_of(wait.rule, now) for wait in shown.values()]
    # A single rule is the whole filter. As a condition of each aggregate it would be built three
    # times.
    only = rules if len(rules) > 1 else [None]
    sums: dict[str, Any] = {f"n{at}": Count("pk", filter=rule) for at, rule in enumerate(only)}
    for at, (wait, rule) in enumerate(zip(shown.values(), only, strict=True)):
        sums[f"oldest{at}"] = Min(wait.since, filter=rule)
    touched = rows.filter(reduce(or_, rules)).order_by()
    found = (touched if len(rules) > 1 else touched[: MOST_COUNTED + 1]).aggregate(**sums)
    return [
        queue(rows, name, wait, found[f"n{at}"], found[f"oldest{at}"], now, query.format(name))
        for at, (name, wait) in enumerate(shown.items())
    ]


class OneRule(NamedTuple):
    """A queue with one rule of a model: its rows, its name, the rule and the address of its list.

    `keys` returns the rows' keys, already limited; without it the rule finds them.
    """

    rows: QuerySet[Any]
    name: str
    wait: Wait
    query: str
    keys: Callable[[dt.datetime], QuerySet[Any, Any]] | None = None


def one_rule_queues(
    rows: QuerySet[Any], waits: Mapping[str, Wait], *, query: str = "?needs={}"
) -> list[OneRule]:
    """Return a table's queues, to be counted together with others."""
    return [OneRule(rows, name, wait, query) for name, wait in waits.items() if wait.next_step]


def counted_together(every: Sequence[OneRule], now: dt.datetime) -> list[Queue]:
    """Count queues of different models in one query, each up to 1,001 rows."""
    parts = [_waiting_times(one, at, now) for at, one in enumerate(every)]
    times: list[list[dt.datetime | None]] = [[] for _ in every]
    for at, since in parts[0].union(*parts[1:], all=True):
        times[at].append(since)
    return [
        queue(
            one.rows,
            one.name,
            one.wait,
            len(found),
            min(filter(None, found), default=None),
            now,
            one.query.format(one.name),
        )
        for one, found in zip(every, times, strict=True)
    ]


def _waiting_times(one: OneRule, at: int, now: dt.datetime) -> QuerySet[Any, Any]:
    """Return this queue's index with each row's time. SQLite can't limit one part of a union."""
    if one.keys:
        found = one.keys(now)
    else:
        matching = one.rows.filter(now_of(one.wait.rule, now))
        found = matching.order_by().values("pk")[: MOST_COUNTED + 1]
    place = Value(at, output_field=IntegerField())
    return one.rows.filter(pk__in=found).order_by().values_list(place, one.wait.since)


def queue(
    rows: QuerySet[Any],
    name: str,
    wait: Wait,
    count: int,
    oldest: dt.datetime | None,
    now: dt.datetime,
    query: str = "",
) -> Queue:
    """Return a queue whose list is the model's, filtered by `query`."""
    options = rows.model._meta
    url = reverse(f"admin:{options.app_label}_{options.model_name}_changelist") + query
    full_name = f"{options.model_name}-{name}".rstrip("-")
    waits = urgency(oldest, wait.term, now)
    return Queue(full_name, wait.title, count, oldest, wait.next_step, url, wait.term, waits)


def needs(waits: Mapping[str, Wait]) -> type[admin.SimpleListFilter]:
    """Return the list's filter with the same rules as the queues on the first page."""
    return choices(
        "queue", "needs", {name: (wait.title, wait.rule) for name, wait in waits.items()}
    )
