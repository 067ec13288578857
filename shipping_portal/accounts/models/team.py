"""Invitations to a sender account, and emails due to its members and to operators."""

import datetime as dt
import uuid
from typing import Self

from django.db import models
from django.db.models import Exists, OuterRef, Q

from shipping_portal.accounts.models.senders import Membership, Role, Sender
from shipping_portal.accounts.models.users import User
from shipping_portal.jobs.models import Job, due_index


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def good(self, now: dt.datetime) -> Self:
        """Return open invitations from somebody who is still an owner and can log in."""
        inviter = Membership.objects.filter(
            user=OuterRef("invited_by"),
            sender=OuterRef("sender"),
            role=Role.OWNER,
            user__is_active=True,
        )
        return self.filter(Exists(inviter), accepted_at=None, revoked_at=None, expires_at__gt=now)


class Invitation(models.Model):
    """A link sent to one address, valid once and for 72 hours. Only its token's hash is stored."""

    uuid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    sender = models.ForeignKey(Sender, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField()
    role = models.CharField(max_length=10, choices=Role.choices)
    token_hash = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["sender", "email"],
                condition=Q(accepted_at=None, revoked_at=None),
                name="one_open_invitation_per_address",
            )
        ]

    def __str__(self) -> str:
        return f"{self.email} to {self.sender}"

    def is_open(self, now: dt.datetime) -> bool:
        return Invitation.objects.good(now).filter(pk=self.pk).exists()


class NotificationChoice(models.Model):
    """When a person wants one kind of notification. Without a row, the kind's default applies."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="notification_choices")
    kind = models.CharField(max_length=30)
    when = models.CharField(max_length=10)
    # for a kind that was off: earlier events send no notification
    on_since = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "kind"], name="one_choice_per_kind")]

    def __str__(self) -> str:
        return f"{self.kind}: {self.when}"


class Notification(Job):
    """One notification for one person. Due rows with the same `batch_key` are sent as one email.

    `dedupe_key` names the event, so that nobody is notified of it twice. `path` is the portal page
    that it links to. A notification never contains a signed link, a label or the carrier's own
    words.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="notifications")
    sender = models.ForeignKey(Sender, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=30)
    batch_key = models.CharField(max_length=80)
    dedupe_key = models.CharField(max_length=120)
    line = models.CharField(max_length=300)
    path = models.CharField(max_length=200)
    happened_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "dedupe_key"], name="one_notification_of_an_event"
            )
        ]
        indexes = [
            due_index("notifications_owed"),
            models.Index(
                fields=["happened_at"], name="notifications_with_words", condition=~Q(line="")
            ),
        ]

    def __str__(self) -> str:
        return self.line


class ApprovalRequest(Job):
    """The email that asks operators to approve a new account; see accounts/login/signing_up.py."""

    sender = models.OneToOneField(Sender, on_delete=models.CASCADE, related_name="+")

    class Meta:
        indexes = [due_index("approvals_owed")]

    def __str__(self) -> str:
        return f"approval of {self.sender}"
