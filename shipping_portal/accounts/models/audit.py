"""The append-only record of who did what, and why."""

import datetime as dt
from typing import Any

from django.conf import settings
from django.db import models

from shipping_portal import request_ids
from shipping_portal.db.planned_statements import insert_row


class Audit(models.Model):
    """One action of a person, or of the portal if there is no actor. Never changed or deleted.

    This model, the admin and a database trigger protect it. It never contains a link, a secret or a
    body.
    """

    class AppendOnly(Exception):
        """Raised when code tries to change or delete a row."""

    at = models.DateTimeField()
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    sender = models.ForeignKey(
        "accounts.Sender", on_delete=models.PROTECT, null=True, related_name="+"
    )
    action = models.CharField(max_length=60)
    subject = models.CharField(max_length=120)
    reason = models.TextField(blank=True)
    request_id = models.CharField(
        max_length=request_ids.LONGEST,
        blank=True,
        default=request_ids.current_request,
        editable=False,
    )

    class Meta:
        verbose_name_plural = "audit"
        indexes = [models.Index(fields=["subject"])]

    def __str__(self) -> str:
        return f"{self.action}: {self.subject}"

    @classmethod
    def write(
        cls,
        action: str,
        subject: models.Model | str,
        *,
        by: Any,
        at: dt.datetime,
        sender: Any = None,
        reason: str = "",
    ) -> "Audit":
        name = subject if isinstance(subject, str) else subject_of(subject)
        made = cls(at=at, actor=by, sender=sender, action=action, subject=name, reason=reason)
        insert_row(made)
        return made

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise self.AppendOnly(self.action)
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        raise self.AppendOnly(self.action)


def subject_of(thing: models.Model) -> str:
    """Return an object's name in audit rows, such as `order 17`."""
    return f"{thing._meta.verbose_name} {thing.pk}"
