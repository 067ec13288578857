"""Whether this is the database last in use, and each restore from a backup."""

import datetime as dt
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from shipping_portal.formats import admin_time

# The text for senders while bookings are paused after a restore.
GAP_IS_OPEN = (
    "Booking is paused: we are comparing our records with the carrier's after a fault on our side."
    " Parcels you booked recently may be missing here. Don't book them again until you hear"
    " from us."
)


# Why an order became a case: it may have been booked after the restored backup.
OLDER = "the backup is older than the answer"


class DatabaseMark(models.Model):
    """One row, written by `migrate`, that no copy of this database matches.

    See orders/restoring/marks.py.

    Values are empty if the database can't tell: SQLite has no oid, and a managed server may hide
    its identifier.
    """

    table_oid = models.BigIntegerField(null=True, blank=True)
    system_identifier = models.CharField(max_length=20, blank=True)
    timeline = models.CharField(max_length=8, blank=True)
    stamp = models.CharField(max_length=60, blank=True)  # the same as in RESTORE_MARK_FILE

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="one_database_mark")]

    def __str__(self) -> str:
        return self.stamp or "mark"


class RestoreQuerySet(models.QuerySet["Restore"]):
    def open(self) -> Self:
        """Return restores whose gap no operator has closed yet."""
        return self.filter(lifted_at=None)

    def since(self, at: dt.datetime) -> Self:
        """Return the restores since which rows of that time have come from a backup."""
        return self.filter(restored_at__gte=at)


class Restore(models.Model):
    """One restore. Requests to the carrier between backup and restore (the gap) are unknown here.

    It is open until an operator closes it; until then bookings are paused.
    """

    backup_at = models.DateTimeField(unique=True)
    restored_at = models.DateTimeField()
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    objects = RestoreQuerySet.as_manager()

    def __str__(self) -> str:
        return f"backup of {admin_time(self.backup_at)}"
