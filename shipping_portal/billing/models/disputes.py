"""Senders' questions about lines (“This looks wrong”), and their outcome."""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from shipping_portal.accounts.models import OwnedQuerySet
from shipping_portal.billing.models.charges import Charge


class DisputePhoto(models.Model):
    """A photo sent with a dispute, without its metadata: downloaded, never displayed."""

    sender = models.ForeignKey(
        "accounts.Sender", on_delete=models.PROTECT, related_name="dispute_photos"
    )
    kind = models.CharField(max_length=4)  # see billing/disputes/photos.py
    sha256 = models.CharField(max_length=64)
    content = models.BinaryField()

    objects = OwnedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"photo-{self.pk}.{self.kind}"


class DisputeQuerySet(OwnedQuerySet["Dispute"]):
    def open(self) -> Self:
        return self.filter(state=Dispute.State.OPEN)


class Dispute(models.Model):
    """One sender's question about one line.

    `facts` holds the declared, measured and quoted values at that time.
    """

    class State(models.TextChoices):
        OPEN = "open", "Being reviewed"
        ACCEPTED = "accepted", "Accepted"
        DECLINED = "declined", "Declined"

    charge = models.ForeignKey(Charge, on_delete=models.PROTECT, related_name="disputes")
    sender = models.ForeignKey("accounts.Sender", on_delete=models.PROTECT, related_name="disputes")
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    made_at = models.DateTimeField()
    text = models.TextField(max_length=2000)
    facts = models.JSONField(default=dict)
    # The same for all lines disputed together.
    photo = models.ForeignKey(
        DisputePhoto,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        db_index=False,
        related_name="disputes",
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    answer = models.TextField("answer to the sender", max_length=2000, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    credit = models.OneToOneField(
        Charge, on_delete=models.PROTECT, null=True, blank=True, related_name="settles"
    )

    objects = DisputeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["charge"], condition=Q(state="open"), name="one_open_dispute_per_line"
            )
        ]
        indexes = [
            models.Index(fields=["state", "made_at"], name="disputes_by_age"),
            models.Index(fields=["answered_at"], name="disputes_answered"),
            models.Index(fields=["photo"], name="disputes_of_a_photo"),
        ]

    def __str__(self) -> str:
        return f"dispute {self.pk}"
