"""The sender: a small business that ships, its people and its pickup addresses."""

import datetime as dt
import re
from decimal import Decimal
from functools import cache
from typing import Any, Self, TypeVar
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import models, transaction

from shipping_portal.accounts.models.audit import Audit
from shipping_portal.accounts.models.users import User
from shipping_portal.carrier.messages import Party
from shipping_portal.concurrent_indexes import TrigramIndex
from shipping_portal.db.planned_statements import Given, PlannedSelect
from shipping_portal.refused import Refused

FIRST_NUMBER = 1000  # of the A-numbers senders quote
# By SIGN_UP: how many parcels a new account may book, and for how much in its own currency, until
# approved.
UNTIL_APPROVED: dict[str, tuple[int | None, Decimal | None]] = {
    "open": (None, None),
    "first_limit": (5, Decimal(100)),
    "approve": (0, Decimal(0)),
    "invited": (0, Decimal(0)),
}
CURRENCIES = {"AU": "AUD", "CA": "CAD", "US": "USD"}
Row = TypeVar("Row", bound=models.Model, covariant=True)


def money_field(**options: Any) -> models.DecimalField:
    return models.DecimalField(max_digits=16, decimal_places=2, **options)


class Role(models.TextChoices):
    OWNER = "owner", "Owner"
    SHIPPER = "shipper", "Shipper"
    BOOKKEEPER = "bookkeeper", "Bookkeeper"
    VIEWER = "viewer", "Viewer"


