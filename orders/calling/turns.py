"""The carrier's rate limit: every call of every process reserves a moment to start at.

Tracking calls stand in one line, all others in another, as the contract gives each its rate. A line is the time at
which its next call may start. Who finds it too long takes no turn: a job is due again then, a person is told. Lanes
share a line: one that had less than its share lately may join a long line, any other a shorter one only. So two
thousand rows of an import hold up neither a label nor a booking. People join either, as nothing retries for them.
"""

import datetime as dt
import time
from dataclasses import dataclass, field

from django.conf import settings
from django.db import connection
from django.utils import timezone

from orders.calling.contract import contract_of
from orders.models.account import CarrierAccount, CarrierLine
from shipping_portal.carrier.errors import Crowded
from shipping_portal.jobs.registry import NotYet

TRACKING = {"track": 0.8, "subscribe": 0.2}
PERSON = "person"  # the lane of whoever waits at a page, whatever is asked
CALLS = {PERSON: 0.25, "label": 0.25, "book": 0.2, "quote": 0.1, "view": 0.1, "cancel": 0.1}
# Seconds of line: what a lane within its share may join, what any other may, and what is left to who has begun.
OWED, SPARE, BEGUN = (seconds * settings.TIME_SCALE for seconds in (4.0, 2.5, 6.0))
SHARE_IS_OVER = 2.0  # seconds after which nobody minds what a lane had
LATE = 0.075  # seconds after its turn in which a call may still start
# So much further apart than the rate says are turns, that calls which start a little late crowd no second.
APART = 1.15
MOST_MISSED = 3


def _statement(*, had: str, had_now: str, least: str, greatest: str) -> str:
    """Return the UPDATE that takes a turn: `had` reads what a lane had, `had_now` writes it."""
    turn = "CASE WHEN free_at BETWEEN %(now)s AND %(latest)s THEN free_at ELSE %(now)s END"  # later: a clock set back
    more = f"{least}({greatest}({had}, %(now)s) + %(part)s, %(share_is_over)s)"
    return (  # of words written here
        f"UPDATE orders_carrierline SET free_at = {turn} + %(gap)s, had = {had_now.format(more)} "  # noqa: S608
        f"WHERE account_id = %(account)s AND name = %(line)s AND {turn} - %(now)s <= "
        f"CASE WHEN {had} > %(now)s THEN %(patience_beyond_its_share)s ELSE %(patience)s END RETURNING free_at"
    )


TAKE = {
    "postgresql": _statement(
        had="COALESCE((had ->> %(lane)s)::float8, 0)",
        had_now="jsonb_set(had, ARRAY[%(lane)s], to_jsonb({}))",
        least="LEAST",
        greatest="GREATEST",
    ),
    "sqlite": _statement(
        had="COALESCE(json_extract(had, '$.' || %(lane)s), 0)",
        had_now="json_set(had, '$.' || %(lane)s, {})",
        least="min",
        greatest="max",
    ),
}


@dataclass
class Turns:
    """The turns of one client: calling it sleeps until the next call may start."""

    account: CarrierAccount
    is_person: bool = False
    _ahead: dict[str, float] = field(default_factory=dict)  # turns taken ahead, by line

    def ahead(self, operation: str) -> None:
        """Wait for the turn of a job's first call, before anything is written down. Raises NotYet."""
        turn = take(self.account, operation, shares=True, patience=OWED)
        time.sleep(max(turn - _now(), 0.0))
        self._ahead[_line(operation)] = turn

    def __call__(self, operation: str, not_after: float | None = None) -> None:
        """Sleep until the call may start. Raises Crowded when that is not soon, or past `not_after` (monotonic)."""
        latest = time.monotonic() + BEGUN
        latest = latest if not_after is None else min(latest, not_after)
        turn = self._ahead.pop(_line(operation), None)
        for _ in range(MOST_MISSED):
            if turn is None:
                turn = self._take(operation, latest - time.monotonic())
            time.sleep(max(turn - _now(), 0.0))
            if _now() <= turn + LATE:
                return
            turn = None  # missed: the line has gone on, and the call would crowd another's second

    def _take(self, operation: str, patience: float) -> float:
        try:
            return take(self.account, operation, person=self.is_person, shares=False, patience=patience)
        except NotYet as error:
            raise Crowded(retry_after=max(error.at.timestamp() - _now(), 1.0)) from error


def take(account: CarrierAccount, operation: str, *, patience: float, shares: bool, person: bool = False) -> float:
    """Take the next turn of the operation's line: seconds since 1970. Raises NotYet for a line that is too long.

    Too long is longer than `patience` seconds; with `shares`, than SPARE for a lane that had more than its share.
    It is one statement of its own, so nobody holds the line while a call is under way.
    """
    lane, now, gap = PERSON if person else operation, _now(), APART / _rate(account, operation)
    values = {
        "account": account.pk, "line": _line(operation), "lane": lane, "now": now, "gap": gap,
        "part": gap / (TRACKING | CALLS).get(lane, 1.0), "share_is_over": now + SHARE_IS_OVER, "patience": patience,
        "patience_beyond_its_share": SPARE if shares else patience, "latest": now + BEGUN + 2 * gap,
    }  # fmt: skip
    for is_last in (False, False, True):
        with connection.cursor() as cursor:
            cursor.execute(TAKE[connection.vendor], values)
            taken = cursor.fetchone()
        if taken:
            return float(taken[0]) - gap
        line, _ = CarrierLine.objects.get_or_create(account=account, name=_line(operation))
        turn = line.free_at if now <= line.free_at <= values["latest"] else now
        is_too_long = turn - now > (SPARE if shares and line.had.get(lane, 0.0) > now else patience)
        if is_too_long or is_last:  # else it was made, or became shorter, between the two statements
            break
    raise NotYet(dt.datetime.fromtimestamp(turn, dt.UTC))


def _line(operation: str) -> str:
    return "tracking" if operation in TRACKING else "calls"


def _rate(account: CarrierAccount, operation: str) -> float:
    contract = contract_of(account)
    return contract.tracking_per_second if operation in TRACKING else contract.requests_per_second


def _now() -> float:
    return timezone.now().timestamp()
