"""Pause, resume and switch off an endpoint."""

import datetime as dt
from typing import Any

from django.db import transaction
from django.urls import reverse

from shipping_portal.accounts.mail import outbox
from shipping_portal.accounts.models import Audit, WebhookEndpoint, WebhookEvent
from shipping_portal.accounts.webhooks.events import JOB, refresh_flag
from shipping_portal.jobs.registry import enqueue

OFF = "We stopped sending events to your webhook endpoint: {why}. Check your program, then resume."


@transaction.atomic
def pause_endpoint(
    endpoint: WebhookEndpoint, *, by: Any, now: dt.datetime, reason: str = ""
) -> None:
    """Make an endpoint's events wait. If it is already paused, nothing changes."""
    if _change(endpoint, paused_at__isnull=True, to={"paused_at": now}):
        write_audit("webhook endpoint paused", endpoint, by, now, reason)


@transaction.atomic
def resume_endpoint(endpoint: WebhookEndpoint, *, by: Any, now: dt.datetime) -> None:
    """Send waiting events from now on, as if nothing had failed."""
    afresh = {"paused_at": None, "off_why": "", "failing_since": None, "failures": 0}
    if _change(endpoint, paused_at__isnull=False, to={**afresh, "held_until": None}):
        waiting = WebhookEvent.objects.filter(endpoint=endpoint, state=WebhookEvent.State.WAITING)
        waiting.update(due_at=now, **WebhookEvent.AFRESH)
        enqueue(JOB, *waiting.order_by("pk").values_list("pk", flat=True)[:1])
        refresh_flag(endpoint.sender)
        write_audit("webhook endpoint resumed", endpoint, by, now)


@transaction.atomic
def switch_off(endpoint: WebhookEndpoint, why: str, now: dt.datetime) -> None:
    """Send nothing more, write no further events, and notify the owners."""
    if not _change(endpoint, off_why="", to={"paused_at": now, "off_why": why}):
        return
    refresh_flag(endpoint.sender)
    write_audit("webhook endpoint switched off", endpoint, None, now, why)
    event = outbox.Event(
        sender=endpoint.sender,
        kind="webhook",
        dedupe_key=f"webhook:{endpoint.pk}:{now:%Y-%m-%dT%H:%M:%S}",
        line=OFF.format(why=why),
        path=reverse("webhooks"),
        happened_at=now,
    )
    outbox.notify(event, now=now)


def _change(endpoint: WebhookEndpoint, *, to: dict[str, Any], **while_: Any) -> bool:
    for name, value in to.items():
        setattr(endpoint, name, value)
    return bool(WebhookEndpoint.objects.filter(pk=endpoint.pk, **while_).update(**to))


def write_audit(
    action: str, endpoint: WebhookEndpoint, by: Any, now: dt.datetime, why: str = ""
) -> None:
    Audit.write(action, endpoint, by=by, sender=endpoint.sender, reason=why, at=now)
