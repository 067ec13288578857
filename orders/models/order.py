"""One parcel that is booked, or to be booked, with the carrier. MOVES has its status changes."""

import datetime as dt
import uuid
from collections.abc import Collection
from decimal import Decimal
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import DateField, Q, QuerySet, Value
from django.db.models.functions import Coalesce, Upper

from orders.folding import fold
from orders.models.account import CarrierAccount
from orders.models.facts import CarrierFacts, OfferFacts, ParcelFacts
from orders.models.statuses import (
    HELD,
    MAY_COST,
    MOVING,
    STILL_AT_SENDER,
    UNDECIDED,
    Progress,
    Status,
)
from orders.status.progress import missed_pickups
from shipping_portal import request_ids
from shipping_portal.accounts.address.places import day_at
from shipping_portal.accounts.models import OwnedQuerySet
from shipping_portal.carrier.messages import Money, Party
from shipping_portal.db.planned_statements import Given, PlannedSelect
from shipping_portal.jobs.models import WideJob

# Used for drop-offs, and for pickups whose day the carrier has yet to name.
NO_DAY = dt.date(9999, 12, 31)
DAY = Coalesce("carrier_pickup_date", "pickup_date", Value(NO_DAY), output_field=DateField())
OPEN = Q(used_after_cancel_at__isnull=False) | ~(
    Q(status=Status.BOOKED, progress=Progress.DELIVERED) | Q(status=Status.CANCELLED)
)


COUNTED = (
    "id",
    "eta_to",
    "printed_at",
    "first_mile",
    "carrier_pickup_date",
    "pickup_date",
    "progress_at",
    "booked_at",
    "returns",
    "dismissed_at",
)


class OrderQuerySet(OwnedQuerySet["Order"]):
    def held(self) -> Self:
        return self.filter(status__in=HELD)