class Sender(models.Model):
    """A business account. A suspended sender can read but not book.

    Its labels stay available while it is suspended, unless the operator also stopped dispatch.
    """

    class Country(models.TextChoices):
        AU = "AU", "Australia"
        CA = "CA", "Canada"
        US = "US", "United States"

    class LabelSize(models.TextChoices):
        FULL = "full", "Full page (A4 or Letter)"
        CROPPED = "cropped", "Cropped, for label printers"

    class Suspension(models.TextChoices):
        CARRIER = "carrier", "The carrier asked for it"
        TERMS = "terms", "Terms"
        DANGEROUS_GOODS = "dangerous_goods", "Dangerous goods"
        OTHER = "other", "Other"
        CLOSED = "closed", "The account is closed"  # see accounts/teams/closing.py

    class ServiceRule(models.TextChoices):
        CHEAPEST = "cheapest", "Cheapest"
        CHEAPEST_PICKUP = "cheapest_pickup", "Cheapest with pickup"
        FASTEST = "fastest", "Fastest"
        LAST = "last", "Same as last time"

    name = models.CharField("business name", max_length=120)
    # the business's name in the issuer's claim (accounts/login/signing_on.py)
    external_id = models.CharField("external id", max_length=120, blank=True, default="")
    country = models.CharField(max_length=2, choices=Country.choices)
    zone = models.CharField("time zone", max_length=40, default="Australia/Sydney")
    label_size = models.CharField(max_length=7, choices=LabelSize.choices, default=LabelSize.FULL)
    service_rule = models.CharField(
        "service chosen for you",
        max_length=15,
        choices=ServiceRule.choices,
        default=ServiceRule.CHEAPEST,
    )
    # the carrier's name, if two take new orders; "" lets the rule choose
    default_carrier = models.CharField(max_length=60, blank=True, default="", db_default="")
    default_size = models.ForeignKey(
        "accounts.ParcelSize", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    prints_at_once = models.BooleanField("open the print window automatically", default=False)
    needs_second_factor = models.BooleanField("require two-step verification", default=False)
    # whether any webhook endpoint is on: if none is, an event costs no query
    has_webhooks = models.BooleanField(default=False, db_default=False)
    # business days offered; interface §8
    pickup_days_ahead = models.PositiveSmallIntegerField(default=3)
    # The operator's limits, then the owner's: both apply, and empty means no limit. Money is in
    # `country`'s currency.
    bookings_a_day = models.PositiveIntegerField(default=2000)
    money_a_day = money_field(null=True, blank=True, default=Decimal(25_000))
    unbilled_limit = money_field(null=True, blank=True)  # booked, and not on a posted bill yet
    quotes_a_minute = models.PositiveIntegerField(default=60)
    own_bookings_a_day = models.PositiveIntegerField(null=True, blank=True)
    own_money_a_day = money_field(null=True, blank=True)
    # Counters for these limits, written only by orders/booking/limits.py. Two of them count the day
    # `counted_on`.
    counted_on = models.DateField(null=True, blank=True)
    booked_today = models.IntegerField(default=0)
    spent_today = money_field(default=Decimal(0))
    unbilled = money_field(default=Decimal(0))
    minute_began_at = models.DateTimeField(null=True, blank=True)
    quotes_this_minute = models.PositiveIntegerField(default=0)
    # Counted from the opening of the account against the first limit, until `approved_at`.
    booked_in_all = models.IntegerField(default=0)
    spent_in_all = money_field(default=Decimal(0))
    approved_at = models.DateTimeField(null=True, blank=True)
    dangerous_goods_acknowledged_at = models.DateTimeField(null=True, blank=True)
    suspended_at = models.DateTimeField(null=True, blank=True)
    suspension = models.CharField(max_length=16, choices=Suspension.choices, blank=True)
    suspension_text = models.TextField("text shown to the sender", blank=True)
    suspension_note = models.TextField("internal note", blank=True)
    # labels of parcels not collected yet are unavailable
    dispatch_stopped_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    erased_at = models.DateTimeField(null=True, blank=True)  # with all its people
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(closed_at=None) | models.Q(suspension="closed"),
                name="closed_books_nothing",
            ),
            models.CheckConstraint(
                condition=models.Q(suspended_at__isnull=True, suspension="")
                | models.Q(suspended_at__isnull=False) & ~models.Q(suspension=""),
                name="sender_suspended_with_a_category",
            ),
            models.CheckConstraint(
                condition=models.Q(dispatch_stopped_at=None) | models.Q(suspended_at__isnull=False),
                name="dispatch_stopped_by_a_suspension",
            ),
            models.UniqueConstraint(
                fields=["external_id"],
                condition=~models.Q(external_id=""),
                name="one_sender_of_an_external_id",
            ),
        ]
        indexes = [
            models.Index(
                fields=["created_at"],
                name="senders_waiting",
                condition=models.Q(approved_at=None, suspended_at=None),
            ),
            models.Index(
                fields=["closed_at"],
                name="senders_closed",
                condition=models.Q(closed_at__isnull=False),
            ),
            TrigramIndex(fields=["name"], name="senders_by_part_of_a_name"),
        ]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def locked(cls, pk: int) -> "Sender":
        """Read and lock an account. Rows that refer to it can still be added."""
        return cls.objects.select_for_update(no_key=True).get(pk=pk)

    @classmethod
    def lock_all(cls, pks: Any) -> None:
        """Lock several accounts, always in the same order."""
        rows = cls.objects.filter(pk__in=pks).order_by("pk")
        list(rows.select_for_update(no_key=True).values_list("pk"))

    @property
    def number(self) -> str:
        """Return the number that a sender quotes to the operator."""
        return f"A-{FIRST_NUMBER + self.pk}"

    @staticmethod
    def pk_of(number: str) -> int | None:
        """Return the key of the sender with this number ("A-1042", in any case), or None."""
        found = re.fullmatch(r"A-([0-9]{4,9})", number.strip(), re.IGNORECASE)
        return int(found[1]) - FIRST_NUMBER if found else None

    @property
    def tzinfo(self) -> ZoneInfo:
        return ZoneInfo(self.zone)

    def day_of(self, at: dt.datetime) -> dt.date:
        """Return the sender's local date."""
        return at.astimezone(self.tzinfo).date()

    @property
    def currency(self) -> str:
        """Return the currency of its limits. Amounts in other currencies count at face value."""
        return CURRENCIES.get(self.country, "")

    @property
    def first_parcels(self) -> int | None:
        """Return how many parcels the account may book until it is approved; None is no limit."""
        return None if self.approved_at else UNTIL_APPROVED[settings.SIGN_UP][0]

    @property
    def first_money(self) -> Decimal | None:
        """Return how much money the account may spend until then."""
        return None if self.approved_at else UNTIL_APPROVED[settings.SIGN_UP][1]

    @property
    def is_waiting(self) -> bool:
        """Return whether the account needs approval before it books. It may see prices."""
        return self.first_parcels == 0

    @property
    def is_suspended(self) -> bool:
        return self.suspended_at is not None

    def pickup_address(self) -> "PickupAddress | None":
        """Return the default pickup address, otherwise the oldest, or None."""
        address: PickupAddress | None = _default_address().first(sender=self.pk)
        if address:
            address.sender = self
        return address

    def suspend(
        self,
        *,
        by: User,
        category: str,
        text: str,
        note: str,
        now: dt.datetime,
        stop_dispatch: bool = False,
    ) -> None:
        """Stop new bookings and, with `stop_dispatch`, close uncollected labels.

        The sender sees `text`, not `note`.
        """
        if category not in self.Suspension.values or not text.strip():
            raise Refused("A suspension needs a category and a text for the sender.")
        with transaction.atomic():
            changed = Sender.objects.filter(pk=self.pk, suspended_at=None).update(
                suspended_at=now,
                suspension=category,
                suspension_text=text,
                suspension_note=note,
                dispatch_stopped_at=now if stop_dispatch else None,
            )
            if not changed:
                raise Refused("This sender is already suspended.")
            reason = f"{category}: {text}" + (f" Note: {note}" if note else "")
            reason += " Dispatch stopped." if stop_dispatch else ""
            Audit.write("sender suspended", self, by=by, sender=self, reason=reason, at=now)
        self.refresh_from_db()

    def reinstate(self, *, by: User, reason: str, now: dt.datetime) -> None:
        if not reason.strip():
            raise Refused("Say why bookings are on again.")
        with transaction.atomic():
            changed = Sender.objects.filter(
                pk=self.pk, suspended_at__isnull=False, erased_at=None
            ).update(
                suspended_at=None,
                suspension="",
                suspension_text="",
                suspension_note="",
                dispatch_stopped_at=None,
                closed_at=None,
            )
            if not changed:
                raise Refused("This sender is not suspended.")
            Audit.write("sender reinstated", self, by=by, sender=self, reason=reason, at=now)
        self.refresh_from_db()


