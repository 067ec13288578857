"""Operators' case data: internal notes, owners, and emails to senders.

Only `Note.text` and `SenderMail.text` may contain personal data; erasing overwrites these two.
"""

from typing import Any

from django.conf import settings
from django.db import models

from orders.models import Order
from shipping_portal.accounts.models import Sender
from shipping_portal.jobs.models import Job, due_index


class Note(models.Model):
    """An operator's note about a sender or one of its orders. No page changes it."""

    class AppendOnly(Exception):
        """Raised when somebody tries to change a note."""

    sender = models.ForeignKey(Sender, on_delete=models.CASCADE, related_name="+")
    order = models.ForeignKey(
        Order, on_delete=models.CASCADE, null=True, blank=True, related_name="operator_notes"
    )
    text = models.TextField(max_length=2000)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"note {self.pk}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise self.AppendOnly(str(self))
        super().save(*args, **kwargs)


class Assignment(models.Model):
    """Who owns an order's case. Without a row, nobody does."""

    order = models.OneToOneField(Order, on_delete=models.CASCADE, related_name="assignment")
    operator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="assignments"
    )
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.order} with {self.operator}"


class SenderMail(Job):
    """An operator's email to one member of an order's sender, due while `due_at` is set."""

    class About(models.TextChoices):
        MISSED = "missed", "The driver didn't come"
        REFUND = "refund", "We asked for a refund"
        USED = "used", "The label was used after cancelling"
        DETAILS = "details", "We need details"
        RESOLVED = "settled", "The booking is resolved"
        OTHER = "other", "Something else"

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="operator_mails")
    to = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    about = models.CharField(max_length=8, choices=About.choices)
    text = models.TextField(max_length=4000)
    at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [due_index("sender_mails_owed")]

    def __str__(self) -> str:
        return f"mail {self.pk} about {self.order}"