class Order(ParcelFacts, OfferFacts, CarrierFacts, WideJob):
    Status = Status
    Progress = Progress
    FENCE = ("status",)
    PICKED_UP_BY = (  # what decides whether a driver missed a pickup
        "status",
        "progress",
        "progress_at",
        "first_mile",
        "booked_at",
        "pickup",
        "carrier_pickup_date",
        "pickup_date",
        "quoted_pickup_date",
    )

    class WrongStatus(Exception):
        """Raised when the order's status doesn't allow this change, or has changed in between."""

    class SameForm(Exception):
        """Raised when this form is already booked."""

    class Duplicate(Exception):
        """Raised for a second return, or a parcel like one just booked, unless confirmed."""

    class PickupProblem(Exception):
        """Raised when a missed or futile pickup forbids cancelling (interface §3 rules 2 and 3)."""

    class AlreadyCollected(Exception):
        """Raised when the carrier has the parcel, so it can't be cancelled."""

    uuid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    request_id = models.CharField(  # of the request that created it, for the log
        max_length=request_ids.LONGEST,
        blank=True,
        default=request_ids.current_request,
        editable=False,
    )
    # No index of its own: several indexes start with this column.
    sender = models.ForeignKey(
        "accounts.Sender", on_delete=models.PROTECT, related_name="orders", db_index=False
    )
    # No index: nearly all rows have the same few values.
    account = models.ForeignKey(
        CarrierAccount, on_delete=models.PROTECT, related_name="orders", db_index=False
    )
    # No index: it is never searched without a sender.
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    form_token = models.UUIDField()
    form_hash = models.CharField(max_length=64)
    replaces = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="replaced_by"
    )
    # The parcel that this one sends back. Its `pickup` is then a person's address.
    returns = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="sent_back",
        db_index=False,
    )
    # For parcels booked together: the form's token, and this one's place among them.
    consignment = models.UUIDField(null=True, blank=True)
    parcel_number = models.PositiveSmallIntegerField(null=True, blank=True)
    parcel_count = models.PositiveSmallIntegerField(null=True, blank=True)
    status = models.CharField(max_length=20, choices=Status.choices, default=Status.DRAFT)
    progress = models.CharField(
        max_length=20, choices=Progress.choices, default=Progress.NONE, blank=True
    )
    progress_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    submitted_at = models.DateTimeField(db_index=True)  # when it last became due at the carrier
    booked_at = models.DateTimeField(null=True, blank=True)
    cancelled_at = models.DateTimeField(null=True, blank=True)
    used_after_cancel_at = models.DateTimeField(null=True, blank=True)
    # Set until it is collected or cancelled, or its sender dismisses it or asks again; `problem`
    # says why.
    cancel_refused_at = models.DateTimeField(null=True, blank=True)
    # Set when its sender has dealt with it; cleared by the next change of status or progress.
    dismissed_at = models.DateTimeField(null=True, blank=True)
    erased_at = models.DateTimeField(null=True, blank=True)  # its receiver and requests
    generation = models.PositiveSmallIntegerField(default=1)
    # For the sender: {"text": one line, "said": [sentence], "fields": {name: [message]}, "kind":
    # …}.
    problem = models.JSONField(default=dict, blank=True)

    search = models.TextField(blank=True)
    note = models.CharField("your note", max_length=500, blank=True)  # the sender's own, never sent
    printed_at = models.DateTimeField(null=True, blank=True)
    printed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
    )

    # How it counts in its sender's limits: `reserved` on one day, `unbilled` until its bill is
    # posted.
    reserved_on = models.DateField(null=True, blank=True)
    reserved = models.DecimalField(max_digits=16, decimal_places=2, default=Decimal(0))
    unbilled = models.DecimalField(max_digits=16, decimal_places=2, default=Decimal(0))

    objects = OrderQuerySet.as_manager()

    def log_fields(self) -> dict[str, Any]:
        """Return the fields of a log line about this order.

        By these fields a booking can be found in every process's log.
        """
        request = request_ids.current_request() or self.request_id
        return {"order": str(self.uuid), "reference": self.carrier_reference, "request": request}

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["sender", "form_token"], name="one_order_per_form"),
            # The reference comes first, as it is also looked up alone. There is no condition:
            # SQLite couldn't tell that the looked-up reference meets it.
            models.UniqueConstraint(
                Upper("carrier_reference"), "account", name="a_carrier_reference_once_per_account"
            ),
            models.CheckConstraint(
                condition=Q(
                    status__in=sorted(HELD),
                    carrier_reference__isnull=False,
                    booked_at__isnull=False,
                )
                | ~Q(status__in=sorted(HELD)) & Q(carrier_reference__isnull=True),
                name="a_reference_exactly_while_the_carrier_holds_it",
            ),
            models.CheckConstraint(
                condition=~Q(status="cancelled") | Q(cancelled_at__isnull=False),
                name="cancelled_has_a_time",
            ),
            models.CheckConstraint(condition=Q(status__in=Status.values), name="a_known_status"),
            models.CheckConstraint(condition=Q(price__gte=0), name="price_not_negative"),
            models.CheckConstraint(
                condition=Q(reserved_on__isnull=True, reserved=0, unbilled=0)
                | Q(reserved_on__isnull=False, status__in=sorted(MAY_COST)),
                name="only_what_may_cost_is_counted",
            ),
            models.CheckConstraint(
                condition=Q(weight_kg__gt=0, length_cm__gt=0, width_cm__gt=0, height_cm__gt=0),
                name="weight_and_dimensions_positive",
            ),
        ]
        indexes = [
            models.Index(fields=["sender", "-id"]),
            # Not one of the job's columns: see WideJob.
            models.Index(
                fields=["status"],
                name="orders_under_way",
                condition=Q(has_job=True) | Q(status__in=sorted(UNDECIDED)),
            ),
            models.Index(
                fields=["progress", "carrier_pickup_date"],
                name="orders_not_collected",
                condition=Q(
                    status=Status.BOOKED, progress__in=[Progress.NONE, Progress.PICKUP_FUTILE]
                ),
            ),
            # The sort orders of the parcels list, exactly as orders/list/listing.py asks for them.
            models.Index("sender", DAY, "id", name="orders_by_pickup_day"),
            # The few orders that are neither delivered nor cancelled: Today and most views of the
            # list count only these. As the index contains the counted columns, PostgreSQL reads
            # none of the rows.
            models.Index(
                fields=[
                    "sender",
                    "status",
                    "progress",
                    "used_after_cancel_at",
                    "cancel_refused_at",
                ],
                include=COUNTED,
                name="orders_to_count_of_sender",
                condition=OPEN,
            ),
            models.Index(
                fields=["sender", "eta_to", "id"],
                name="orders_due",
                condition=Q(status=Status.BOOKED, progress__in=MOVING),
            ),
            models.Index(
                fields=["booked_at"],
                name="orders_to_be_billed",
                condition=Q(unbilled__gt=0) | Q(unagreed_price__isnull=False),
            ),
            models.Index(
                fields=["submitted_at"], name="orders_not_erased", condition=Q(erased_at=None)
            ),
            # The few that send another parcel back, and the few that were booked with others. No
            # order is both, so a consignment's are searched for with `returns` empty.
            models.Index(
                fields=["returns", "consignment"],
                name="orders_of_another",
                condition=Q(returns__isnull=False) | Q(consignment__isnull=False),
            ),
            # Orders that `orders_to_count_of_sender` lacks.
            models.Index(
                fields=["sender", "status", "-progress_at"],
                name="orders_closed_by_sender",
                condition=Q(status=Status.BOOKED, progress=Progress.DELIVERED)
                | Q(status=Status.CANCELLED),
            ),
        ]

    def __str__(self) -> str:
        return self.carrier_reference or f"order {self.pk}"

    @staticmethod
    def returns_of(parcel: int | None) -> "QuerySet[Order]":
        """Return the returns of this parcel that are booked, or may be.

        One that was corrected into another return doesn't count; the other one does.
        """
        same = Order.objects.filter(returns=parcel, replaced_by=None)
        return same.filter(status__in=sorted(MAY_COST))

    def other_returns(self) -> "QuerySet[Order]":
        return self.returns_of(self.returns_id).exclude(pk=self.pk)

    @property
    def place_in_order(self) -> str:
        """Return which of several parcels of an order this is, `2 of 3`, or ""."""
        return f"{self.parcel_number} of {self.parcel_count}" if self.parcel_count else ""

    def consignment_parcels(self) -> "QuerySet[Order]":
        """Return the parcels of its consignment, itself included; corrected ones are left out."""
        if self.consignment is None:
            return Order.objects.none()
        same = Order.objects.filter(sender=self.sender_id, consignment=self.consignment)
        # A consignment has no returns: the index begins with them.
        return same.filter(returns=None, replaced_by=None).order_by("parcel_number", "pk")

    def note_pickup_date(self, day: dt.date) -> None:
        """Store the carrier's new pickup day.

        A missed pickup that was derived from the old day disappears.
        """
        if self.first_mile != "drop-off" and self.carrier_pickup_date != day:
            self._note(carrier_pickup_date=day)

    def note_cancellable(self, is_cancellable: bool | None) -> None:
        """Store whether the carrier would still cancel. None means that it doesn't say."""
        if is_cancellable is not None and self.is_cancellable != is_cancellable:
            self._note(is_cancellable=is_cancellable)

    def _note(self, **changes: Any) -> None:
        """Store what the carrier says, unless the order has lost that reference since."""
        same = Order.objects.filter(pk=self.pk, carrier_reference=self.carrier_reference)
        same.update(**changes)
        for name, value in changes.items():
            setattr(self, name, value)

    def expected_pickup(self) -> dt.date | None:
        """Return the carrier's pickup day, else the requested one, else the quoted one, or None."""
        return self.carrier_pickup_date or self.pickup_date or self.quoted_pickup_date

    def next_pickup(self, missed_at: dt.datetime | None, now: dt.datetime) -> dt.date | None:
        """Return the day of the next driver after a missed pickup, if the carrier has named it."""
        pickup, known = Party(**self.pickup), self.expected_pickup()
        is_over = (
            known is None
            or known < day_at(pickup, now)
            or (missed_at and known <= day_at(pickup, missed_at))
        )
        return None if is_over else known

    def shown_progress(self, now: dt.datetime) -> str:
        """Return the stored progress, or a missed pickup derived from the calendar.

        See orders/status/progress.py.
        """
        return Progress.PICKUP_MISSED if self._misses(now) else self.progress

    def missed_twice(self, now: dt.datetime) -> bool:
        """Return whether two business days passed without a driver (interface §3 rule 2)."""
        return self._misses(now) > 1

    def progress_before_cancelling(self, now: dt.datetime) -> str:
        """Return the progress of an order being cancelled.

        A pickup that has been missed since counts (interface §3).
        """
        return Progress.PICKUP_MISSED if self._misses(now, while_in=HELD) else self.progress

    def _misses(self, now: dt.datetime, *, while_in: Collection[str] = (Status.BOOKED,)) -> int:
        waits = self.status in while_in and self.progress == Progress.NONE
        if not waits or self.first_mile != "pickup" or self.booked_at is None:
            return 0
        pickup = Party(**self.pickup)
        return missed_pickups(
            self.expected_pickup(),
            booked_on=day_at(pickup, self.booked_at),
            heard_on=day_at(pickup, self.progress_at) if self.progress_at else None,
            today=day_at(pickup, now),
            where=(pickup.country, pickup.state),
        )

    def is_stopped(self, sender: Any) -> bool:
        """Return whether dispatch was stopped before this was collected: no label, no link."""
        return sender.dispatch_stopped_at is not None and self.progress in STILL_AT_SENDER

    @property
    def is_booked(self) -> bool:
        return self.status == Status.BOOKED

    @property
    def is_held(self) -> bool:
        return self.status in HELD

    @classmethod
    def locked(cls, pk: int) -> "Order":
        """Read and lock an order, and before it the sender, whose counters may be written.

        PostgreSQL locks in the order of `of`. With any other order, two workers could wait for each
        other.
        """
        if order := LOCKED.first(pk=pk):
            return order
        raise cls.DoesNotExist

    def order_key(self) -> str:
        """Return our idempotency key for this booking. A new generation is a new key."""
        return str(self.uuid) if self.generation == 1 else f"{self.uuid}-{self.generation}"

    @property
    def total(self) -> Decimal:
        """Return the charge: the carrier's own figure once booked, else the accepted quote."""
        return self.price if self.charged_price is None else self.charged_price

    @property
    def price_to_confirm(self) -> Money:
        """Return the price to consent to.

        It is the carrier's new price while the order waits, else the accepted one.
        """
        if offer := self.problem.get("offer"):
            return Money(Decimal(self.problem["new"]), offer["currency"])
        return Money(self.price, self.currency)

    def search_text(self) -> str:
        """Return the folded search text: the name on its own line, then the rest."""
        to = self.customer()
        words = (to.company, to.email, to.phone, to.suburb, to.postcode, self.customer_reference)
        return fold(f"{to.name}\n {' '.join(word for word in words if word)}")


LOCKED = PlannedSelect(
    Order.objects.select_related("sender", "account")
    .select_for_update(of=("sender", "self"), no_key=True)
    .filter(pk=Given("pk", models.BigIntegerField()))
)
