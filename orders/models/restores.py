"""Whether this is the database that was in use last, and each time it was restored from a backup instead."""

import datetime as dt
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from shipping_portal.formats import desk_time

# What senders read of the pause of bookings that holds until a gap is lifted.
GAP_IS_OPEN = (
    "Booking is paused: we are comparing our records with the carrier's after a fault on our side. Parcels you "
    "booked recently may be missing here. Don't book them again until you hear from us."
)


# Why an order became a case: it may have been booked after the backup it was restored from.
OLDER = "the backup is older than the answer"


class DatabaseMark(models.Model):
    """What no copy of this database agrees with: one row, written by `migrate`; see orders/restoring/marks.py.

    Empty where the database cannot tell it: SQLite knows no oid, and a managed server may keep its identifier back.
    """

    table_oid = models.BigIntegerField(null=True, blank=True)
    system_identifier = models.CharField(max_length=20, blank=True)
    timeline = models.CharField(max_length=8, blank=True)
    stamp = models.CharField(max_length=60, blank=True)  # what RESTORE_MARK_FILE says, too

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="one_database_mark")]

    def __str__(self) -> str:
        return self.stamp or "mark"


class RestoreQuerySet(models.QuerySet["Restore"]):
    def open(self) -> Self:
        """Return those whose gap no operator has lifted yet."""
        return self.filter(lifted_at=None)

    def since(self, at: dt.datetime) -> Self:
        """Return those after which what was written at that time is a backup's: more may have come of it."""
        return self.filter(restored_at__gte=at)


class Restore(models.Model):
    """One restore. What the carrier was told between the backup and the restore is unknown here: the gap.

    It is open until an operator lifts it; until then bookings stay paused.
    """

    backup_at = models.DateTimeField(unique=True)
    restored_at = models.DateTimeField()
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    objects = RestoreQuerySet.as_manager()

    def __str__(self) -> str:
        return f"backup of {desk_time(self.backup_at)}"
