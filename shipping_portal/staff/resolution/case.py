"""Collect one unclear booking's evidence for its page: what was sent and answered, step by step."""

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils import timezone
from django.utils.timesince import timesince

from orders.calling.contract import contract_of
from orders.masking import masked_body, without_emails
from orders.models import BookingAttempt, CarrierCall, Order
from orders.models.statuses import UNCLEAR_BOOKING, Status
from orders.status.status_labels import status_label
from orders.status.status_sentences import status_sentence
from shipping_portal.accounts.adminkit.queues import urgency
from shipping_portal.accounts.models import Audit
from shipping_portal.accounts.models.audit import subject_of
from shipping_portal.carrier.writing import order_key_of
from shipping_portal.formats import admin_time
from shipping_portal.staff import queues
from shipping_portal.staff.resolution.matches import Candidate, find_candidates, likeliest_reference

MOST_ROWS = 100  # newest of each kind
OUTCOMES = {
    "ok": "The carrier answered",
    "incomplete": "The carrier answered; not all pages were read",
    "rejected": "The carrier refused it",
    "unknown": "No answer we can trust",
    "not sent": "It was never sent",
    "account stopped": "The carrier refused the account",
}


@dataclass(frozen=True)
class HistoryStep:
    """One line of the case's history."""

    at: dt.datetime
    words: str
    detail: str = ""


def case_steps(order: Order, attempts: list[BookingAttempt]) -> list[HistoryStep]:
    """Return the steps in order. Calls are included while their log is stored."""
    found = [
        *_change_steps(order),
        *_attempt_steps(attempts),
        *_call_steps(order, attempts),
        *_audit_steps(order),
    ]
    return sorted(found, key=lambda step: step.at)


def span_in_words(duration: dt.timedelta) -> str:
    """Return a duration for people: `0.8 s`, `12 min`, `3 h`, `2 d`."""
    seconds = max(duration.total_seconds(), 0)
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} d"


def _change_steps(order: Order) -> Iterator[HistoryStep]:
    for change in order.changes.select_related("by"):
        words = f"{Status(change.old).label} → {Status(change.new).label}"
        yield HistoryStep(change.at, words, _reason_with_name(change.reason, change.by))


def _attempt_steps(attempts: list[BookingAttempt]) -> Iterator[HistoryStep]:
    for attempt in attempts:
        what = f"key {attempt.key}, {len(attempt.body)} bytes, sha256 {attempt.body_sha256[:12]}…"
        yield HistoryStep(attempt.sent_at, f"Attempt {attempt.generation} written down", what)
        if attempt.done_at:
            words = f"Attempt {attempt.generation}: {attempt.get_state_display().lower()}"
            yield HistoryStep(attempt.done_at, words, ", ".join(attempt_ends(attempt)))


def attempt_ends(attempt: BookingAttempt) -> Iterator[str]:
    """Yield how an attempt ended, as far as known, in a few words each."""
    if attempt.error:
        yield attempt.error
    yield f"HTTP {attempt.http_status}" if attempt.http_status else "no HTTP status"
    if attempt.done_at:
        yield f"after {span_in_words(attempt.done_at - attempt.sent_at)}"
    if attempt.replays:
        yield f"sent again {attempt.replays} times under the same key"
    if attempt.seen_reference:
        yield f"the answer named {attempt.seen_reference}"


def _call_steps(order: Order, attempts: list[BookingAttempt]) -> Iterator[HistoryStep]:
    sent: Counter[int] = Counter()
    for call in reversed(order.calls.order_by("-pk")[:MOST_ROWS]):
        took = dt.timedelta(milliseconds=call.milliseconds)
        result = (
            f"{f'HTTP {call.status}' if call.status else 'no HTTP status'}, after"
            f" {span_in_words(took)}"
        )
        outcome = OUTCOMES.get(call.outcome, call.outcome)
        if call.operation != "book":
            yield HistoryStep(call.at, f"{call.operation.capitalize()}: {outcome.lower()}", result)
            continue
        attempt = _attempt_of(call, attempts)
        sent[attempt] += 1
        again = f"Attempt {attempt} sent again under the same key, replay {sent[attempt] - 1}"
        yield HistoryStep(call.at - took, again if sent[attempt] > 1 else f"Attempt {attempt} sent")
        yield HistoryStep(call.at, outcome, result)


def _attempt_of(call: CarrierCall, attempts: list[BookingAttempt]) -> int:
    """Return the generation of the last attempt recorded before this call ended."""
    return max(
        (attempt.generation for attempt in attempts if attempt.sent_at <= call.at), default=1
    )


