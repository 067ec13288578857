"""The table at the end: what was done, what went wrong on purpose, and whether every promise held."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from orders.models import BookingAttempt
from tools.campaign.plan import Plan

WORKERS = ("worker-a", "worker-b", "sweeper")
ORPHANED = "the worker stopped before"


@dataclass
class Report:
    """Everything a reader needs to believe the result, or to repeat it."""

    plan: Plan
    replays: bool
    faults: dict[str, list[str]] = field(default_factory=dict)
    figures: list[tuple[str, str]] = field(default_factory=list)
    void: list[str] = field(default_factory=list)

    @property
    def is_green(self) -> bool:
        return not self.void and not any(self.faults.values())

    def note(self, name: str, value: object) -> None:
        self.figures.append((name, str(value)))

    def lines(self) -> Iterable[str]:
        keys = "the carrier keeps keys" if self.replays else "the carrier keeps no keys"
        names = " and ".join(kind.name for kind in self.plan.carriers if not kind.is_interface)
        yield f"Plan {self.plan.digest}: seed {self.plan.seed}, {self.plan.orders} orders, {names or keys}"
        yield from (f"  {name:<52} {value}" for name, value in self.figures)
        for name, broken in self.faults.items():
            yield f"  {name:<62} {'holds' if not broken else f'BROKEN ({len(broken)})'}"
            yield from (f"      {what}" for what in broken[:5])
        yield from (f"  VOID: {why}" for why in self.void)
        yield "GREEN" if self.is_green else "RED"


def phases(kills: Iterable[tuple[float, str]], booked_keys: set[str]) -> Counter[str]:
    """Return where each killed worker or sweeper was, by the attempts that it left without an owner."""
    orphans = list(BookingAttempt.objects.filter(error__startswith=ORPHANED).select_related("order"))
    found: Counter[str] = Counter()
    for at, name in kills:
        if not name.startswith(WORKERS):
            found[f"kills of {name}"] += 1
            continue
        mine = [orphan for orphan in orphans if orphan.sent_at.timestamp() <= at <= orphan.lease_until.timestamp()]
        if any(orphan.order.order_key() in booked_keys for orphan in mine):
            found["kills between the first byte and the result"] += 1
        elif mine:
            found["kills after the attempt was stored, nothing booked yet"] += 1
        else:
            found["kills with no booking in progress"] += 1
    return found
