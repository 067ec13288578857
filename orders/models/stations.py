"""Print stations at benches, and the labels that they are asked to print."""

import datetime as dt
import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from orders.models.order import Order
from shipping_portal.accounts.models import ApiToken
from shipping_portal.accounts.models.senders import OwnedQuerySet, Sender


class PrintStation(models.Model):
    """A small program at one bench, with one printer. It ends when its token does."""

    ON_FOR = dt.timedelta(seconds=30)  # counted from when it was last heard from

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    sender = models.ForeignKey(Sender, on_delete=models.CASCADE, related_name="print_stations")
    token = models.OneToOneField(ApiToken, on_delete=models.CASCADE, related_name="print_station")
    name = models.CharField(max_length=40)
    # What it says about itself. Only the first installation that asks for a label is served.
    installation = models.UUIDField(null=True, blank=True)
    printer = models.CharField(max_length=100, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)  # within SEEN_EVERY

    objects = OwnedQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    def is_on(self, now: dt.datetime) -> bool:
        """Return whether it prints what it is asked to."""
        is_heard = self.seen_at is not None and now - self.seen_at < self.ON_FOR
        return is_heard and not self.token.why_ended(now)


class PrintJob(models.Model):
    """One label that one station is asked to print, once."""

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        TAKEN = "taken", "Printing"
        PRINTED = "printed", "Printed"
        FAILED = "failed", "Not printed"
        WITHDRAWN = "withdrawn", "Withdrawn"

    OPEN = (State.WAITING, State.TAKEN)

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    # The index below starts with this column.
    station = models.ForeignKey(
        PrintStation, on_delete=models.CASCADE, related_name="jobs", db_index=False
    )
    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="print_jobs")
    size = models.CharField(max_length=7)
    state = models.CharField(max_length=9, choices=State.choices, default=State.WAITING)
    # It may already be on paper, and was requested on purpose.
    is_again = models.BooleanField(default=False)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    asked_at = models.DateTimeField()
    taken_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    words = models.CharField(max_length=300, blank=True)  # the printer's words, or ours

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["order"],
                condition=Q(state__in=["waiting", "taken"]),
                name="one_open_print_job_of_an_order",
            )
        ]
        indexes = [
            models.Index(fields=["station", "state"], name="print_jobs_of_a_station"),
            models.Index(
                fields=["ended_at"], name="print_jobs_ended", condition=Q(ended_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"print of {self.order_id} at {self.station_id}"

    @property
    def is_open(self) -> bool:
        return self.state in self.OPEN
