"""Imports: a file of parcels as its sender typed it, row by row, from the upload to the last booking."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from orders.models.order import Order
from orders.models.quotes import Quote
from shipping_portal.accounts.models import OwnedQuerySet
from shipping_portal.importing.encodings import CODE_PAGES
from shipping_portal.jobs.models import Job

SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}


class Import(models.Model):
    """One file. `columns` leads from our field to its column in the file, `constants` from a field to what all rows
    have; both are in the words of shipping_portal.importing.columns. `filled` are the columns with anything in them.
    How far it is, the rows say.
    """

    class State(models.TextChoices):
        MATCHING = "matching", "Columns to match"
        CHECKING = "checking", "Being checked"
        BOOKING = "booking", "Booked"

    uuid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    sender = models.ForeignKey("accounts.Sender", on_delete=models.CASCADE, related_name="imports")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    file_name = models.CharField(max_length=120)
    sha256 = models.CharField(max_length=64)
    encoding = models.CharField(max_length=20)
    delimiter = models.CharField(max_length=1)
    header = models.JSONField()
    filled = models.JSONField(default=list, blank=True)
    fingerprint = models.CharField(max_length=64)
    columns = models.JSONField(default=dict, blank=True)
    constants = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.MATCHING)
    paused_at = models.DateTimeField(null=True, blank=True)
    notes = models.JSONField(null=True, blank=True)  # of how it was read, see shipping_portal.importing.notes
    hold = models.CharField(max_length=300, blank=True)  # an operator's words: only operators let it go on
    restore = models.ForeignKey(  # which holds it: its owed rows may be booked already
        "orders.Restore", on_delete=models.PROTECT, null=True, blank=True, related_name="imports"
    )
    begun_at = models.DateTimeField(null=True, blank=True)  # the newest press of Book
    begun_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    looked_at = models.DateTimeField(null=True, blank=True)  # somebody watches it being booked
    finished_at = models.DateTimeField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)  # put away by its sender: its rows to fix need nobody

    objects = OwnedQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["sender", "-created_at"], name="imports_newest_first"),
            models.Index(fields=["sender", "sha256"], name="imports_by_file"),
            models.Index(fields=["begun_at"], name="imports_under_way", condition=Q(state="booking", finished_at=None)),
        ]

    def __str__(self) -> str:
        return self.file_name

    @property
    def read_as(self) -> str:
        """What kind of file it was, in words: as a spreadsheet calls its encoding, and what stands between cells."""
        if not self.delimiter:
            return "an Excel workbook"
        encoding = ({"utf-8-sig": "UTF-8"} | CODE_PAGES).get(self.encoding, self.encoding.upper())
        return f"{encoding} with {SEPARATORS[self.delimiter]}"


class ImportRow(Job):
    """One row of a file: a parcel, or with `joined_into` a further item of another row's parcel.

    `cells` are never changed; `corrected` holds what was put right by our field, and what its sender decided.

    `problems` are messages by field, "" for the whole row. `token` is the form token of its one order: whoever books
    the row, and however often, makes the same order. What it is to be booked as is written down when Book is pressed.
    A booked row stands as its order stands.
    """

    FENCE = ("state",)

    class State(models.TextChoices):
        NEW = "new", "To be checked"
        READY = "ready", "Ready"
        WARNING = "warning", "Ready, worth a second look"
        FIX = "fix", "To be fixed"
        SKIPPED = "skipped", "Left out"
        JOINED = "joined", "Part of another row's parcel"
        OWED = "owed", "Waiting to be booked"
        BOOKED = "booked", "Handed over for booking"
        FAILED = "failed", "Not booked"

    READY = (State.READY, State.WARNING)

    file = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="rows")
    number = models.PositiveIntegerField()
    cells = models.JSONField()
    corrected = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.NEW)
    problems = models.JSONField(default=dict, blank=True)
    near = models.JSONField(default=list, blank=True)  # [suburb, state, postcode] that may have been meant
    quote = models.ForeignKey(Quote, on_delete=models.SET_NULL, null=True, blank=True, related_name="import_rows")
    reference = models.CharField(max_length=255, blank=True)  # its own order number, as checked
    joined_into = models.ForeignKey("self", on_delete=models.CASCADE, null=True, blank=True, related_name="lines")
    token = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    product_code = models.CharField(max_length=100, blank=True)
    pickup_date = models.DateField(null=True, blank=True)
    booked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    order = models.OneToOneField(Order, on_delete=models.PROTECT, null=True, blank=True, related_name="import_row")

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["file", "number"], name="one_row_of_a_number_per_file")]
        indexes = [
            models.Index(fields=["file", "state", "number"], name="import_rows_by_state"),
            models.Index(fields=["state", "due_at"], name="import_rows_owed", condition=Q(due_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"row {self.number} of {self.file}"

    def hand_over(self, order: Order) -> None:
        """Stand as its order from now on, whatever became of the row meanwhile: an order is never forgotten."""
        mine = ImportRow.objects.filter(pk=self.pk, order=None)
        mine.update(state=self.State.BOOKED, order=order, problems={}, due_at=None, **self.AFRESH)


class ImportTry(models.Model):
    """A press of Upload, counted before anything is read: what can't be read takes time as well."""

    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["made_by", "at"], name="import_tries_of_a_person")]

    def __str__(self) -> str:
        return f"{self.made_by_id} at {self.at}"


class ColumnMapping(models.Model):
    """How a sender matched the columns of files with this header; the next such file skips the question."""

    sender = models.ForeignKey("accounts.Sender", on_delete=models.CASCADE, related_name="column_mappings")
    fingerprint = models.CharField(max_length=64)
    columns = models.JSONField()
    constants = models.JSONField()
    used_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["sender", "fingerprint"], name="one_mapping_per_header")]

    def __str__(self) -> str:
        return f"columns of {self.sender}"
