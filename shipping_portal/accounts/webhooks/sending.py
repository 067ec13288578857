"""Deliver events: one worker at a time for each endpoint, in order, over one connection.

A job's row is an event. The worker that gets it sends everything that is due at its endpoint, for a
few seconds. A failure pauses the whole endpoint for a time that doubles, so a dead one costs others
only a rare attempt.
"""

import datetime as dt
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from shipping_portal import VERSION
from shipping_portal.accounts.models import WebhookEndpoint, WebhookEvent
from shipping_portal.accounts.webhooks import addresses, switching
from shipping_portal.accounts.webhooks.events import JOB
from shipping_portal.accounts.webhooks.signing import signed_headers, valid_secrets
from shipping_portal.carrier import outgoing
from shipping_portal.carrier.outcomes import retry_after
from shipping_portal.carrier.outgoing import Undelivered
from shipping_portal.celery import publish_task
from shipping_portal.jobs.models import backoff
from shipping_portal.jobs.registry import NotYet, job

State = WebhookEvent.State
# how many endpoints a process sends to at the same time: half of a worker's threads stay free
AT_ONCE = 4
TURN_SECONDS = 5.0  # seconds; then the next endpoint has its turn
SECONDS = 10.0  # seconds for one event; three of them to connect
LEASE = dt.timedelta(seconds=60)  # longer than a turn, one event and a slow name server together
BATCH = 100
PATIENCE = 12  # the sweep sends an event itself only if no worker has taken it by then
REPLY_BYTES, REPLY_WORDS = 4096, 500
FIRST_WAIT, LONGEST_WAIT = 5.0, 3600.0  # seconds
FEWEST_TRIES = 12  # in about two hours; an old event that is sent again isn't given up earlier
NO_WAIT = dt.timedelta(0)
SOON = 1.5  # seconds until the next look for a free place
_turns = threading.BoundedSemaphore(AT_ONCE)
_others_wait = threading.Event()  # another endpoint found no free place


@dataclass
class Turn:
    """The results of one batch of events."""

    delivered: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    failed: WebhookEvent | None = None
    wait: dt.timedelta = NO_WAIT  # the wait that the receiver asked for

    @property
    def went_well(self) -> bool:
        return self.failed is None


@job(
    JOB,
    queue=WebhookEvent.objects.filter(state=State.WAITING),
    lane="endpoint",
    order=130,
    patience=PATIENCE,
    is_leased=False,  # while this worker holds the endpoint's lease
)
def send_due_events(first: WebhookEvent) -> None:
    """Send what is due at this event's endpoint, for one turn at most."""
    if not _turns.acquire(blocking=False):
        _others_wait.set()
        raise NotYet(timezone.now() + backoff(0, first=SOON))
    try:
        with _leased(first) as endpoint:
            if endpoint is not None:
                _send_for_a_turn(endpoint)
    finally:
        _turns.release()


@contextmanager
def _leased(first: WebhookEvent) -> Iterator[WebhookEndpoint | None]:
    """Lease the endpoint. Return None if another worker has it or nothing may be sent."""
    endpoint = _take(first)
    try:
        yield endpoint
    finally:
        if endpoint is not None:
            mine = WebhookEndpoint.objects.filter(pk=endpoint.pk, busy_until=endpoint.busy_until)
            mine.update(busy_until=None)


@transaction.atomic
def _take(first: WebhookEvent) -> WebhookEndpoint | None:
    rows = WebhookEndpoint.objects.select_for_update(of=("self",), no_key=True)
    endpoint = rows.select_related("sender").filter(pk=first.endpoint_id).first()
    now = timezone.now()
    if endpoint is None or (endpoint.busy_until and endpoint.busy_until > now):
        return None
    if endpoint.paused_at:
        # This holds the endpoint's lock, as resuming does.
        waiting_events(endpoint).update(due_at=None)
        return None
    endpoint.busy_until = now + LEASE
    endpoint.save(update_fields=["busy_until"])
    return endpoint


def waiting_events(endpoint: WebhookEndpoint) -> QuerySet[WebhookEvent]:
    return WebhookEvent.objects.filter(endpoint=endpoint, state=State.WAITING)


def _send_for_a_turn(endpoint: WebhookEndpoint) -> None:
    ends_at = time.monotonic() + TURN_SECONDS
    while time.monotonic() < ends_at and (batch := _next_batch(endpoint)):
        turn = _send_batch(endpoint, batch, ends_at)
        _record(endpoint, turn)
        if not turn.went_well:
            return
    if rest := _next_batch(endpoint)[:1]:
        _go_on_with(rest[0])


def _go_on_with(rest: WebhookEvent) -> None:
    """Queue the rest of an endpoint's events, after the endpoints that wait for a place."""
    at = None
    if _others_wait.is_set():
        # Otherwise a slow receiver would take its own place again before others look.
        _others_wait.clear()
        at = timezone.now() + dt.timedelta(seconds=2 * SOON * settings.TIME_SCALE)
    publish_task(send_due_events.task, rest.pk, at)


def _next_batch(endpoint: WebhookEndpoint) -> list[WebhookEvent]:
    """Return due events in order: never one before an earlier one of the same parcel."""
    now = timezone.now()
    due = waiting_events(endpoint).filter(due_at__lte=now, parked_at=None).order_by("pk")
    while found := list(due[:BATCH]):
        free = _without_blocked(endpoint, found, now)
        if free:
            return free
    return []


