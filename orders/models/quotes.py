"""The carrier's offers for one parcel, and how long they may be used."""

import datetime as dt
import uuid
from typing import Any

from django.conf import settings
from django.db import models

from orders.models.account import CarrierAccount
from shipping_portal.accounts.models import OwnedQuerySet


class Quote(models.Model):
    """An immutable quote.

    `details` is the form as typed and cleaned, `inputs_hash` identifies it, `products` are the
    offers of `account`.

    Each offer: code, name, first_mile, service, amount (string), currency, breakdown [[name,
    amount, currency]], taxes (same), plan, pickup (its first day), eta_from, eta_to (ISO dates or
    null), duties_paid, cover (string or null), refused (why it can't be booked, or "").
    `unreadable` counts the carrier's rows that are missing here. Interface §2.3, §2.4.
    """

    uuid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    sender = models.ForeignKey("accounts.Sender", on_delete=models.CASCADE, related_name="quotes")
    account = models.ForeignKey(
        CarrierAccount, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    details = models.JSONField()
    inputs_hash = models.CharField(max_length=64)
    products = models.JSONField()
    unreadable = models.PositiveSmallIntegerField(default=0)
    made_at = models.DateTimeField(db_index=True)

    objects = OwnedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"quote {self.uuid}"

    def is_live(self, now: dt.datetime) -> bool:
        """Return whether it may still be used.

        A quote lives a few minutes at most (interface §8).
        """
        return now - self.made_at <= dt.timedelta(seconds=settings.QUOTE_SECONDS)

    def offer(self, code: str) -> dict[str, Any] | None:
        """Return the product with this code, if it can be booked."""
        return next((offer for offer in bookable(self.products) if offer["code"] == code), None)


def bookable(products: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the products that aren't marked as refused."""
    return [offer for offer in products if not offer.get("refused")]
