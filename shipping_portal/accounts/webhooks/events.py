"""Write an event for each endpoint that wants it, in the transaction that causes it."""

import datetime as dt
import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Q

from shipping_portal.accounts.models import Sender, WebhookEndpoint, WebhookEvent
from shipping_portal.jobs.registry import enqueue

JOB = "webhook"
TEST = "test"
Data = Mapping[str, Any]


@dataclass(frozen=True)
class Happened:
    """What happened: a `type` such as `label.ready`, and its subject.

    Events keep their order per subject.

    `data` has ids, states and addresses of the API: no name, no contact, no signed link.
    """

    type: str
    about: str
    at: dt.datetime
    data: Data

    @property
    def body(self) -> str:
        """Return the message's exact text."""
        content = {"type": self.type, "timestamp": self.at, "data": self.data}
        return json.dumps(content, cls=DjangoJSONEncoder, separators=(",", ":"))


def note(sender: Sender, kind: str, make: Callable[[], Happened], now: dt.datetime) -> None:
    """Write an event. A sender without endpoints costs no query, and nothing is created."""
    if sender.has_webhooks:
        note_events(sender, kind, (make() for _ in range(1)), now)


def note_events(sender: Sender, kind: str, found: Iterable[Happened], now: dt.datetime) -> None:
    """Write events of one kind, in this order."""
    on = WebhookEndpoint.objects.filter(sender=sender, off_why="").order_by("pk")
    wanting = [endpoint for endpoint in on if kind in endpoint.kinds]
    if wanting:
        write(wanting, found, now)


def write(
    endpoints: Iterable[WebhookEndpoint], found: Iterable[Happened], now: dt.datetime
) -> list[WebhookEvent]:
    """Write each event once for each of these endpoints, and notify a worker of each endpoint."""
    made = []
    for one in found:
        message, body = uuid.uuid4(), one.body
        made += [
            WebhookEvent(
                endpoint=endpoint,
                uuid=message,
                type=one.type,
                about=one.about,
                body=body,
                happened_at=one.at,
                due_at=max(now, endpoint.held_until or now),
            )
            for endpoint in endpoints
        ]
    written = WebhookEvent.objects.bulk_create(made, batch_size=1000)
    first = {event.endpoint_id: event.pk for event in reversed(written) if event.due_at == now}
    enqueue(JOB, *first.values())
    return written


def refresh_flag(sender: Sender) -> None:
    """Store whether the sender has an endpoint that is on."""
    sender.has_webhooks = WebhookEndpoint.objects.filter(Q(sender=sender, off_why="")).exists()
    Sender.objects.filter(pk=sender.pk).update(has_webhooks=sender.has_webhooks)
