"""Keep what a sender works with: drafts, corrections, and saved views of the list."""

import datetime as dt
import uuid
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from orders.models.order import Order
from orders.models.quotes import Quote
from orders.models.statuses import MAY_COST
from shipping_portal.accounts.models import OwnedQuerySet
from shipping_portal.carrier.messages import Party
from shipping_portal.jobs.models import Job, due_index


class Draft(models.Model):
    """A parcel from its first letter until it is booked: never an order, never sent.

    `values` holds the form's controls as typed, even unfinished or wrong. `values["kept"]` is the
    size whose declared weight its sender keeps; `values["unused"]` is the pasted text that no
    control took; `values["edit"]` is the page that sent them and its count of posts. A booked draft
    has its `order`, and no values. `origin` is the parcel that the draft copies, corrects, sends
    back or follows. `is_saved` is False for what nobody has typed into: a copy or a price check.
    """

    class Source(models.TextChoices):
        TYPED = "typed"
        COPIED = "copied"
        CORRECTED = "corrected"
        PRICE_CHECK = "price_check"
        RETURNED = "returned"

    uuid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    sender = models.ForeignKey("accounts.Sender", on_delete=models.CASCADE, related_name="drafts")
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    source = models.CharField(
        max_length=12, choices=Source.choices, default=Source.TYPED, db_default=Source.TYPED
    )
    # Drafts are never searched by these two, and orders are never deleted, so no index is needed.
    origin = models.ForeignKey(
        Order, on_delete=models.CASCADE, null=True, related_name="+", db_index=False
    )
    order = models.ForeignKey(
        Order, on_delete=models.CASCADE, null=True, related_name="+", db_index=False
    )
    quote = models.ForeignKey(
        Quote, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    values = models.JSONField(default=dict)
    is_saved = models.BooleanField(default=True, db_default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField()

    objects = OwnedQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["sender", "-updated_at"], name="drafts_newest_first"),
            models.Index(fields=["quote"], name="drafts_by_quote"),
        ]

    def __str__(self) -> str:
        return f"draft {self.uuid}"

    @property
    def corrects(self) -> Order | None:
        """The booked parcel that this one is to replace."""
        return self.origin if self.source == self.Source.CORRECTED else None

    @property
    def follows(self) -> Order | None:
        """The parcel booked from this draft, or from its page before more was typed there."""
        before = self.order or (self.origin if self.source == self.Source.TYPED else None)
        return before if before and before.status in MAY_COST else None

    @property
    def returns(self) -> int | None:
        """The key of the parcel that this one, or the return that it corrects, sends back."""
        if self.source == self.Source.RETURNED:
            return self.origin_id
        return self.corrects.returns_id if self.corrects else None

    @property
    def start(self) -> Party | None:
        """Where a return starts. Any other parcel starts at its sender's pickup address."""
        return self.origin.customer() if self.origin and self.returns else None


class PriceWait(Job):
    """A person to notify when a draft can get prices again.

    Deleted with the draft, or afterwards.
    """

    draft = models.ForeignKey(Draft, on_delete=models.CASCADE, related_name="price_waits")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    asked_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["draft", "user"], name="one_price_wait_per_draft_and_person"
            )
        ]
        indexes = [due_index("price_waits_owed")]

    def __str__(self) -> str:
        return f"prices for {self.draft}"


class SavedViewQuerySet(OwnedQuerySet["SavedView"]):
    def for_user(self, user: Any) -> Self:
        """Return the user's own views and those shared with the team."""
        return super().for_user(user).filter(Q(made_by=user) | Q(is_shared=True))


class SavedView(models.Model):
    """A named filter of the parcels list; `query` is its query string."""

    sender = models.ForeignKey("accounts.Sender", on_delete=models.CASCADE, related_name="views")
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    name = models.CharField(max_length=60)
    slug = models.SlugField(max_length=70)
    query = models.CharField(max_length=500)
    is_shared = models.BooleanField("the whole team sees it", default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["sender", "slug"], name="one_view_of_a_name_per_sender")
        ]

    def __str__(self) -> str:
        return self.name


class ReplacementQuerySet(models.QuerySet["Replacement"]):
    def answered(self) -> Self:
        """Return open replacements for which the carrier has decided about the old parcel.

        The parcel is cancelled, a refund was requested, or it stays booked.
        """
        return self.filter(
            ended_at=None,
            restore=None,
            order__status__in=(*Replacement.GOES_ON, Order.Status.BOOKED),
        )

    def left_out(self) -> Self:
        """Return replacements whose `is_left_out` is true."""
        return self.filter(ended_at__isnull=False, restore__isnull=False)


class Replacement(Job):
    """What is booked instead of a parcel once the carrier has cancelled it.

    Until then it isn't an order.

    It ends with `booked`, with a `problem` that says why nothing new was booked, or left out.
    """

    # In these statuses the new parcel is booked: a carrier may take a month over a refund, and then
    # refuse it.
    GOES_ON = (Order.Status.CANCELLED, Order.Status.CANCEL_ASKED)

    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="replacements")
    quote = models.ForeignKey(
        "orders.Quote", on_delete=models.SET_NULL, null=True, related_name="+"
    )
    product_code = models.CharField(max_length=100)
    pickup_date = models.DateField(null=True, blank=True)
    form_token = models.UUIDField()
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    asked_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    booked = models.OneToOneField(
        Order, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    problem = models.CharField(max_length=500, blank=True)
    restore = models.ForeignKey(  # a restore holds it: its booking may exist already
        "orders.Restore",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="replacements",
    )

    objects = ReplacementQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["order"], condition=Q(ended_at=None), name="one_open_replacement_per_order"
            )
        ]
        indexes = [due_index("replacements_owed")]

    def __str__(self) -> str:
        return f"replacement of {self.order}"

    def is_for(self, quote: Quote, code: str, pickup_date: dt.date | None) -> bool:
        """Return whether it is for this parcel, product and day. Old ones have no quote."""
        is_other = self.quote and self.quote.inputs_hash != quote.inputs_hash
        return not is_other and (self.product_code, self.pickup_date) == (code, pickup_date)

    @property
    def is_left_out(self) -> bool:
        """Return whether an operator ended it after a restore.

        Only the carrier has the new parcel.
        """
        return self.ended_at is not None and self.restore_id is not None

    @property
    def is_only_cancelled(self) -> bool:
        """Return whether the parcel was cancelled, or a refund requested, and nothing booked.

        A cancellation since then doesn't count.
        """
        if self.order.status == Order.Status.CANCEL_ASKED:
            return bool(self.problem and self.ended_at)
        cancelled_at = self.order.cancelled_at
        return bool(
            self.problem and self.ended_at and cancelled_at and cancelled_at <= self.ended_at
        )
