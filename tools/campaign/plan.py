"""What goes wrong, and when: drawn from a seed before anything starts, then printed and hashed.

A strike is due when a certain number of bookings have been accepted, so the same seed strikes at the same points of the
work on a fast machine and on a slow one.
"""

import hashlib
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tools.campaign.carriers import INTERFACE, Kind

# Strikes at 3,000 orders: (kind, target, how many, leases). Smaller runs get their share, at least one of each. Those
# at a carrier's operations are in tools/campaign/carriers.py.
STRIKES = (
    ("kill in call", "worker-a", 34, 0.0),
    ("kill in call", "worker-b", 14, 0.0),
    ("kill", "worker-a", 14, 0.0),
    ("kill", "worker-b", 8, 0.0),
    ("kill child", "worker-b", 6, 0.0),
    ("kill", "web", 8, 0.0),
    ("kill child", "web", 10, 0.0),
    ("kill", "sweeper", 12, 0.0),
    ("kill web in publish", "web", 4, 0.0),
    ("stop in call", "worker-a", 6, 2.2),
    ("stop in cancel", "worker-a", 4, 2.0),
    ("stop", "web", 4, 0.3),
    ("stop", "sweeper", 4, 1.0),
    ("restart at once", "postgres", 7, 0.0),
    ("stop", "postgres", 4, 0.4),
    ("kill", "valkey", 6, 0.0),
    ("flush", "valkey", 8, 0.0),
    ("stop", "valkey", 5, 0.6),
)
FULL_SIZE = 3000
# A campaign of fewer orders has only these kinds of strikes, so that it takes a minute.
FEW, FIRST_KINDS = 30, {"kill in call", "trouble"}


@dataclass(frozen=True)
class Strike:
    """A fault of this `kind` at `target`, once `after` bookings are accepted. `leases` is how long, in leases."""

    after: int
    kind: str
    target: str
    leases: float

    def __str__(self) -> str:
        return f"{self.after:>5}  {self.kind} {self.target}" + (f" for {self.leases:g} leases" if self.leases else "")


@dataclass(frozen=True)
class Plan:
    """Everything that goes wrong in one campaign."""

    seed: int
    orders: int
    strikes: tuple[Strike, ...]
    carriers: tuple[Kind, ...] = (INTERFACE,)

    @property
    def digest(self) -> str:
        """Return twelve letters that name this plan: equal for equal seeds and sizes."""
        text = "\n".join([f"{self.seed} {self.orders} {self.background}", *map(str, self.strikes)])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def background(self) -> str:
        """Return the carriers' own shares of faults."""
        return " and ".join(kind.background() for kind in self.carriers)


def draw(seed: int, orders: int, carriers: tuple[Kind, ...] = (INTERFACE,)) -> Plan:
    """Return a seed's plan for this number of orders at these carriers."""
    rng = random.Random(seed)
    rows = [*STRIKES, *dict.fromkeys(row for kind in carriers for row in kind.strikes)]
    rows = [row for row in rows if orders >= FEW or row[0] in FIRST_KINDS]
    return Plan(seed, orders, tuple(sorted(_strikes(rng, orders, rows), key=lambda strike: strike.after)), carriers)


def _strikes(rng: random.Random, orders: int, rows: Iterable[tuple[str, str, int, float]]) -> Iterator[Strike]:
    """Spread strikes over the middle nine tenths, so that each finds work in progress."""
    for kind, target, many, leases in rows:
        for _ in range(max(1, round(many * orders / FULL_SIZE))):
            yield Strike(round(orders * rng.uniform(0.03, 0.93)), kind, target, leases)
