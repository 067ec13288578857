"""Imports: a file of parcels as typed, row by row, from the upload to the last booking."""

import datetime as dt
import uuid
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from orders.models.order import Order
from orders.models.quotes import Quote
from shipping_portal.accounts.address.text import normalise_text
from shipping_portal.accounts.models import OwnedQuerySet, PickupAddress
from shipping_portal.importing.encodings import CODE_PAGES
from shipping_portal.jobs.models import Job

SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}


class Import(models.Model):
    """One file.

    `columns` maps our fields to columns of the file, `constants` maps fields to one value for all
    rows; both use the names in shipping_portal.importing.columns. `filled` lists the columns that
    aren't empty. Its rows show its progress.
    """

    class State(models.TextChoices):
        MATCHING = "matching", "Columns to match"
        CHECKING = "checking", "Being checked"
        BOOKING = "booking", "Booked"

    uuid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    sender = models.ForeignKey("accounts.Sender", on_delete=models.CASCADE, related_name="imports")
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
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
    # how it was read, see shipping_portal.importing.notes
    notes = models.JSONField(null=True, blank=True)
    # an operator's words: only operators can release it
    hold = models.CharField(max_length=300, blank=True)
    restore = models.ForeignKey(  # the restore that holds it: its due rows may already be booked
        "orders.Restore", on_delete=models.PROTECT, null=True, blank=True, related_name="imports"
    )
    begun_at = models.DateTimeField(null=True, blank=True)  # the latest press of Book
    begun_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    # when somebody last watched it being booked
    looked_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    # archived by its sender: its rows to fix no longer count
    archived_at = models.DateTimeField(null=True, blank=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["sender", "-created_at"], name="imports_newest_first"),
            models.Index(fields=["sender", "sha256"], name="imports_by_file"),
            models.Index(
                fields=["begun_at"],
                name="imports_under_way",
                condition=Q(state="booking", finished_at=None),
            ),
        ]

    @cached_property
    def pickup_address(self) -> PickupAddress | None:
        """The sender's pickup address, read once for all rows."""
        return self.sender.pickup_address()

    def __str__(self) -> str:
        return self.file_name

    @property
    def read_as(self) -> str:
        """Return the kind of file in words.

        This gives the encoding, by the name spreadsheets use, and the delimiter.
        """
        if not self.delimiter:
            return "an Excel workbook"
        encoding = ({"utf-8-sig": "UTF-8"} | CODE_PAGES).get(self.encoding, self.encoding.upper())
        return f"{encoding} with {SEPARATORS[self.delimiter]}"


class ImportRow(Job):
    """One row of a file: a parcel or, with `joined_into`, a further item in another row's parcel.

    `cells` never change; `corrected` has corrections by our field, and its sender's decisions.
    `problems` are messages by field, "" for the whole row. `token` is the form token of its one
    order: however often the row is booked, the order is the same. The service and price are stored
    when Book is pressed. A booked row's state is its order's.
    """

    FENCE = ("state", "corrected")

    class State(models.TextChoices):
        NEW = "new", "To be checked"
        READY = "ready", "Ready"
        WARNING = "warning", "Ready, worth a second look"
        FIX = "fix", "To be fixed"
        SKIPPED = "skipped", "Left out"
        JOINED = "joined", "Part of another row's parcel"
        DUE = "owed", "Waiting to be booked"
        BOOKED = "booked", "Handed over for booking"
        FAILED = "failed", "Not booked"

    READY = (State.READY, State.WARNING)

    file = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="rows")
    number = models.PositiveIntegerField()
    cells = models.JSONField()
    corrected = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.NEW)
    problems = models.JSONField(default=dict, blank=True)
    # [suburb, state, postcode] that the sender may have meant
    near = models.JSONField(default=list, blank=True)
    quote = models.ForeignKey(
        Quote, on_delete=models.SET_NULL, null=True, blank=True, related_name="import_rows"
    )
    # the sender's order number, as checked
    reference = models.CharField(max_length=255, blank=True)
    joined_into = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="lines"
    )
    token = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    product_code = models.CharField(max_length=100, blank=True)
    pickup_date = models.DateField(null=True, blank=True)
    booked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    order = models.OneToOneField(
        Order, on_delete=models.PROTECT, null=True, blank=True, related_name="import_row"
    )

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["file", "number"], name="one_row_of_a_number_per_file")
        ]
        indexes = [
            models.Index(fields=["file", "state", "number"], name="import_rows_by_state"),
            models.Index(
                fields=["state", "due_at"],
                name="import_rows_owed",
                condition=Q(due_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"row {self.number} of {self.file}"

    @property
    def of_parcel(self) -> list["ImportRow"]:
        """This row and those joined to it: all rows of its parcel."""
        return [self, *self.lines.all()]

    def cell(self, place: int | None) -> str:
        """Return the cell at this position as typed, or "" if there is none."""
        return str(self.cells[place]) if place is not None and place < len(self.cells) else ""

    def seen(self, place: int | None) -> str:
        """Return the cell at this position as people see it, or "" if there is none."""
        return normalise_text(self.cell(place)).strip()

    def cell_of(self, name: str) -> str:
        """Return the cell for one of our fields as typed, or "" if there is none."""
        return self.cell(self.file.columns.get(name))

    def hand_over(self, order: Order) -> None:
        """Link the row to its order, whatever state the row is in."""
        mine = ImportRow.objects.filter(pk=self.pk, order=None)
        mine.update(state=self.State.BOOKED, order=order, problems={}, due_at=None, **self.AFRESH)


def due_for_check(now: dt.datetime) -> dict[str, Any]:
    """Return the changes that make a row due for a check, with nothing left from the last check."""
    return {
        "state": ImportRow.State.NEW,
        "due_at": now,
        "problems": {},
        "near": [],
        "quote": None,
        "reference": "",
    }


class ImportTry(models.Model):
    """An attempt to upload, counted before anything is read: unreadable files cost time too."""

    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["made_by", "at"], name="import_tries_of_a_person")]

    def __str__(self) -> str:
        return f"{self.made_by_id} at {self.at}"


class ColumnMapping(models.Model):
    """How a sender matched the columns of a header. The next file with it skips the question."""

    sender = models.ForeignKey(
        "accounts.Sender", on_delete=models.CASCADE, related_name="column_mappings"
    )
    fingerprint = models.CharField(max_length=64)
    columns = models.JSONField()
    constants = models.JSONField()
    used_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["sender", "fingerprint"], name="one_mapping_per_header")
        ]

    def __str__(self) -> str:
        return f"columns of {self.sender}"
