"""Every status change of an order, written with it."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from orders.models.order import Order
from orders.models.statuses import BEING_CANCELLED, Status


class OrderChange(models.Model):
    """One status change of one order; written by move_to only."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="changes")
    old = models.CharField(max_length=20)
    new = models.CharField(max_length=20, choices=Status.choices)
    at = models.DateTimeField()
    # No index: nothing is searched by it, and users are never deleted.
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
    )
    reason = models.CharField(max_length=500)

    class Meta:
        ordering = ["pk"]
        indexes = [
            models.Index(fields=["at"], name="refusals_by_time", condition=Q(new=Status.REJECTED))
        ]

    def __str__(self) -> str:
        return f"{self.old} → {self.new}"

    @property
    def refusal(self) -> str:
        """Return the carrier's reason for senders. An operator's reason isn't for them."""
        is_no = self.new == Status.REJECTED or (
            self.new == Status.BOOKED and self.old in BEING_CANCELLED
        )
        return self.reason if is_no and self.by_id is None else ""

    @property
    def news(self) -> str:
        """Return the notification key of this change.

        The order's next change withdraws it (see move_to).
        """
        return f"change:{self.order_id}:{self.pk}"
