"""What the clock alone causes: small checks that the sweep makes from time to time, registered by each app."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from django.conf import settings


@dataclass(frozen=True)
class Chore:
    name: str
    every: dt.timedelta
    do: Callable[[dt.datetime], object]


_CHORES: dict[str, Chore] = {}
Do = TypeVar("Do", bound=Callable[[dt.datetime], object])


def chore(name: str, *, every: float = 0) -> Callable[[Do], Do]:
    """Register a check to be made every so many seconds, or at each round of the sweep, maybe by several processes."""

    def register(do: Do) -> Do:
        _CHORES[name] = Chore(name, dt.timedelta(seconds=every * settings.TIME_SCALE), do)
        return do

    return register


def chores() -> list[Chore]:
    """Return all chores, the most frequent first."""
    return sorted(_CHORES.values(), key=lambda chore: chore.every)
