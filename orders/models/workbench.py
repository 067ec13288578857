"""What makes the second parcel faster than the first: half-typed forms, mended parcels and kept views of the list."""

import uuid
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from orders.models.order import Order
from shipping_portal.accounts.models import OwnedQuerySet
from shipping_portal.jobs.models import Job


class Draft(models.Model):
    """A half-typed new-parcel form, as typed: never an order, never sent."""

    uuid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    sender = models.ForeignKey("accounts.Sender", on_delete=models.CASCADE, related_name="drafts")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    values = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField()

    objects = OwnedQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["sender", "-updated_at"], name="drafts_newest_first")]

    def __str__(self) -> str:
        return f"draft {self.uuid}"


class PriceWait(Job):
    """Somebody who wants to hear when the carrier gives prices for a draft again. Gone once told, or with the draft."""

    draft = models.ForeignKey(Draft, on_delete=models.CASCADE, related_name="price_waits")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    asked_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["draft", "user"], name="one_price_wait_per_draft_and_person")]
        indexes = [models.Index(fields=["due_at"], name="price_waits_owed", condition=Q(due_at__isnull=False))]

    def __str__(self) -> str:
        return f"prices for {self.draft}"


class SavedViewQuerySet(OwnedQuerySet["SavedView"]):
    def for_user(self, user: Any) -> Self:
        """Return one's own, and those shared with the team."""
        return super().for_user(user).filter(Q(made_by=user) | Q(is_shared=True))


class SavedView(models.Model):
    """A filter of the parcels list with a name; `query` is the list's query string."""

    sender = models.ForeignKey("accounts.Sender", on_delete=models.CASCADE, related_name="views")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    slug = models.SlugField(max_length=70)
    query = models.CharField(max_length=500)
    is_shared = models.BooleanField("the whole team sees it", default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["sender", "slug"], name="one_view_of_a_name_per_sender")]

    def __str__(self) -> str:
        return self.name


class ReplacementQuerySet(models.QuerySet["Replacement"]):
    def answered(self) -> Self:
        """Open ones whose parcel the carrier has answered for: cancelled, or still booked after all."""
        return self.filter(ended_at=None, restore=None, order__status__in=(Order.Status.CANCELLED, Order.Status.BOOKED))

    def left_out(self) -> Self:
        """Return those that Replacement.is_left_out is true of."""
        return self.filter(ended_at__isnull=False, restore__isnull=False)


class Replacement(Job):
    """What is booked instead of a parcel, once the carrier has cancelled that one. Until then there is no new order.

    It ends with `booked`, or with a `problem` that tells the sender why nothing new was booked, or is left out.
    """

    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="replacements")
    quote = models.ForeignKey("orders.Quote", on_delete=models.SET_NULL, null=True, related_name="+")
    product_code = models.CharField(max_length=100)
    pickup_date = models.DateField(null=True, blank=True)
    form_token = models.UUIDField()
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    booked = models.OneToOneField(Order, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    problem = models.CharField(max_length=500, blank=True)
    restore = models.ForeignKey(  # which holds it: what it owes may be booked already
        "orders.Restore", on_delete=models.PROTECT, null=True, blank=True, related_name="replacements"
    )

    objects = ReplacementQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["order"], condition=Q(ended_at=None), name="one_open_replacement_per_order")
        ]
        indexes = [models.Index(fields=["due_at"], name="replacements_owed", condition=Q(due_at__isnull=False))]

    def __str__(self) -> str:
        return f"replacement of {self.order}"

    @property
    def is_left_out(self) -> bool:
        """An operator ended it after a restore: the new parcel is booked, and known to the carrier only."""
        return self.ended_at is not None and self.restore_id is not None

    @property
    def is_only_cancelled(self) -> bool:
        """It ended with the parcel cancelled and nothing booked instead. A cancellation since then is another story."""
        cancelled_at = self.order.cancelled_at
        return bool(self.problem and self.ended_at and cancelled_at and cancelled_at <= self.ended_at)
