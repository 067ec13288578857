"""The carrier's label files, kept byte for byte."""

import hashlib

from django.db import models
from django.db.models import Q

from orders.models.order import Order
from shipping_portal.jobs.models import Job


class Label(Job):
    """One file of one order. Its bytes lie in a table of their own, read only to serve them."""

    class State(models.TextChoices):
        PENDING = "pending", "Being fetched"
        STORED = "stored", "Stored"
        ABSENT = "absent", "Not offered"
        FAILED = "failed", "Couldn't be fetched"

    class Damaged(Exception):
        """The stored bytes no longer have the sha256 they came with: never served."""

    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="labels")
    size = models.CharField(max_length=7, choices=[("full", "Full page"), ("cropped", "Cropped")])
    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    problem = models.CharField(max_length=300, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    length = models.PositiveIntegerField(null=True, blank=True)
    # Told by the reply to the booking, where the contract has no `view`; a secret, shown nowhere, emptied once fetched.
    address = models.TextField(blank=True)
    stored_at = models.DateTimeField(null=True, blank=True)
    purged_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["order", "size"], name="one_label_of_a_size_per_order"),
            models.CheckConstraint(
                condition=~Q(state="stored")
                | ~Q(sha256="") & Q(length__isnull=False, stored_at__isnull=False),
                name="a_stored_label_has_its_checksum",
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], name="labels_owed", condition=Q(due_at__isnull=False)),
            models.Index(
                fields=["order"], name="labels_missing", condition=Q(state__in=["absent", "failed"])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.size} label of {self.order}"

    @property
    def is_ready(self) -> bool:
        return self.state == self.State.STORED and self.purged_at is None

    def intact_bytes(self) -> bytes:
        """The carrier's bytes, checked against the sha256 stored with them. Raises Damaged."""
        return self.checked(bytes(self.file.content))

    def checked(self, content: bytes) -> bytes:
        """These bytes, if they have the sha256 stored with them. Raises Damaged."""
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise self.Damaged(str(self))
        return content


class LabelBytes(models.Model):
    label = models.OneToOneField(Label, on_delete=models.CASCADE, related_name="file")
    content = models.BinaryField()

    def __str__(self) -> str:
        return f"bytes of label {self.label_id}"
