"""One line of the desk's first page: what waits, how much of it, since when, and the next thing to do."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.urls import reverse


@dataclass(frozen=True)
class Queue:
    """`oldest` is None when nothing waits; `late` is a word for waiting long."""

    title: str
    count: int
    oldest: dt.datetime | None
    next_step: str
    url: str
    late: str = ""


def made(
    title: str, found: dict[str, Any], next_step: str, model: str, query: str = "", *, late: str = ""
) -> Queue:
    """A queue whose list is `model`'s, filtered by `query`; `found` has its count and its oldest row's time."""
    url = reverse(f"admin:{model}_changelist") + query
    return Queue(title, found["n"], found["oldest"], next_step, url, late)
