"""The columns of an order in groups: receiver, parcel, chosen offer, carrier's reply.

All groups are in the order's own table, so that only one row is read and written.
"""

from django.db import models

from orders.drafting.parcel_details import ParcelDetails, items_from, measures_from
from orders.models.quotes import Quote
from shipping_portal.carrier.messages import Party


class ReceiverFacts(models.Model):
    """The receiver, copied as typed and never edited after booking."""

    receiver_name = models.CharField(max_length=120)
    receiver_company = models.CharField(max_length=120, blank=True)
    receiver_email = models.EmailField()
    receiver_phone = models.CharField(max_length=30, blank=True)
    receiver_line1 = models.CharField(max_length=255)
    receiver_line2 = models.CharField(max_length=255, blank=True)
    receiver_suburb = models.CharField(max_length=80)
    receiver_state = models.CharField(max_length=40, blank=True)
    receiver_postcode = models.CharField(max_length=12)
    receiver_country = models.CharField(max_length=2)
    receiver_instructions = models.CharField(max_length=200, blank=True)

    class Meta:
        abstract = True

    def receiver(self) -> Party:
        return Party.of(self, "receiver_")


class ParcelFacts(ReceiverFacts):
    """The parcel as typed (interface §2.1) and its pickup address, never edited after booking."""

    pickup = models.JSONField()
    description = models.CharField(max_length=255)
    weight_kg = models.DecimalField(max_digits=9, decimal_places=4)
    length_cm = models.DecimalField(max_digits=9, decimal_places=3)
    width_cm = models.DecimalField(max_digits=9, decimal_places=3)
    height_cm = models.DecimalField(max_digits=9, decimal_places=3)
    entered = models.JSONField()  # the same four as typed, with weight_units and dimension_units
    contents = models.JSONField(default=list, blank=True)
    contents_type = models.CharField(max_length=20, blank=True)
    cover_amount = models.DecimalField(max_digits=9, decimal_places=2, null=True, blank=True)
    customer_reference = models.CharField(max_length=255, blank=True)
    # as requested; blank means the next business day
    pickup_date = models.DateField(null=True, blank=True)
    size = models.ForeignKey(
        "accounts.ParcelSize",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="orders",
    )

    returns_id: int | None
    quote: Quote | None

    class Meta:
        abstract = True

    def details(self) -> ParcelDetails:
        """Return the parcel as typed. Its quote may no longer exist."""
        quoted = self.quote.details if self.returns_id and self.quote else {}
        return ParcelDetails(
            pickup=Party(**self.pickup),
            receiver=self.receiver(),
            measures=measures_from(self.entered),
            description=self.description,
            contents=items_from(self.contents),
            contents_type=self.contents_type,
            cover=self.cover_amount,
            customer_reference=self.customer_reference,
            size=str(self.size.uuid) if self.size else "",
            returns=self.returns_id,
            ends_at_pickup=quoted.get("ends_at_pickup", False),
        )

    def customer(self) -> Party:
        """Return the customer: the receiver, or for a return, the person who sends it back."""
        return self.receiver() if self.returns_id is None else Party(**self.pickup)

    def of_customer(self, part: str) -> str:
        """Return one part of `customer`, without reading any column that a list leaves out."""
        own = getattr(self, f"receiver_{part}")
        return str(own if self.returns_id is None else self.pickup[part])


class OfferFacts(models.Model):
    """What was chosen from the quote."""

    quote = models.ForeignKey(Quote, on_delete=models.SET_NULL, null=True, related_name="orders")
    quoted_at = models.DateTimeField()
    product_code = models.CharField(max_length=100)
    product_name = models.CharField(max_length=120)
    first_mile = models.CharField(max_length=10)
    duties_paid = models.BooleanField(default=False)
    price = models.DecimalField(max_digits=16, decimal_places=2)
    currency = models.CharField(max_length=3)
    breakdown = models.JSONField(default=list)
    # the carrier's first day when it was quoted
    quoted_pickup_date = models.DateField(null=True, blank=True)
    eta_from = models.DateField(null=True, blank=True)
    eta_to = models.DateField(null=True, blank=True)
    plan = models.CharField(max_length=100, blank=True)

    class Meta:
        abstract = True


class CarrierFacts(models.Model):
    """The carrier's reply."""

    carrier_order_id = models.CharField(max_length=100, blank=True)
    # NULLs don't collide.
    carrier_reference = models.CharField(max_length=100, null=True, blank=True)  # noqa: DJ001
    carrier_pickup_date = models.DateField(null=True, blank=True)
    # empty if the carrier hasn't said, in which case it is asked
    is_cancellable = models.BooleanField(null=True, blank=True)
    charged_price = models.DecimalField(max_digits=16, decimal_places=2, null=True, blank=True)
    # The price it was booked at without consent: above `price`, or in another currency.
    unagreed_price = models.DecimalField(max_digits=16, decimal_places=2, null=True, blank=True)
    unagreed_currency = models.CharField(max_length=3, blank=True)
    public_tracking_url = models.URLField(max_length=300, blank=True)

    class Meta:
        abstract = True
