"""The carrier's offers for one parcel, and how long they may be used."""

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import models

from orders.models.account import CarrierAccount
from shipping_portal.accounts.models import OwnedQuerySet

Offered = dict[str, Any]  # one offer of a quote, as it is stored; see Quote


class Quote(models.Model):
    """An immutable quote.

    `details` is the form as typed and cleaned, `inputs_hash` identifies it, `account` was the
    default account at the time, `products` are the offers of all that take new orders. `missing`
    are accounts that returned no prices when another did, each: account (its key), is_refused (the
    carrier has nothing for this parcel; else ask again later), why (a sentence, or "").

    Each offer: account (the key of its account, unless that is the quote's), code, name,
    first_mile, service, amount (string), currency, breakdown [[name, amount, currency]], taxes
    (same), plan, pickup (its first day), eta_from, eta_to (ISO dates or null), duties_paid, cover
    (string or null), refused (why it can't be booked, or ""). `unreadable` counts the carrier's
    rows that are missing here. Interface §2.3, §2.4.

    For several parcels an offer holds the sum, and each parcel's offer under "parcels".
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
    # what the carrier was asked: parcels that differ only in their receivers share its answer
    question_hash = models.CharField(max_length=80, default="", db_default="", blank=True)
    products = models.JSONField()
    missing = models.JSONField(default=list, db_default=[], blank=True)
    unreadable = models.PositiveSmallIntegerField(default=0)
    made_at = models.DateTimeField(db_index=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["question_hash"], name="quotes_by_question")]

    def __str__(self) -> str:
        return f"quote {self.uuid}"

    def is_live(self, now: dt.datetime) -> bool:
        """Return whether it may still be used.

        A quote lives a few minutes at most (interface §8).
        """
        return now - self.made_at <= dt.timedelta(seconds=settings.QUOTE_SECONDS)

    def offer(self, key: str) -> Offered | None:
        """Return the product with this key, if it can be booked."""
        return next((offer for offer in bookable(self.products) if key_of(offer) == key), None)

    def account_of(self, offer: Offered) -> int:
        """Return the key of the account that an offer belongs to."""
        return int(offer.get("account") or self.account_id)


def offers_at(products: list[Offered], account: int | None, *, own: int) -> list[Offered]:
    """Return the products of one account; all without one. `own` is their quote's account."""
    if account is None:
        return products
    return [offer for offer in products if (offer.get("account") or own) == account]


def offer_key(code: str, account: int | None) -> str:
    """Return the key that distinguishes two carriers' offers, whose codes may be the same.

    It is the carrier's code; for the second account, the account's key is added. No code contains
    an @.
    """
    return f"{code}@{account}" if account else code


def key_of(offer: Offered) -> str:
    """Return the key of a stored offer."""
    return offer_key(offer["code"], offer.get("account"))


def by_price(products: list[Offered]) -> list[Offered]:
    """Return the bookable products, cheapest first; at the same price, earliest first.

    Amounts in different currencies can't be compared, so those in the first product's currency come
    first.
    """
    return sorted(
        bookable(products),
        key=lambda offer: (
            offer["currency"] != products[0]["currency"],
            offer["currency"],
            Decimal(offer["amount"]),
            offer["eta_to"] or "9999-12-31",
        ),
    )


def bookable(products: list[Offered]) -> list[Offered]:
    """Return the products that aren't marked as refused."""
    return [offer for offer in products if not offer.get("refused")]
