"""What the clock alone causes: small looks that the sweep takes from time to time, registered by each app."""

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
    """Register a look to be taken every so many seconds, or at each round of the sweep. Safe in several processes."""

    def register(do: Do) -> Do:
        _CHORES[name] = Chore(name, dt.timedelta(seconds=every * settings.TIME_SCALE), do)
        return do

    return register


def chores() -> list[Chore]:
    """All of them, those that are due most often first."""
    return sorted(_CHORES.values(), key=lambda chore: chore.every)
