"""Keep the carrier's rate limit: every call of every process reserves a start time.

Tracking calls wait in one queue, all others in another, as the contract sets a rate for each. A
queue is the time at which its next call may start. If it is too long, no slot is taken: a job
becomes due again later, and a person sees a message. Lanes share a queue: a lane that has recently
had less than its share may join a long queue, others only a shorter one. People may join either,
because nothing retries for them. A row of a file begins only while the queue is very short, so two
thousand rows don't delay a parcel made by hand, its booking or its label.
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
from shipping_portal.db.planned_statements import planned_cursor
from shipping_portal.jobs.registry import NotYet

TRACKING = {"track": 0.8, "subscribe": 0.2}
PERSON = "person"  # the lane of people waiting at a page, whatever they asked for
CALLS = {PERSON: 0.25, "label": 0.25, "book": 0.2, "quote": 0.1, "view": 0.1, "cancel": 0.1}
# The longest queue in seconds: for a lane within its share, for any other, and for a job that has
# begun.
DUE, SPARE, BEGUN = (seconds * settings.TIME_SCALE for seconds in (4.0, 2.5, 6.0))
# The longest queue in seconds at which a row of a file begins: long enough that the carrier isn't
# idle until that row's call is ready.
SHORT = 0.25 * settings.TIME_SCALE
ROWS = "rows"  # the queue of rows of files that are about to begin
SHARE_IS_OVER = 2.0  # seconds after which a lane's earlier use is forgotten
# Slots are this much further apart than the rate. So no second gets too many calls if each arrives
# at most APART - 1 = 50 milliseconds late: half of that after its slot, half on its way.
APART = 1.05
LATE = 0.025  # seconds after its slot in which a call may still start
HEAD_START = 0.05  # seconds before its slot at which a job begins: it writes before it calls
MOST_MISSED = 3


def _statement(*, had: str, had_now: str, least: str, greatest: str) -> str:
    """Return the UPDATE that takes a slot: `had` reads a lane's use, `had_now` writes it."""
    # a later time means that a clock was set back
    turn = (
        f"CASE WHEN free_at <= %(latest)s THEN {greatest}(free_at, %(soonest)s)"
        " ELSE %(soonest)s END"
    )
    more = f"{least}({greatest}({had}, %(now)s) + %(part)s, %(share_is_over)s)"
    # Only words written here go into the statement.
    return (
        f"UPDATE orders_carrierline SET free_at = {turn} + %(gap)s, had = {had_now.format(more)} "  # noqa: S608
        f"WHERE account_id = %(account)s AND name = %(line)s AND {turn} - %(now)s <= "
        f"CASE WHEN {had} > %(now)s THEN %(patience_above_share)s ELSE %(patience)s END"
        " RETURNING free_at"
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
    """One client's slots: calling it sleeps until the next call may start."""

    account: CarrierAccount
    is_person: bool = False
    is_spare: bool = False  # nobody waits for this job
    _ahead: dict[str, float] = field(default_factory=dict)  # slots reserved ahead, by queue

    def ahead(self, operation: str) -> None:
        """Reserve the slot of a job's first call, before anything is stored. Raises NotYet.

        Returns a little before the slot, so that the job can store something first. A spare job
        takes a slot only if nobody waits for one.
        """
        head_start = min(HEAD_START, _slot_gap(self.account, operation) / 4)
        patience = 2 * head_start if self.is_spare else DUE
        turn = take_turn(
            self.account,
            operation,
            shares=not self.is_spare,
            patience=patience,
            head_start=head_start,
        )
        time.sleep(max(turn - HEAD_START - _now(), 0.0))
        self._ahead[_queue_of(operation)] = turn

    def __call__(self, operation: str, not_after: float | None = None) -> None:
        """Sleep until the call may start. Raises Crowded if that is too late, or past `not_after`.

        `not_after` is monotonic.
        """
        latest = time.monotonic() + BEGUN
        latest = latest if not_after is None else min(latest, not_after)
        turn = self._ahead.pop(_queue_of(operation), None)
        for _ in range(MOST_MISSED):
            if turn is None:
                turn = self._take(operation, latest - time.monotonic())
            time.sleep(max(turn - _now(), 0.0))
            if _now() <= turn + LATE:
                return
            # Too late: the queue has moved on, and the call would be one too many in another
            # second.
            turn = None

    def _take(self, operation: str, patience: float) -> float:
        try:
            return take_turn(
                self.account, operation, person=self.is_person, shares=False, patience=patience
            )
        except NotYet as error:
            raise Crowded(retry_after=max(error.at.timestamp() - _now(), 1.0)) from error


def wait_for_short_queue(account: CarrierAccount) -> None:
    """Sleep until few calls wait at the account, when a row of a file may begin. Raises NotYet.

    The rows begin one by one, because each one's call joins the queue only a moment later. They may
    begin twice as often as the rate allows, so that a late one costs no slot. A waiting row keeps
    its worker's thread, which limits how many can begin.
    """
    gap = _slot_gap(account, "book")
    turn = _reserve(account, ROWS, ROWS, gap=gap / 2, patience=DUE, above_share=DUE)
    latest = turn + BEGUN
    calls = CarrierLine.objects.filter(account=account, name="calls").values_list("free_at")
    while turn <= latest:
        time.sleep(max(turn - _now(), 0.0))
        now, (free_at,) = _now(), calls.first() or (0.0,)
        turn = free_at - max(SHORT, 2 * gap)
        # later than any queue can end: a clock was set back
        if turn <= now or free_at > now + BEGUN + 2 * gap:
            return
    raise NotYet(dt.datetime.fromtimestamp(latest, dt.UTC))


def take_turn(
    account: CarrierAccount,
    operation: str,
    *,
    patience: float,
    shares: bool,
    person: bool = False,
    head_start: float = 0.0,
) -> float:
    """Reserve the operation's next slot and return it in seconds since 1970.

    It is at least `head_start` seconds away.

    Raises NotYet for a queue longer than `patience` seconds; with `shares`, longer than SPARE for a
    lane above its share.
    """
    return _reserve(
        account,
        _queue_of(operation),
        PERSON if person else operation,
        gap=_slot_gap(account, operation),
        patience=patience,
        above_share=SPARE if shares else patience,
        head_start=head_start,
    )


def _reserve(
    account: CarrierAccount,
    queue: str,
    lane: str,
    *,
    gap: float,
    patience: float,
    above_share: float,
    head_start: float = 0.0,
) -> float:
    """Return the queue's next slot. Raises NotYet if it is too far away.

    `above_share` is the patience of a lane above its share. It is a single statement, so nobody
    holds the queue during a call.
    """
    now = _now()
    values = {
        "account": account.pk,
        "line": queue,
        "lane": lane,
        "now": now,
        "soonest": now + head_start,
        "gap": gap,
        "part": gap / (TRACKING | CALLS).get(lane, 1.0),
        "share_is_over": now + SHARE_IS_OVER,
        "patience": patience,
        "patience_above_share": above_share,
        "latest": now + BEGUN + 2 * gap,
    }
    for is_last in (False, False, True):
        with planned_cursor(connection) as cursor:
            cursor.execute(TAKE[connection.vendor], values)
            taken = cursor.fetchone()
        if taken:
            return float(taken[0]) - gap
        line, _ = CarrierLine.objects.get_or_create(account=account, name=queue)
        turn = line.free_at if now <= line.free_at <= values["latest"] else now + head_start
        is_too_long = turn - now > (above_share if line.had.get(lane, 0.0) > now else patience)
        # Otherwise the queue was created, or became shorter, between the two statements.
        if is_too_long or is_last:
            break
    raise NotYet(dt.datetime.fromtimestamp(turn, dt.UTC))


def _queue_of(operation: str) -> str:
    return "tracking" if operation in TRACKING else "calls"


def _slot_gap(account: CarrierAccount, operation: str) -> float:
    """Return the number of seconds between the operation's slots."""
    contract = contract_of(account)
    is_tracking = operation in TRACKING
    return APART / (contract.tracking_per_second if is_tracking else contract.requests_per_second)


def _now() -> float:
    return timezone.now().timestamp()
