"""Add, test and remove endpoints, rotate their secrets, and repeat events."""

import datetime as dt
from collections.abc import Collection
from typing import Any

from django.db import transaction

from shipping_portal.accounts.login.encryption import encrypt
from shipping_portal.accounts.models import Sender, User, WebhookEndpoint, WebhookEvent
from shipping_portal.accounts.webhooks import events
from shipping_portal.accounts.webhooks.events import Happened
from shipping_portal.accounts.webhooks.signing import new_secret
from shipping_portal.accounts.webhooks.switching import write_audit
from shipping_portal.jobs.registry import enqueue
from shipping_portal.refused import Refused

MOST = 5  # the most endpoints of a business
BOTH_VALID = dt.timedelta(hours=24)


@transaction.atomic
def add_endpoint(
    sender: Sender, url: str, kinds: Collection[str], *, by: User, now: dt.datetime
) -> tuple[WebhookEndpoint, str]:
    """Add an endpoint. Returns it with its secret, which is shown once. Raises Refused."""
    Sender.locked(sender.pk)
    if WebhookEndpoint.objects.filter(sender=sender).count() >= MOST:
        raise Refused(f"You have {MOST} endpoints. Remove one first.")
    if WebhookEndpoint.objects.filter(sender=sender, url=url).exists():
        raise Refused("You have an endpoint with this address already.")
    secret = new_secret()
    made = WebhookEndpoint.objects.create(
        sender=sender,
        url=url,
        kinds=list(kinds),
        secret=encrypt(secret),
        made_by=by,
        made_at=now,
    )
    events.refresh_flag(sender)
    write_audit("webhook endpoint added", made, by, now, ", ".join(made.kinds))
    return made, secret


@transaction.atomic
def rotate(
    endpoint: WebhookEndpoint, *, by: User, now: dt.datetime, known: str | None = None
) -> str:
    """Give an endpoint a new secret, and return it. The previous one stays valid for BOTH_VALID.

    Raises Refused if its secret has changed since `known`, its `secret_version` on somebody's page.
    """
    secret = new_secret()
    locked = WebhookEndpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
    if known is not None and known != locked.secret_version:
        raise Refused("It has a new secret already, so nothing was changed.")
    locked.old_secret, locked.secret = locked.secret, encrypt(secret)
    locked.old_secret_ends_at = now + BOTH_VALID
    locked.save(update_fields=["secret", "old_secret", "old_secret_ends_at"])
    write_audit("webhook secret rotated", endpoint, by, now)
    return secret


@transaction.atomic
def remove_endpoint(endpoint: WebhookEndpoint, *, by: User, now: dt.datetime) -> None:
    """Remove an endpoint with its secrets and events."""
    write_audit("webhook endpoint removed", endpoint, by, now)
    endpoint.delete()
    events.refresh_flag(endpoint.sender)


@transaction.atomic
def send_test(endpoint: WebhookEndpoint, *, now: dt.datetime) -> None:
    """Send an empty test event now, whatever the endpoint asked for, and even if it is failing."""
    endpoint.held_until = None
    happened = Happened("test.sent", events.TEST, now, {"account": endpoint.sender.number})
    events.write([endpoint], [happened], now)


@transaction.atomic
def repeat(endpoint: WebhookEndpoint, *, now: dt.datetime, **which: Any) -> int:
    """Send these events of an endpoint again, with the ids they had; return how many."""
    done = WebhookEvent.objects.filter(endpoint=endpoint, done_at__isnull=False, **which)
    due_at = None if endpoint.paused_at else now
    afresh = {"state": WebhookEvent.State.WAITING, "done_at": None, "due_at": due_at}
    first = list(done.order_by("pk").values_list("pk", flat=True)[:1])
    count = done.update(**afresh, **WebhookEvent.AFRESH)
    if due_at:
        enqueue(events.JOB, *first)
    return count
