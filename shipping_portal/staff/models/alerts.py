"""Alerts: a row for each time something needed a person, and one for each message."""

from django.db import models
from django.db.models import Q

from shipping_portal.jobs.models import Job, due_index


class Severity(models.TextChoices):
    PAGE = "page", "Wake someone"
    TICKET = "ticket", "Can wait until morning"


class Alert(models.Model):
    """One incident, from when something needs a person until it is over. One is open per name.

    `seen_at` is when it was last found, `sent_at` when messages about it were last queued.
    """

    name = models.CharField(max_length=60)
    title = models.CharField(max_length=120)
    severity = models.CharField(max_length=6, choices=Severity.choices)
    url = models.CharField(max_length=200)
    opened_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    sent_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["name"], condition=Q(closed_at=None), name="one_open_alert_of_a_name"
            )
        ]
        indexes = [models.Index(fields=["closed_at"], name="alerts_by_end")]

    def __str__(self) -> str:
        return self.name


class AlertMessage(Job):
    """One message about an alert by one channel, with its text."""

    class Channel(models.TextChoices):
        MAIL = "mail", "Email"
        WEBHOOK = "webhook", "Webhook"

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="messages")
    channel = models.CharField(max_length=7, choices=Channel.choices)
    content = models.JSONField()

    class Meta:
        indexes = [due_index("alert_messages_owed")]

    def __str__(self) -> str:
        return f"{self.channel} about {self.alert}"