def _audit_steps(order: Order) -> Iterator[HistoryStep]:
    for row in (
        Audit.objects.filter(subject=subject_of(order))
        .select_related("actor")
        .order_by("-pk")[:MOST_ROWS]
    ):
        yield HistoryStep(row.at, row.action.capitalize(), _reason_with_name(row.reason, row.actor))


def _reason_with_name(reason: str, by: object) -> str:
    return f"{reason} – {by}" if reason and by else reason or str(by or "")


@dataclass(frozen=True)
class Age:
    """How long the sender has been waiting: in words, and as a colour's name."""

    words: str
    level: str


@dataclass(frozen=True)
class CaseSummary:
    """What the sender currently reads on the parcel's page."""

    chip: str
    sentence: str


@dataclass(frozen=True)
class Evidence:
    """The content of an unclear booking's page."""

    last_attempt: str  # names the attempt that a decision is about
    age: Age
    steps: list[HistoryStep]
    candidates: list[Candidate]
    likeliest: str
    request: str
    response: str
    support_text: str
    reads_now: CaseSummary
    reads_if_adopted: CaseSummary
    reads_if_not_booked: CaseSummary


def gather_evidence(order: Order) -> Evidence:
    """Return the attempts step by step, the last one's masked request and reply, and candidates."""
    now = timezone.now()
    attempts = list(order.attempts.order_by("pk"))
    last = attempts[-1] if attempts else None
    contract = contract_of(order.account)
    found = find_candidates(order, attempts)
    return Evidence(
        last_attempt=last_attempt(order),
        age=case_age(_open_since(order, last), now),
        steps=case_steps(order, attempts),
        candidates=found,
        likeliest=likeliest_reference(order, found),
        request=masked_body(last.body, contract) if last else "",
        response=masked_body(last.response, contract) if last and last.response else "",
        support_text="\n".join(_support_lines(order, attempts)),
        reads_now=sender_reading(order, now),
        reads_if_adopted=sender_reading(_with_status(order, Status.BOOKED), now),
        reads_if_not_booked=sender_reading(_with_status(order, Status.NOT_BOOKED), now),
    )


def last_attempt(order: Order) -> str:
    """Return the newest attempt's key, so that nobody decides without having seen that attempt."""
    return str(order.attempts.order_by("pk").values_list("key", flat=True).last() or "")


def case_age(since: dt.datetime, now: dt.datetime) -> Age:
    """Return a case's age: late after 15 minutes, overdue after two hours, as on the first page."""
    level = urgency(since, queues.UNCLEAR_TERM, now)
    return Age(f"{level.capitalize()}: open for {timesince(since, now)}", level)


def _open_since(order: Order, last: BookingAttempt | None) -> dt.datetime:
    """Return when the order first became unclear."""
    since = None
    for change in reversed(order.changes.all()):
        if change.new not in UNCLEAR_BOOKING:
            break
        since = change.at
    return since or (last.sent_at if last else order.submitted_at)


def sender_reading(order: Order, now: dt.datetime) -> CaseSummary:
    """Return what the sender reads about it now: a chip and a sentence."""
    return CaseSummary(status_label(order, now)[1], status_sentence(order, now, sees_contact=True))


def _with_status(order: Order, status: str) -> Order:
    """Return an unsaved copy in the status that the sender's page would show."""
    fields = {field.attname: getattr(order, field.attname) for field in Order._meta.concrete_fields}
    copy = Order(**{**fields, "status": status, "booked_at": timezone.now(), "problem": {}})
    copy.sender, copy.account = order.sender, order.account
    return copy


def _support_lines(order: Order, attempts: list[BookingAttempt]) -> Iterator[str]:
    """Yield what the carrier's support needs: our key, times, the failure. No personal data."""
    yield "A booking whose outcome we don't know."
    tries: list[BookingAttempt | None] = [*attempts]
    for attempt in tries or [None]:
        name = order_key_of(bytes(attempt.body), contract_of(order.account)) if attempt else ""
        yield f"Our order key: {name or order.order_key()}"
        if attempt:
            yield f"Sent: {admin_time(attempt.sent_at, seconds=True)}"
            yield f"Idempotency key: {attempt.key}"
            yield f"What happened: {without_emails(', '.join(attempt_ends(attempt)))}"
    yield (
        "Do you hold an order under this key? If so: which reference and order id, and is it"
        " cancelled?"
    )