def _without_blocked(
    endpoint: WebhookEndpoint, found: list[WebhookEvent], now: dt.datetime
) -> list[WebhookEvent]:
    """Return the events that nothing blocks. Others wait as long as the one that blocks them."""
    # Two plain queries: one with both was planned badly on a table that had just grown.
    later = waiting_events(endpoint).filter(due_at__gt=now, about__in={one.about for one in found})
    blocked = set()
    for about, pk, due_at in later.values_list("about", "pk", "due_at"):
        behind = [one.pk for one in found if one.about == about and one.pk > pk]
        waiting_events(endpoint).filter(pk__in=behind).update(due_at=due_at)
        blocked |= set(behind)
    return [one for one in found if one.pk not in blocked]


def _send_batch(endpoint: WebhookEndpoint, batch: list[WebhookEvent], ends_at: float) -> Turn:
    """Send events one after the other until one fails or the turn ends."""
    turn = Turn()
    keys = valid_secrets(endpoint, timezone.now())
    for event in batch:
        if time.monotonic() >= ends_at:
            break
        event.reply_status, event.reply, turn.wait = _send(endpoint, event, keys)
        if event.reply_status and HTTPStatus(200) <= event.reply_status < HTTPStatus(300):
            turn.delivered[event.reply_status].append(event.pk)
        else:
            turn.failed = event
            break
    return turn


def _send(
    endpoint: WebhookEndpoint, event: WebhookEvent, keys: list[str]
) -> tuple[int | None, str, dt.timedelta]:
    """POST an event once. Return the reply's status, its first words or the error, and the wait."""
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"shipping-portal/{VERSION}",
        "Accept-Encoding": "identity",
        **signed_headers(event, keys, timezone.now()),
    }
    if why := addresses.why_refused(endpoint.url):
        return None, why, NO_WAIT
    try:
        reply = outgoing.request(
            endpoint.url,
            event.body.encode(),
            headers,
            may_reach=addresses.may_reach(endpoint.url),
            schemes=addresses.SCHEMES,
            seconds=SECONDS,
            largest=REPLY_BYTES,
            may_repeat=True,  # the receiver recognises a repeated message by its id
        )
    except Undelivered as problem:
        return None, str(problem), NO_WAIT
    return reply.status, _first_words(reply.body), dt.timedelta(seconds=retry_after(reply) or 0.0)


def _first_words(body: bytes) -> str:
    """Return the first words of a stranger's reply, on one line and without control characters."""
    text = body[: 4 * REPLY_WORDS].decode(errors="replace")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:REPLY_WORDS]


def _record(endpoint: WebhookEndpoint, turn: Turn) -> None:
    """Store what was delivered and what failed, and when the endpoint is called next."""
    now = timezone.now()
    done = {"state": State.DELIVERED, "done_at": now, "due_at": None, "reply": ""}
    for status, events in turn.delivered.items():
        WebhookEvent.objects.filter(pk__in=events).update(
            **done, reply_status=status, tries=F("tries") + 1
        )
    if turn.delivered and endpoint.failing_since:
        # A test event doesn't wait. Once it is accepted, others don't either, except those that
        # failed themselves.
        held = waiting_events(endpoint).filter(due_at__isnull=False, due_at=endpoint.held_until)
        held.filter(tries=0).update(due_at=now)
        endpoint.failing_since, endpoint.failures, endpoint.held_until = None, 0, None
        works = {"failing_since": None, "failures": 0, "held_until": None}
        # Its owner may have removed it by now.
        WebhookEndpoint.objects.filter(pk=endpoint.pk).update(**works)
    if turn.failed is not None:
        _hold(endpoint, turn.failed, now, turn.wait)


@transaction.atomic
def _hold(
    endpoint: WebhookEndpoint, failed: WebhookEvent, now: dt.datetime, wait: dt.timedelta
) -> None:
    """Pause the endpoint for a while; after days give up the event or switch the endpoint off.

    A receiver that asked for a longer `wait` is overloaded: calling it sooner would delay the rest.
    """
    last_day = now - dt.timedelta(days=settings.WEBHOOK_OUT_DAYS)
    endpoint.failing_since = endpoint.failing_since or now
    endpoint.failures += 1
    ours = backoff(endpoint.failures - 1, first=FIRST_WAIT, cap=LONGEST_WAIT)
    endpoint.held_until = now + max(ours, wait)
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(
        failing_since=endpoint.failing_since,
        failures=endpoint.failures,
        held_until=endpoint.held_until,
    )
    its_own = now + backoff(failed.tries, first=FIRST_WAIT, cap=LONGEST_WAIT)
    failed.due_at = max(endpoint.held_until, its_own)
    changes = {"due_at": failed.due_at, "tries": F("tries") + 1}
    if failed.happened_at <= last_day and failed.tries + 1 >= FEWEST_TRIES:
        changes |= {"state": State.GIVEN_UP, "done_at": now, "due_at": None}
    facts = {"reply_status": failed.reply_status, "reply": failed.reply[:REPLY_WORDS]}
    WebhookEvent.objects.filter(pk=failed.pk).update(**changes, **facts)
    others = waiting_events(endpoint).filter(due_at__lt=endpoint.held_until)
    others.update(due_at=endpoint.held_until)
    if failed.reply_status == HTTPStatus.GONE:
        switching.switch_off(endpoint, "it answered 410, Gone", now)
    elif endpoint.failing_since <= last_day:
        days = settings.WEBHOOK_OUT_DAYS
        switching.switch_off(endpoint, f"nothing was delivered for {days:g} days", now)
