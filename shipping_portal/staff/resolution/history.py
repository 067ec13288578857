"""What happened to an order, in one list: written down, sent, broke, sent again, changed, decided."""

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from orders.models import BookingAttempt, CarrierCall, Order
from orders.models.statuses import Status
from shipping_portal.accounts.models import Audit
from shipping_portal.accounts.models.audit import subject_of

MOST_ROWS = 100  # of each kind, the newest
OUTCOMES = {
    "ok": "The carrier answered",
    "incomplete": "The carrier answered; not all pages were read",
    "rejected": "The carrier refused it",
    "unknown": "No answer we can trust",
    "not sent": "It never left",
    "account stopped": "The carrier refused the account",
}


@dataclass(frozen=True)
class Step:
    """One line of the story."""

    at: dt.datetime
    words: str
    detail: str = ""


def steps(order: Order, attempts: list[BookingAttempt]) -> list[Step]:
    """From the first to the last. Calls to the carrier are there for as long as their log is kept."""
    found = [*_changes(order), *_attempts(attempts), *_calls(order, attempts), *_audit(order)]
    return sorted(found, key=lambda step: step.at)


def span(duration: dt.timedelta) -> str:
    """How long, as one reads it: `0.8 s`, `12 min`, `3 h`, `2 d`."""
    seconds = max(duration.total_seconds(), 0)
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} d"


def _changes(order: Order) -> Iterator[Step]:
    for change in order.changes.select_related("by"):
        words = f"{Status(change.old).label} → {Status(change.new).label}"
        yield Step(change.at, words, _signed(change.reason, change.by))


def _attempts(attempts: list[BookingAttempt]) -> Iterator[Step]:
    for attempt in attempts:
        what = f"key {attempt.key}, {len(attempt.body)} bytes, sha256 {attempt.body_sha256[:12]}…"
        yield Step(attempt.sent_at, f"Attempt {attempt.generation} written down", what)
        if attempt.done_at:
            words = f"Attempt {attempt.generation}: {attempt.get_state_display().lower()}"
            yield Step(attempt.done_at, words, ", ".join(broke(attempt)))


def broke(attempt: BookingAttempt) -> Iterator[str]:
    """What is known of how an attempt ended, in a few words each."""
    if attempt.error:
        yield attempt.error
    yield f"HTTP {attempt.http_status}" if attempt.http_status else "no HTTP status"
    if attempt.done_at:
        yield f"after {span(attempt.done_at - attempt.sent_at)}"
    if attempt.replays:
        yield f"sent again {attempt.replays} times under the same key"
    if attempt.seen_reference:
        yield f"the answer named {attempt.seen_reference}"


def _calls(order: Order, attempts: list[BookingAttempt]) -> Iterator[Step]:
    sent: Counter[int] = Counter()
    for call in reversed(order.calls.order_by("-pk")[:MOST_ROWS]):
        took = dt.timedelta(milliseconds=call.milliseconds)
        result = f"{f'HTTP {call.status}' if call.status else 'no HTTP status'}, after {span(took)}"
        outcome = OUTCOMES.get(call.outcome, call.outcome)
        if call.operation != "book":
            yield Step(call.at, f"{call.operation.capitalize()}: {outcome.lower()}", result)
            continue
        attempt = _attempt_of(call, attempts)
        sent[attempt] += 1
        again = f"Attempt {attempt} sent again under the same key, replay {sent[attempt] - 1}"
        yield Step(call.at - took, again if sent[attempt] > 1 else f"Attempt {attempt} sent")
        yield Step(call.at, outcome, result)


def _attempt_of(call: CarrierCall, attempts: list[BookingAttempt]) -> int:
    """The generation of the last attempt written down before this call ended."""
    return max((attempt.generation for attempt in attempts if attempt.sent_at <= call.at), default=1)


def _audit(order: Order) -> Iterator[Step]:
    for row in (
        Audit.objects.filter(subject=subject_of(order)).select_related("actor").order_by("-pk")[:MOST_ROWS]
    ):
        yield Step(row.at, row.action.capitalize(), _signed(row.reason, row.actor))


def _signed(reason: str, by: object) -> str:
    return f"{reason} – {by}" if reason and by else reason or str(by or "")
