"""Where a parcel is according to its scans, when it is polled, and how long things wait."""

import datetime as dt
import random
from itertools import permutations, product
from types import SimpleNamespace
from typing import Any

import pytest

from orders.models import Order
from orders.models.statuses import Progress
from orders.status import progress
from orders.templatetags.orders import age
from shipping_portal.accounts.address import places
from shipping_portal.carrier.messages import Party
from shipping_portal.jobs.models import backoff
from tests.snapshots.comparing import compare
from tests.snapshots.tables import lines, text_of
from tracking import pace

T = dt.datetime(2026, 11, 23, 10, tzinfo=dt.UTC)
HOUR, DAY = dt.timedelta(hours=1), dt.timedelta(days=1)
RECEIVED = 6 * HOUR


def folded(*scans: tuple[float, str]) -> str:
    """Return the progress, which is the same in any order and with any repeats."""
    steps = [progress.Step(T + hours * HOUR, f"{n}", word, T + RECEIVED) for n, (hours, word) in enumerate(scans)]
    results = {text_of(progress.project_steps([*order, *order[:1]])) for order in permutations(steps)}
    return " or ".join(sorted(results))


SCANS: tuple[tuple[tuple[float, str], ...], ...] = (
    (), ((0, ""),), ((0, "collected"),), ((0, "collected"), (1, "in_transit")), ((1, "collected"), (0,
    "in_transit")), ((0, "collected"), (1, "")), ((0, "delivered"), (1, "in_transit")),
    ((0, "delivered"), (1, "delivered")), ((0, "pickup_futile"), (1, "collected")), ((0, "collected"), (1,
    "pickup_missed")), ((24, "delivered"), (0, "collected")), ((24.001, "delivered"), (0, "collected")),
    ((25, ""), (0, "collected")), ((25, "delivered"),), ((0, "returning"), (1, "delivered")), ((0, "lost"), (5,
    "in_transit"), (6, "")), ((0, "out_for_delivery"), (2, "delivery_attempted"), (4, "held")), ((0, "expired"), (0,
    "")),
)  # fmt: skip


def test_scans_give_the_expected_progress() -> None:
    pairs = [((0, one), (0, other)) for at, one in enumerate(Progress.values) for other in Progress.values[at + 1 :]]
    compare("reads-progress", [*lines(folded, SCANS), *lines(folded, pairs, "at the very same instant")])


AGES = [
    dt.timedelta(minutes=59),
    HOUR,
    23 * HOUR,
    DAY,
    71 * HOUR,
    3 * DAY,
    45 * DAY,
    45 * DAY + HOUR,
    59 * DAY,
    60 * DAY,
]


def asked_again(word: str, kind: str) -> str:
    def of(ago: dt.timedelta) -> str:
        order = Order(
            cancelled_at=T - ago if "cancelled" in kind else None, used_after_cancel_at=T if "used" in kind else None
        )
        watches = SimpleNamespace(exists=lambda: kind == "watched")
        heard = T - ago if kind != "never scanned" else None
        parcel = SimpleNamespace(
            order=None if kind in ("watched", "nobody's") else order,
            watches=watches,
            progress=word,
            last_scan_at=heard,
            created_at=T - ago,
        )
        return str(pace.poll_interval(parcel, now=T))  # type: ignore[arg-type]

    return ", ".join(map(of, AGES))


MISSES = [None, *(dt.date(2026, 11, day) for day in (2, 19, 20, 23, 24))]


def waited(function: Any, tries: int, first: float, cap: float) -> tuple[float, float]:
    ends = []
    for end in (min, max):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(random, "uniform", lambda least, most, end=end: end(least, most))
            ends.append(function(tries, first=first, cap=cap).total_seconds())
    return ends[0], ends[1]


def missed(asked: dt.date | None, heard: dt.date | None, today: dt.date) -> int:
    booked = dt.date(2026, 11, 19)
    return progress.missed_pickups(asked, booked_on=booked, heard_on=heard, today=today, where=("AU", "VIC"))


def test_retries_and_lateness_come_at_the_expected_times(settings: Any) -> None:
    settings.TIME_SCALE = 1.0
    kinds = ("booked", "never scanned", "cancelled", "cancelled, used", "watched", "nobody's")
    days = list(
        product(
            MISSES,
            [None, dt.date(2026, 11, 20), dt.date(2026, 11, 23), dt.date(2026, 11, 24)],
            [dt.date(2026, 11, day) for day in (20, 23, 24, 25, 26)],
        )
    )
    rows = {
        f"{asked}, heard {heard}": [missed(asked, heard, today) for a, h, today in days if (a, h) == (asked, heard)]
        for asked, heard, _ in days
    }
    at = [
        dt.datetime(2026, 11, 23, hour, minute, tzinfo=dt.UTC)
        for hour, minute in ((12, 59), (13, 0), (15, 59), (16, 0))
    ]
    spots = [("AU", "VIC", "3065"), ("AU", "WA", "6000"), ("US", "OR", "97205"), ("NZ", "", "")]
    compare(
        "reads-waiting",
        [
            f"# asked again, by the age: {', '.join(map(str, AGES))}",
            *lines(asked_again, [*product(("", "delivered", "in_transit"), kinds), *product(Progress.values,
            kinds[:1])]),
            "# pickups missed on 20, 23, 24, 25 and 26 November",
            *(f"{name} -> {row}" for name, row in rows.items()),
            *lines(lambda where, moment: places.day_at(Party(country=where[0], state=where[1], postcode=where[2]),
            moment), list(product(spots, at)), "day_at"),
            *lines(lambda *how: waited(backoff, *how), list(product((0, 1, 2, 5, 20, 21, 500), (1.0, 30.0),
            (60.0, 300.0))), "backoff"),
            *lines(age, [0, 59, 60, 119, 120, 3600]),
        ],
    )  # fmt: skip
