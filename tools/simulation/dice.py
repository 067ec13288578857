"""Draw random numbers from one seed, and record them, so that a run can be repeated and shortened."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Draw numbers from a seed, or from a script of numbers.

    Past the script's end, or if a number doesn't fit, 0 is drawn. 0 always means that nothing goes wrong, so a shorter
    script has fewer faults.
    """

    def __init__(self, seed: int, script: Sequence[int] | None = None) -> None:
        self.seed, self.script = seed, script
        self.drawn: list[int] = []
        self._random = random.Random(seed)

    def below(self, limit: int) -> int:
        if self.script is None:
            number = self._random.randrange(limit)
        else:
            place = len(self.drawn)
            number = self.script[place] if place < len(self.script) else 0
            number = number if number < limit else 0
        self.drawn.append(number)
        return number

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def happens(self, percent: float) -> bool:
        """Return whether something with this percentage chance happens."""
        return self.below(1000) >= 1000 - percent * 10
