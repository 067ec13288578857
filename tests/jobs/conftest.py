"""Job kinds with work chosen by the test, and brokers that accept everything or nothing."""

import datetime as dt
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from orders.models import BucketFile, Draft, Label, Order, PriceWait, Replacement
from shipping_portal.accounts.models import ApprovalRequest, Notification, Sender, User
from shipping_portal.jobs import sweep
from shipping_portal.jobs.registry import JobKind, kind_of
from shipping_portal.reports.models import Counting
from shipping_portal.staff.models import Alert, AlertMessage, SenderMail
from tests import factories

Message = tuple[str, int]
Waiting = Callable[[], Order]
PAST = dt.timedelta(seconds=30)


def named(name: str) -> JobKind:
    kind = kind_of(name)
    assert kind
    return kind


def doing(work: Callable[[Any], None], **more: Any) -> JobKind:
    """Return the kind for bookings with other work."""
    return replace(named("book"), work=work, **more)


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """A broker that accepts everything and has no workers."""
    taken: list[Message] = []
    monkeypatch.setattr(sweep, "publish_task", lambda *message: taken.append(message) is None)
    return taken


@pytest.fixture
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "publish_task", lambda *message: False)


@pytest.fixture
def waiting(quill: Sender, alice: User) -> Waiting:
    """`waiting()` is another order that is due after the earlier ones."""
    return lambda: factories.order(quill, alice, status="booking", due_at=timezone.now())


def make_due(job: Any) -> None:
    """Let a row's lease, rest or message expire."""
    type(job).objects.filter(pk=job.pk).update(due_at=timezone.now() - dt.timedelta(seconds=1))


def replaced(order: Order, *, due_at: dt.datetime) -> int:
    """Return an order that is being replaced."""
    values = {"quote": order.quote, "product_code": "-", "form_token": uuid.uuid4(), "asked_by": order.made_by}
    return Replacement.objects.create(order=order, asked_at=due_at, due_at=due_at, **values).pk


def news(to: User, of: Sender, once: str, *, due_at: dt.datetime) -> int:
    facts = {"kind": "booking", "batch_key": "booking", "dedupe_key": once, "line": "-", "path": "/"}
    return Notification.objects.create(user=to, sender=of, happened_at=due_at, due_at=due_at, **facts).pk


def approval(*, due_at: dt.datetime) -> int:
    return ApprovalRequest.objects.create(sender=factories.sender(approved_at=None), due_at=due_at).pk


def alert(name: str, *, due_at: dt.datetime) -> int:
    times = {"opened_at": due_at, "seen_at": due_at, "sent_at": due_at}
    made = Alert.objects.create(name=name, title="-", severity="page", url="/", **times)
    content = {"text": "-", "title": "-", "count": 1, "oldest": None, "next_step": "-", "url": "/"}
    about = {"state": "opened", "opened_at": "-", "at": "-"}
    return AlertMessage.objects.create(alert=made, channel="mail", content=content | about, due_at=due_at).pk


def price_wait(of: Sender, by: User, *, due_at: dt.datetime) -> int:
    draft = Draft.objects.create(sender=of, made_by=by, updated_at=due_at)
    return PriceWait.objects.create(draft=draft, user=by, asked_at=due_at, due_at=due_at).pk


def sender_mail(about: Order, *, due_at: dt.datetime) -> int:
    facts = {"to": about.made_by, "by": about.made_by, "about": "other", "text": "-"}
    return SenderMail.objects.create(order=about, at=due_at, due_at=due_at, **facts).pk


def delivery(*, due_at: dt.datetime) -> int:
    return factories.delivery(received_at=due_at, due_at=due_at).pk


@pytest.fixture
def due(quill: Sender, alice: User) -> dict[str, int]:
    """One due row of every kind, by name. No other row is due."""
    now = timezone.now()
    then, later = now - PAST, now + PAST
    held = factories.order(quill, alice, status="booked", due_at=None)
    replaced(factories.order(quill, alice, status="cancelling", due_at=later), due_at=then)
    for status in ("booking", "unconfirmed", "cancelling", "booked"):
        factories.order(quill, alice, status=status, due_at=later)
    Label.objects.create(order=held, size="cropped", due_at=later)
    compared = factories.order(quill, alice, status="booked", due_at=None)
    Label.objects.create(order=compared, size="cropped", state="withheld", due_at=later)
    factories.parcel(reference="SLATER0001", due_at=later, poll_due_at=later)
    news(alice, quill, "later", due_at=later)
    approval(due_at=later)
    sender_mail(held, due_at=later)
    for state in ("new", "owed"):
        factories.import_row(quill, alice, state=state, due_at=later)
    paused = factories.import_file(quill, alice, paused_at=then)
    factories.import_row(quill, alice, file=paused, state="owed", due_at=then)
    factories.export(quill, alice, finished_at=None, due_at=later)
    delivery(due_at=later)
    factories.billing_report(state="reading", due_at=later)
    factories.billing_report(state="posted", due_at=then)
    price_wait(quill, alice, due_at=later)
    BucketFile.objects.create(key="later", due_at=later)
    alert("later", due_at=later)
    shop = factories.webhook_endpoint(quill, alice, paused_at=then)  # so that nothing leaves
    factories.webhook_event(shop, due_at=later)
    return {
        "book": factories.order(quill, alice, status="booking", due_at=then).pk,
        "alert": alert("due", due_at=then),
        "resolve": factories.order(quill, alice, status="unconfirmed", due_at=then).pk,
        "cancel": factories.order(quill, alice, status="cancel_unconfirmed", due_at=then).pk,
        "replace": replaced(factories.order(quill, alice, status="cancelled", due_at=None), due_at=then),
        "compare": Label.objects.create(order=compared, size="full", state="withheld", due_at=then).pk,
        "open": factories.order(quill, alice, status="booked", due_at=then).pk,
        "label": Label.objects.create(order=held, size="full", due_at=then).pk,
        "read": delivery(due_at=then),
        "fold": factories.parcel(reference="SFOLD00001", due_at=then).pk,
        "book-row": factories.import_row(quill, alice, state="owed", due_at=then).pk,
        "check-row": factories.import_row(quill, alice, state="new", due_at=then).pk,
        "prices": price_wait(quill, alice, due_at=then),
        "mail": news(alice, quill, "due", due_at=then),
        "sender-mail": sender_mail(held, due_at=then),
        "approval": approval(due_at=then),
        "webhook": factories.webhook_event(shop, due_at=then).pk,
        "report": factories.billing_report(state="reading", due_at=then).pk,
        "poll": factories.parcel(reference="SPOLL00001", poll_due_at=then).pk,
        "export": factories.export(quill, alice, finished_at=None, due_at=then).pk,
        "label-file": BucketFile.objects.create(key="due", due_at=then).pk,
        "count": Counting.objects.create(sender=quill, due_at=then).pk,
    }
