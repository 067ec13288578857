"""What we are about to ask the carrier, committed before the first byte leaves."""

import uuid
from typing import Any

from django.db import models
from django.db.models import Q

from orders.models.order import Order


class BookingAttempt(models.Model):
    """One attempt to book an order, with the exact bytes sent. At most one per order is live."""

    class State(models.TextChoices):
        IN_FLIGHT = "in_flight", "Sent, no answer yet"
        ACCEPTED = "accepted", "Booked"
        REJECTED = "rejected", "Refused"
        NOT_SENT = "not_sent", "Never sent"
        UNKNOWN = "unknown", "Outcome unknown"
        NOT_CREATED = "not_created", "Resolved as not booked"

    LIVE = ("in_flight", "unknown", "accepted")

    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="attempts")
    generation = models.PositiveSmallIntegerField()
    key = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    body = models.BinaryField()
    body_sha256 = models.CharField(max_length=64)
    state = models.CharField(max_length=12, choices=State.choices)
    lease_until = models.DateTimeField()
    sent_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)
    replays = models.PositiveSmallIntegerField(default=0)
    http_status = models.PositiveSmallIntegerField(null=True, blank=True)
    # capped; links and label addresses are removed
    response = models.BinaryField(default=bytes, blank=True)
    error = models.CharField(max_length=300, blank=True)
    # from a reply that we didn't trust
    seen_reference = models.CharField(max_length=100, blank=True)
    # see orders/booking/duplicate_bookings.py
    duplicate_booking_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["duplicate_booking_at"],
                name="duplicate_bookings_waiting",
                condition=Q(duplicate_booking_at__isnull=False),
            )
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["order"],
                condition=Q(state__in=["in_flight", "unknown", "accepted"]),
                name="one_live_attempt_per_order",
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=[
                        "in_flight",
                        "accepted",
                        "rejected",
                        "not_sent",
                        "unknown",
                        "not_created",
                    ]
                ),
                name="a_known_attempt_state",
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.pk} of order {self.order_id}"


class CancelAttempt(models.Model):
    """One attempt to cancel an order. At most one per order is live."""

    class State(models.TextChoices):
        WANTED = "wanted", "Requested"
        IN_FLIGHT = "in_flight", "Sent, no answer yet"
        DONE = "done", "Cancelled"
        REFUSED = "refused", "Refused"
        UNKNOWN = "unknown", "Outcome unknown"

    LIVE = ("wanted", "in_flight", "unknown")

    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="cancels")
    by = models.ForeignKey("accounts.User", on_delete=models.PROTECT, null=True, related_name="+")
    why = models.CharField(max_length=300)
    state = models.CharField(max_length=12, choices=State.choices, default=State.WANTED)
    tries = models.PositiveSmallIntegerField(default=0)
    asked_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)
    http_status = models.PositiveSmallIntegerField(null=True, blank=True)
    response = models.BinaryField(default=bytes, blank=True)
    answer = models.CharField(max_length=500, blank=True)  # the carrier's words

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["order"],
                condition=Q(state__in=["wanted", "in_flight", "unknown"]),
                name="one_live_cancel_per_order",
            )
        ]

    def __str__(self) -> str:
        return f"cancel {self.pk} of order {self.order_id}"

    def change(self, **changes: Any) -> bool:
        """Write `changes` if the attempt is still as it was read.

        A worker that slept past its lease finds it changed.
        """
        if not CancelAttempt.objects.filter(
            pk=self.pk, state=self.state, sent_at=self.sent_at
        ).update(**changes):
            return False
        for name, value in changes.items():
            setattr(self, name, value)
        return True
