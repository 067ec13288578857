"""What goes wrong, and when: drawn from a seed before anything starts, printed, and hashed.

A strike falls due when so many bookings have been accepted, so the same seed strikes at the same places of the
work on a fast machine and on a slow one.
"""

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass

# Shares of all requests that the carrier answers badly, for ever. Drawn by order key and ordinal.
BACKGROUND = {
    "book": {
        "commit-close": 0.03, "commit-rst": 0.02, "accept-close": 0.02, "truncate": 0.01, "partial-headers": 0.01,
        "garbage": 0.01, "html200": 0.01, "empty201": 0.01, "no-ref": 0.01, "500": 0.01, "502": 0.01, "503": 0.02,
        "429": 0.02, "409": 0.01, "202": 0.01, "replay-other": 0.004, "return-cancelled": 0.004,
    },
    "cancel": {"commit-close": 0.05, "accept-close": 0.05, "500": 0.03},
    "label": {"accept-close": 0.02, "500": 0.02},
    "file": {"html": 0.02, "truncated": 0.02},
    "track": {"500": 0.05, "truncate": 0.02},
    "webhook": {
        "dup": 0.08, "reorder": 0.08, "delay": 0.05, "drop": 0.05, "mutate": 0.01, "storm": 0.003,
        "before-response": 0.05, "after-cancel": 0.1,
    },
}  # fmt: skip

# Strikes at 3,000 orders: (kind, target, how many, seconds). Smaller runs get their share, at least one of each.
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
    ("trouble", "book:commit-hang", 10, 0.0),
    ("trouble", "book:sleep-commit", 6, 0.0),
    ("trouble", "book:drip-body", 4, 0.0),
    ("trouble", "book:307", 4, 0.0),
    ("trouble", "book:504", 4, 0.0),
    ("trouble", "cancel:commit-close", 6, 0.0),
    ("trouble", "label:redirect-elsewhere", 4, 0.0),
)
FULL_SIZE = 3000


@dataclass(frozen=True)
class Strike:
    """Once `after` bookings were accepted: `kind` befalls `target`; `leases` is how long, in leases of the portal."""

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

    @property
    def digest(self) -> str:
        """Twelve letters that name this plan: equal for equal seeds and sizes."""
        text = "\n".join([f"{self.seed} {self.orders} {background()}", *map(str, self.strikes)])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def draw(seed: int, orders: int) -> Plan:
    """The plan of a seed for so many orders."""
    rng = random.Random(seed)
    return Plan(seed, orders, tuple(sorted(_strikes(rng, orders), key=lambda strike: strike.after)))


def _strikes(rng: random.Random, orders: int) -> Iterator[Strike]:
    """Spread over the middle nine tenths, so that each finds work under way."""
    for kind, target, many, leases in STRIKES:
        for _ in range(max(1, round(many * orders / FULL_SIZE))):
            yield Strike(round(orders * rng.uniform(0.03, 0.93)), kind, target, leases)


def background() -> str:
    """The carrier's own share of trouble, as the sandbox takes it."""
    return ",".join(
        f"{operation}:{verb}={share}" for operation, verbs in BACKGROUND.items() for verb, share in verbs.items()
    )
