"""Files made in the background for a sender to download: proof packs and whole accounts."""

import datetime as dt
import uuid
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from orders.models import Label, OrderChange, Restore
from orders.models.order import Order
from orders.models.statuses import STILL_AT_SENDER, Status
from shipping_portal.accounts.models import OwnedQuerySet
from shipping_portal.jobs.models import Job, due_index


class ExportQuerySet(OwnedQuerySet["Export"]):
    def still_there(self, now: dt.datetime) -> Self:
        """Return exports in progress, or packed and not yet expired; newest first."""
        return self.filter(Q(finished_at=None) | Q(expires_at__gt=now)).order_by("-created_at")


class Export(Job):
    """One ZIP file: due while `due_at` is set, kept until `expires_at`.

    `done` of `total` parcels are packed.
    """

    class What(models.TextChoices):
        PROOF = "proof", "Proof pack"
        ACCOUNT = "account", "Everything of the account"

    uuid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    sender = models.ForeignKey("accounts.Sender", on_delete=models.CASCADE, related_name="exports")
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    what = models.CharField(max_length=8, choices=What.choices)
    order = models.ForeignKey(
        Order, on_delete=models.PROTECT, null=True, blank=True, related_name="exports"
    )
    created_at = models.DateTimeField()
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    finished_at = models.DateTimeField(null=True, blank=True)
    problem = models.CharField(max_length=300, blank=True)
    length = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)

    objects = ExportQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(what="account", order=None) | Q(what="proof", order__isnull=False),
                name="a_proof_pack_is_of_an_order",
            )
        ]
        indexes = [
            models.Index(fields=["sender", "-created_at"], name="exports_newest_first"),
            due_index("exports_owed"),
        ]

    def __str__(self) -> str:
        return f"{self.get_what_display()} {self.pk}"

    @property
    def holds_closed_label(self) -> bool:
        """Return whether it may contain an unusable label.

        That is a label that was cancelled, stopped, or held after a restore.

        This is checked each time, because the file outlives these events by days.
        """
        packed_at = self.finished_at or timezone.now()
        orders = Order.objects.filter(
            Q(pk=self.order_id) if self.order_id else Q(sender=self.sender_id)
        )
        orders = orders.filter(
            Exists(Label.objects.filter(order=OuterRef("pk"), stored_at__lte=packed_at))
        )
        left = OrderChange.objects.filter(
            order=OuterRef("pk"), old=Status.BOOKED, at__gte=self.created_at
        )
        withheld = Label.objects.filter(order=OuterRef("pk"), state=Label.State.WITHHELD)
        # Exports packed after the restore left them out.
        is_a_backups = Restore.objects.since(packed_at).exists()
        # Three queries, the first two by their own indexes of a sender's orders.
        moved = orders.filter(Exists(left), status__in=set(Status.values) - {Status.BOOKED})
        stopped = orders.filter(
            status=Status.BOOKED,
            progress__in=STILL_AT_SENDER,
            sender__dispatch_stopped_at__gte=self.created_at,
        )
        return (
            moved.exists()
            or stopped.exists()
            or (is_a_backups and orders.filter(Exists(withheld)).exists())
        )


class ExportPart(models.Model):
    """A numbered piece of the file. Processes don't share a disk, so pieces are rows."""

    export = models.ForeignKey(Export, on_delete=models.CASCADE, related_name="parts")
    number = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["export", "number"], name="a_part_of_an_export_once")
        ]

    def __str__(self) -> str:
        return f"part {self.number} of {self.export_id}"
