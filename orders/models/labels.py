"""The carrier's label files, stored byte for byte, here or in a bucket."""

import datetime as dt
import hashlib

from django.db import connection, models
from django.db.models import Q, Sum, Value
from django.db.models.functions import Coalesce

from orders.models.order import Order
from orders.models.statuses import STILL_AT_SENDER, Status
from shipping_portal.db import bucket
from shipping_portal.jobs.models import Job, WideJob, due_index


class Label(WideJob):
    """One file of one order. Its bytes are in a separate table, read only to serve them."""

    class State(models.TextChoices):
        PENDING = "pending", "Being fetched"
        STORED = "stored", "Stored"
        ABSENT = "absent", "Not offered"
        FAILED = "failed", "Couldn't be fetched"
        # after a restore: the order may have been cancelled since the backup
        WITHHELD = ("withheld", "Being compared")

    class Damaged(Exception):
        """Raised when the stored bytes no longer match their sha256. They are never served."""

    DAMAGED = "The stored file doesn't match its checksum."

    # The constraint's index starts with this column.
    order = models.ForeignKey(
        Order, on_delete=models.PROTECT, related_name="labels", db_index=False
    )
    size = models.CharField(max_length=7, choices=[("full", "Full page"), ("cropped", "Cropped")])
    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    problem = models.CharField(max_length=300, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    length = models.PositiveIntegerField(null=True, blank=True)
    # A secret from the booking reply: shown nowhere, emptied once fetched or found useless.
    address = models.TextField(blank=True)
    stored_at = models.DateTimeField(null=True, blank=True)
    served_at = models.DateTimeField(null=True, blank=True)  # when its bytes were first served
    purged_at = models.DateTimeField(null=True, blank=True)
    # A size that this sender doesn't print: fetched in slots that nobody else wants.
    is_spare = models.BooleanField(default=False, db_default=False)
    # Made with a test key outside the demo: no carrier accepts it.
    is_worthless = models.BooleanField(default=False, db_default=False)

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
            models.Index(fields=["state"], name="labels_with_a_job", condition=Q(has_job=True)),
            models.Index(
                fields=["order"], name="labels_missing", condition=Q(state__in=["absent", "failed"])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.size} label of {self.order}"

    @property
    def is_ready(self) -> bool:
        return self.state == self.State.STORED and self.purged_at is None

    @property
    def is_awaited(self) -> bool:
        return self.state == self.State.PENDING and not self.is_spare

    @property
    def is_damaged(self) -> bool:
        return self.state == self.State.FAILED and self.problem == self.DAMAGED

    @property
    def is_printable(self) -> bool:
        return self.is_ready and not self.is_worthless

    def serve(self, *, at: dt.datetime) -> bytes:
        """Return the carrier's bytes. No other code serves them.

        The first time is recorded, because an adoption can be undone until then. Raises what
        `intact_bytes` does.
        """
        try:
            content = self.intact_bytes()
        except self.Damaged:
            self.note_damage()
            raise
        # Before the first byte leaves: undoing an adoption now either has deleted the row or finds
        # this written.
        first = Coalesce("served_at", Value(at))
        if self.served_at is None and not Label.objects.filter(pk=self.pk).update(served_at=first):
            raise LabelBytes.DoesNotExist
        return content

    def note_damage(self) -> None:
        """Stop offering the file, and show the label to operators. Its bytes stay."""
        stored = Label.objects.filter(pk=self.pk, state=self.State.STORED)
        stored.update(state=self.State.FAILED, problem=self.DAMAGED)

    def intact_bytes(self) -> bytes:
        """Return the carrier's bytes of a currently booked parcel, checked against their sha256.

        Raises Damaged. Raises LabelBytes.DoesNotExist if the parcel is no longer booked, its
        account's dispatch was stopped before it was collected, or the file is gone. Raises
        bucket.OutOfReach.
        """
        # Not self.file: the two would refer to each other and keep the bytes until Python collects
        # cycles.
        kept = LabelBytes.objects.filter(
            label=self, label__state=self.State.STORED, label__order__status=Status.BOOKED
        )
        kept = kept.filter(
            ~Q(label__order__progress__in=STILL_AT_SENDER)
            | Q(label__order__sender__dispatch_stopped_at=None)
        )
        content = kept.only("content", "address").get().read()
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise self.Damaged(f"{self.size} label {self.pk}")
        return content


class LabelBytes(models.Model):
    label = models.OneToOneField(Label, on_delete=models.CASCADE, related_name="file")
    content = models.BinaryField()
    # Of the file in the bucket; empty if `content` has the bytes. The previous version's workers
    # store labels during an upgrade.
    address = models.CharField(max_length=200, blank=True, default="", db_default="")

    class Meta:
        indexes = [
            models.Index(fields=["address"], name="label_files_named", condition=~Q(address=""))
        ]

    def __str__(self) -> str:
        return f"bytes of label {self.label_id}"

    def read(self) -> bytes:
        """Return the bytes as they are, b"" if the file is missing. Raises bucket.OutOfReach."""
        if not self.address:
            return bytes(self.content)
        try:
            return bucket.read_file(self.address)
        except FileNotFoundError:
            return b""

    @classmethod
    def stored(cls) -> int:
        """Return how many bytes are stored. PostgreSQL knows the size; SQLite has to add it up."""
        if connection.vendor != "postgresql":
            return Label.objects.filter(file__isnull=False).aggregate(sum=Sum("length"))["sum"] or 0
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_total_relation_size('orders_labelbytes')")
            return int(cursor.fetchone()[0])


class BucketFile(Job):
    """A file of the bucket. Once due, it is deleted if no label names it.

    The row exists before the file does, and is deleted after it.
    """

    key = models.CharField(max_length=200, unique=True)
    is_ending = models.BooleanField(default=False)  # no label can name it any more

    class Meta:
        indexes = [due_index("bucket_files_due")]

    def __str__(self) -> str:
        return f"file {self.key}"
