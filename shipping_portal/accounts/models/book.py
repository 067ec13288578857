"""Store what a sender types once: receivers and boxes."""

import uuid

from django.db import models
from django.db.models.functions import Coalesce, Upper

from shipping_portal.accounts.models.senders import OwnedQuerySet, Sender
from shipping_portal.carrier.messages import Party

LAST_USED = Coalesce("used_at", "created_at")


class Receiver(models.Model):
    """Somebody who gets parcels: added by hand (`is_saved`), or remembered from a booking.

    `fingerprint` covers name and address, so that each receiver is one row, however many parcels
    they get. `is_off_list` says that a newer list of localities lacks the suburb and postcode.
    """

    uuid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    # It needs no index of its own, because a constraint's index starts with this column.
    sender = models.ForeignKey(
        Sender, on_delete=models.CASCADE, related_name="receivers", db_index=False
    )
    fingerprint = models.CharField(max_length=64)
    is_saved = models.BooleanField(default=False)
    name = models.CharField(max_length=120)
    company = models.CharField(max_length=120, blank=True)
    email = models.EmailField()
    phone = models.CharField(max_length=30, blank=True)
    line1 = models.CharField(max_length=255)
    line2 = models.CharField(max_length=255, blank=True)
    suburb = models.CharField(max_length=80)
    state = models.CharField(max_length=40, blank=True)
    postcode = models.CharField(max_length=12)
    country = models.CharField(max_length=2)
    instructions = models.CharField(max_length=200, blank=True)
    group = models.CharField(max_length=40, blank=True)
    is_off_list = models.BooleanField(default=False)
    uses = models.PositiveIntegerField(default=0)
    used_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["sender", "fingerprint"], name="one_receiver_once_per_sender"
            )
        ]
        indexes = [
            models.Index(LAST_USED, name="receivers_by_age"),
            models.Index(Upper("email"), name="receivers_by_email"),
            models.Index(fields=["phone"], name="receivers_by_phone"),
            models.Index(fields=["postcode"], name="receivers_by_postcode"),
        ]

    def __str__(self) -> str:
        return f"{self.name}, {self.suburb} {self.postcode}"

    def party(self) -> Party:
        return Party.of(self)


class ReceiverKey(models.Model):
    """One normalised word to find a receiver by, from name, company, email, phone or postcode."""

    receiver = models.ForeignKey(Receiver, on_delete=models.CASCADE, related_name="keys")
    sender = models.ForeignKey(Sender, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=120)

    class Meta:
        indexes = [models.Index(fields=["sender", "key"], name="receivers_by_prefix")]

    def __str__(self) -> str:
        return self.key


class ParcelSize(models.Model):
    """A named box, as entered: weight and measures in their own units, and its usual contents."""

    uuid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    sender = models.ForeignKey(Sender, on_delete=models.CASCADE, related_name="sizes")
    name = models.CharField(max_length=60)
    weight = models.DecimalField(max_digits=9, decimal_places=4)
    weight_units = models.CharField(max_length=2)
    length = models.DecimalField(max_digits=9, decimal_places=3)
    width = models.DecimalField(max_digits=9, decimal_places=3)
    height = models.DecimalField(max_digits=9, decimal_places=3)
    dimension_units = models.CharField(max_length=2)
    description = models.CharField("what's usually inside", max_length=255, blank=True)
    position = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["sender", "name"], name="one_size_of_a_name_per_sender")
        ]

    def __str__(self) -> str:
        return self.name