class Membership(models.Model):
    """One person's place in one sender account."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="membership")
    sender = models.ForeignKey(Sender, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.user} ({self.get_role_display()})"


def belongs_to(user: Any, path: str = "sender") -> models.Q:
    """Match rows of the account this person works for or views as an operator.

    For the second case see accounts/login/seeing_as.py. `path` leads from a row to its sender.
    """
    seen = getattr(user, "sees_as", None)
    return models.Q(**{path: seen}) if seen else models.Q(**{f"{path}__memberships__user": user})


class OwnedQuerySet(models.QuerySet[Row]):
    """Rows of senders.

    Senders' pages start with for_user, for which other people's rows don't exist.
    """

    def for_user(self, user: Any) -> Self:
        return self.filter(belongs_to(user))


class PickupAddress(models.Model):
    """Where parcels start, with a working email address for the carrier (interface §2.1)."""

    sender = models.ForeignKey(Sender, on_delete=models.CASCADE, related_name="pickup_addresses")
    name = models.CharField("contact name", max_length=120)
    company = models.CharField(max_length=120, blank=True)
    email = models.EmailField("sender email")
    shared_mailbox_confirmed_at = models.DateTimeField(null=True, blank=True)
    phone = models.CharField(max_length=30, blank=True)
    line1 = models.CharField("address line 1", max_length=255)
    line2 = models.CharField("address line 2", max_length=255, blank=True)
    suburb = models.CharField(max_length=80)
    state = models.CharField(max_length=40)
    postcode = models.CharField(max_length=12)
    country = models.CharField(max_length=2, choices=Sender.Country.choices)
    instructions = models.CharField("pickup instructions", max_length=200, blank=True)
    is_default = models.BooleanField(default=True)

    class Meta:
        verbose_name_plural = "pickup addresses"
        indexes = [
            models.Index(fields=["phone"], name="pickups_by_phone"),
            TrigramIndex(fields=["name", "suburb", "postcode"], name="pickups_by_part_of_a_word"),
        ]

    def __str__(self) -> str:
        return f"{self.line1}, {self.suburb} {self.postcode}"

    def party(self) -> Party:
        """Return this address as the carrier's sender.

        Its instructions are for the pickup driver.
        """
        return Party.of(self)


@cache
def _default_address() -> PlannedSelect:
    of_sender = PickupAddress.objects.filter(sender=Given("sender", models.BigIntegerField()))
    return PlannedSelect(of_sender.order_by("-is_default", "pk")[:1])
