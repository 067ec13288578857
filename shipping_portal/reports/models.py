"""Each sender's daily figures, counted from parcels, so that no page reads parcels one by one."""

from django.db import models

from shipping_portal.accounts.models import OwnedQuerySet
from shipping_portal.jobs.models import Job, due_index


class Counting(Job):
    """When to count a sender's days next, and when and in which time zone that last happened."""

    sender = models.OneToOneField("accounts.Sender", on_delete=models.CASCADE, primary_key=True)
    zone = models.CharField(max_length=64, blank=True)
    counted_at = models.DateTimeField(null=True, blank=True, db_index=True)
    all_counted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            due_index("countings_owed"),
            models.Index(fields=["all_counted_at"], name="countings_by_age"),
        ]

    def __str__(self) -> str:
        return f"days of sender {self.sender_id}"


class DayFigures(models.Model):
    """A day in a sender's zone with deliveries, planned pickups, or bookings charged later.

    `figures` is `day_figures.Figures` as JSON.
    """

    sender = models.ForeignKey(
        "accounts.Sender", on_delete=models.CASCADE, db_index=False, related_name="day_figures"
    )
    day = models.DateField()
    figures = models.JSONField()
    late = models.JSONField()  # the keys of orders delivered late, for the refunds list

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["sender", "day"], name="a_day_is_counted_once")
        ]

    def __str__(self) -> str:
        return f"{self.day} of sender {self.sender_id}"
