"""A shop that receives events, and the job that sends them, run here and now."""

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from shipping_portal.accounts.models import Sender, User, WebhookEndpoint, WebhookEvent
from shipping_portal.accounts.webhooks import sending
from tests import factories
from tests.webhooks_out.shop import Shop

Send = Callable[[WebhookEndpoint], None]


@pytest.fixture
def shop(settings: Any) -> Iterator[Shop]:
    settings.WEBHOOK_OUT_LOOPBACK = True
    with Shop() as made:
        yield made


@pytest.fixture
def endpoint(quill: Sender, alice: User, shop: Shop) -> WebhookEndpoint:
    return factories.webhook_endpoint(quill, alice, url=shop.url)


def send_due(endpoint: WebhookEndpoint) -> None:
    """Do what a worker does with the first due event."""
    for event in WebhookEvent.objects.filter(endpoint=endpoint, due_at__lte=timezone.now()).order_by("pk")[:1]:
        sending.send_due_events(event.pk)


def make_due(endpoint: WebhookEndpoint) -> None:
    """End the wait after a failure."""
    past = timezone.now() - dt.timedelta(seconds=1)
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(held_until=past)
    WebhookEvent.objects.filter(endpoint=endpoint, due_at__isnull=False).update(due_at=past)
