"""Outgoing webhooks: where a business wants its events sent, and each event until delivery."""

import datetime as dt
import uuid

from django.db import models
from django.db.models import Q

from shipping_portal.accounts.models.senders import OwnedQuerySet, Sender
from shipping_portal.accounts.models.users import User
from shipping_portal.jobs.models import Job, due_index


class WebhookKind(models.TextChoices):
    """A kind of event that an endpoint may ask for: the first part of an event's type."""

    ORDER = "order", "Orders: booked, refused, or unclear"
    LABEL = "label", "Labels: ready to print"
    TRACKING = "tracking", "Tracking: where a parcel is"
    CANCEL = "cancel", "Cancellations: accepted, refused, or unclear"
    CHARGE = "charge", "Charges: a line of the carrier's bill"


class WebhookEndpoint(models.Model):
    """One address that gets a business's events, signed with a secret that only both sides know.

    Secrets are encrypted. Until `old_secret_ends_at` both secrets sign. While an endpoint is paused
    its events wait. If it has an `off_why`, the portal has switched it off and writes no further
    events for it.
    """

    sender = models.ForeignKey(Sender, on_delete=models.CASCADE, related_name="webhook_endpoints")
    url = models.CharField("address", max_length=500)
    kinds = models.JSONField("events", default=list)
    secret = models.CharField(max_length=255)
    old_secret = models.CharField(max_length=255, blank=True)
    old_secret_ends_at = models.DateTimeField(null=True, blank=True)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField()
    paused_at = models.DateTimeField(null=True, blank=True)
    off_why = models.CharField("switched off because", max_length=200, blank=True)
    # Only one worker at a time sends to it.
    busy_until = models.DateTimeField(null=True, blank=True)
    # Since its last success: when the first failure was, how many there were, and until when
    # nothing is sent.
    failing_since = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveIntegerField(default=0)
    held_until = models.DateTimeField(null=True, blank=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        verbose_name = "webhook endpoint"

    def __str__(self) -> str:
        return f"webhook endpoint {self.pk}"

    @property
    def secret_version(self) -> str:
        """Return a text that changes with the secret without revealing it."""
        return self.old_secret_ends_at.isoformat() if self.old_secret_ends_at else ""

    def state(self, now: dt.datetime) -> str:
        """Return what the endpoint is doing, in a word or two."""
        if self.paused_at:
            return "Switched off" if self.off_why else "Paused"
        return "Failing" if self.failing_since else "On"


class WebhookEvent(Job):
    """One event for one endpoint, with its exact body, written in the transaction that causes it.

    Events with the same `about` are delivered in the order of their numbers. A waiting one without
    `due_at` waits for its endpoint to be resumed. `uuid` is the message's id: a repeated event
    keeps it, and two endpoints get the same one.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        DELIVERED = "delivered", "Delivered"
        GIVEN_UP = "given_up", "Given up"

    endpoint = models.ForeignKey(
        WebhookEndpoint, on_delete=models.CASCADE, related_name="events", db_index=False
    )
    uuid = models.UUIDField("message id", default=uuid.uuid4)
    type = models.CharField(max_length=40)
    about = models.CharField(max_length=40)
    body = models.TextField()
    happened_at = models.DateTimeField()
    state = models.CharField(max_length=9, choices=State.choices, default=State.WAITING)
    reply_status = models.PositiveSmallIntegerField("reply", null=True, blank=True)
    # Why it failed, or the reply. This text comes from a stranger.
    reply = models.CharField("words of the reply", max_length=500, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "webhook event"
        indexes = [
            models.Index(fields=["endpoint", "id"], name="webhook_events_of_endpoint"),
            models.Index(
                fields=["endpoint", "about"],
                name="webhook_events_waiting",
                condition=Q(done_at=None),
            ),
            due_index("webhook_events_owed"),
            models.Index(fields=["happened_at"], name="webhook_events_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.uuid}"
