"""What is known about a booking whose outcome is not: everything an operator needs to settle it on one page."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.timesince import timesince

from orders.contract import contract_of
from orders.masking import masked, without_emails
from orders.meaning import standing
from orders.models import BookingAttempt, Order
from orders.models.statuses import Status
from shipping_portal.carrier.reading import order_key_of
from shipping_portal.staff import queues
from shipping_portal.staff.resolution import history
from shipping_portal.staff.resolution.matches import Candidate, candidates, likeliest

UNCLEAR = {Status.UNCONFIRMED, Status.CONFLICT}


@dataclass(frozen=True)
class Age:
    """How long the sender has been waiting: in words, and as the colour's name."""

    words: str
    level: str


@dataclass(frozen=True)
class Reading:
    """What the sender reads on the parcel's page."""

    chip: str
    sentence: str


@dataclass(frozen=True)
class Evidence:
    last_attempt: str  # names the attempt a decision is about
    age: Age
    steps: list[history.Step]
    candidates: list[Candidate]
    likeliest: str
    request: str
    response: str
    support_text: str
    reads_now: Reading
    reads_if_adopted: Reading
    reads_if_not_booked: Reading


def evidence(order: Order) -> Evidence:
    """The attempts' story, the last one's masked request and answer, and the references it may have got."""
    now = timezone.now()
    attempts = list(order.attempts.order_by("pk"))
    last = attempts[-1] if attempts else None
    contract = contract_of(order.account)
    found = candidates(order, attempts)
    return Evidence(
        last_attempt=last_attempt(order),
        age=age(_open_since(order, last), now),
        steps=history.steps(order, attempts),
        candidates=found,
        likeliest=likeliest(order, found),
        request=masked(last.body, contract) if last else "",
        response=masked(last.response, contract) if last and last.response else "",
        support_text="\n".join(_support_lines(order, attempts)),
        reads_now=_reading(order, now),
        reads_if_adopted=_reading(_as_if(order, Status.BOOKED), now),
        reads_if_not_booked=_reading(_as_if(order, Status.NOT_BOOKED), now),
    )


def last_attempt(order: Order) -> str:
    """The key of the newest attempt, so that nobody decides about one they have not read of."""
    key = order.attempts.order_by("pk").values_list("key", flat=True).last()
    return str(key or "")


def age(since: dt.datetime, now: dt.datetime) -> Age:
    """Late after 15 minutes, overdue after two hours, as on the first page."""
    level = queues.late(since, now) or "new"
    return Age(f"{level.capitalize()}: open for {timesince(since, now)}", level)


def _open_since(order: Order, last: BookingAttempt | None) -> dt.datetime:
    """When the order became unclear; one that went from unclear to unclear has been open since the first."""
    since = None
    for change in reversed(order.changes.all()):
        if change.new not in UNCLEAR:
            break
        since = change.at
    return since or (last.sent_at if last else order.submitted_at)


def _reading(order: Order, now: dt.datetime) -> Reading:
    context = {"order": order, "sender": order.sender, "progress": "", "sees_contact": True}
    sentence = " ".join(render_to_string("orders/_meaning.html", context).split())
    return Reading(standing(order, now)[1], sentence)


def _as_if(order: Order, status: str) -> Order:
    """A copy that is never saved, as the sender's page would read it."""
    fields = {field.attname: getattr(order, field.attname) for field in Order._meta.concrete_fields}
    copy = Order(**{**fields, "status": status, "booked_at": timezone.now(), "problem": {}})
    copy.sender, copy.account = order.sender, order.account
    return copy


def _support_lines(order: Order, attempts: list[BookingAttempt]) -> Iterator[str]:
    """For the carrier's support: our key for the order, times, what broke. Nobody's name, address or phone."""
    yield "A booking whose outcome we don't know."
    tries: list[BookingAttempt | None] = [*attempts]
    for attempt in tries or [None]:
        name = order_key_of(bytes(attempt.body), contract_of(order.account)) if attempt else ""
        yield f"Our order key: {name or order.order_key()}"
        if attempt:
            yield f"Sent: {attempt.sent_at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S} UTC"
            yield f"Idempotency key: {attempt.key}"
            yield f"What happened: {without_emails(', '.join(history.broke(attempt)))}"
    yield "Do you hold an order under this key? If so: which reference and order id, and is it cancelled?"
