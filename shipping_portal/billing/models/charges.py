"""Charges, refunds and credits, each on its own line (interface §2.5)."""

from decimal import Decimal
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Case, F, IntegerField, Q, Sum, Value, When
from django.db.models.functions import Upper

from orders.models.account import CarrierAccount
from orders.models.order import Order
from shipping_portal.accounts.models import OwnedQuerySet
from shipping_portal.billing.models.kinds import (
    GIVEN_BACK,
    SIZE_CHARGES,
    ChargeKind,
    Hold,
    round_cents,
)
from shipping_portal.billing.models.reports import BillingReport, ChargeWord

# A line's position in a statement: kinds in the interface's order.
PLACE = Case(
    *(When(kind=kind, then=Value(place)) for place, kind in enumerate(ChargeKind.values)),
    default=Value(len(ChargeKind.values)),
    output_field=IntegerField(),
)


class ChargeQuerySet(OwnedQuerySet["Charge"]):
    def for_user(self, user: Any) -> Self:
        """Return the posted lines of senders this user may see."""
        return super().for_user(user).posted()

    def posted(self) -> Self:
        return self.filter(posted_at__isnull=False)

    def on_hold(self) -> Self:
        """Return held lines of posted reports."""
        waiting = self.exclude(held="").filter(decision="", posted_at=None)
        return waiting.filter(report__state=BillingReport.State.POSTED)

    def unmatched(self) -> Self:
        """Return lines of posted or checked reports without an owner."""
        return self.filter(sender=None, is_repeat=False)

    def net(self) -> dict[str, Decimal]:
        """Return the amount due by currency, which is just the sum of the lines."""
        sums = self.order_by().values("currency").annotate(net=Sum("amount"))
        return {row["currency"]: round_cents(row["net"]) for row in sums}


class Charge(models.Model):
    """One line: positive is charged, negative is refunded.

    Amounts, weeks and words of posted lines never change; a reversing line corrects them. The owner
    (`sender`, `order`, and the `kind` of a refund, which depends on the order) is filled in once,
    if it wasn't known before.

    `stated` is the amount in the file. `key` identifies the carrier's line permanently, so that it
    is posted only once. Lines without a report are the operator's own, with their `reason`.
    """

    class Decision(models.TextChoices):
        """An operator's decision on a held or repeated line."""

        POST = "post", "Counts"
        LEAVE = "leave", "Left out"

    account = models.ForeignKey(CarrierAccount, on_delete=models.PROTECT, related_name="charges")
    report = models.ForeignKey(
        BillingReport, on_delete=models.PROTECT, null=True, blank=True, related_name="lines"
    )
    line = models.PositiveIntegerField(default=0)  # line number in the file; the header is line 1
    part = models.PositiveSmallIntegerField(default=0)  # 1: the Extra Cover inside the line's price
    key = models.CharField(max_length=64)
    is_repeat = models.BooleanField(default=False)  # posted before: shown, but left out
    # Not posted until an operator decides; see holding.py.
    held = models.CharField(
        "on hold", max_length=8, choices=Hold.choices, blank=True, default="", db_default=""
    )
    decision = models.CharField(
        max_length=5, choices=Decision.choices, blank=True, default="", db_default=""
    )
    # it differs from the booking; set when posted or matched
    is_unexpected = models.BooleanField(default=False)
    week = models.DateField()  # Monday of the billing week of the statement that has it
    posted_at = models.DateTimeField(null=True, blank=True)
    reference = models.CharField(max_length=100, blank=True)
    customer_reference = models.CharField(max_length=255, blank=True)
    order = models.ForeignKey(
        Order, on_delete=models.PROTECT, null=True, blank=True, related_name="charges"
    )
    sender = models.ForeignKey(
        "accounts.Sender", on_delete=models.PROTECT, null=True, blank=True, related_name="charges"
    )
    kind = models.CharField(max_length=20, choices=ChargeKind.choices)
    term = models.ForeignKey(
        ChargeWord, on_delete=models.PROTECT, null=True, blank=True, related_name="lines"
    )
    word = models.CharField("carrier's term", max_length=300, blank=True)
    stated = models.DecimalField(max_digits=16, decimal_places=2)
    amount = models.DecimalField(max_digits=16, decimal_places=2)
    currency = models.CharField(max_length=3)
    day = models.DateField(null=True, blank=True)  # the refund's day, otherwise the order's
    declared_kg = models.DecimalField(max_digits=10, decimal_places=4, null=True, blank=True)
    declared_m3 = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    measured_kg = models.DecimalField(max_digits=10, decimal_places=4, null=True, blank=True)
    measured_m3 = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    reason = models.CharField(max_length=500, blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    reverses = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="reversed_by"
    )

    objects = ChargeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["report", "line", "part"], name="a_line_of_a_report_once"
            ),
            models.UniqueConstraint(
                fields=["account", "key", "part"],
                condition=Q(posted_at__isnull=False),
                name="a_line_is_posted_once",
            ),
            models.CheckConstraint(
                condition=Q(order=None) | Q(sender__isnull=False),
                name="a_charged_order_has_its_sender",
            ),
            models.CheckConstraint(
                condition=Q(posted_at=None) | ~Q(kind="unknown") & Q(is_repeat=False),
                name="what_is_posted_is_known_and_new",
            ),
        ]
        indexes = [
            models.Index(
                F("sender"),
                F("week"),
                PLACE,
                F("id"),
                name="charges_of_a_statement",
                condition=Q(posted_at__isnull=False),
            ),
            models.Index(
                Upper("reference"), "account", name="charges_unmatched", condition=Q(sender=None)
            ),
            models.Index(Upper("reference"), "account", name="charges_of_a_reference"),
            models.Index(fields=["report", "kind"], name="charges_of_a_report"),
            models.Index(
                fields=["report"], name="charges_on_hold", condition=~Q(held="") & Q(decision="")
            ),
            models.Index(
                fields=["order"], name="charges_unexpected", condition=Q(is_unexpected=True)
            ),
            models.Index(
                fields=["sender", "order"],
                name="charges_given_back",
                condition=Q(posted_at__isnull=False, kind__in=GIVEN_BACK),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.amount} {self.currency}"

    @property
    def is_size_charge(self) -> bool:
        return self.kind in SIZE_CHARGES


class WeekSum(models.Model):
    """Totals of a sender's posted lines in a week, by currency and kind; without a kind, of all.

    They are recounted with every change to a line (billing/charges/week_sums.py), so that no page
    adds up a history.
    """

    sender = models.ForeignKey(
        "accounts.Sender", on_delete=models.PROTECT, db_index=False, related_name="week_sums"
    )
    week = models.DateField()  # its Monday
    currency = models.CharField(max_length=3)
    kind = models.CharField(max_length=20, choices=ChargeKind.choices, blank=True)
    lines = models.PositiveIntegerField()
    orders = models.PositiveIntegerField()  # orders that these lines are about, each counted once
    amount = models.DecimalField(max_digits=16, decimal_places=2)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["sender", "week", "currency", "kind"], name="a_week_is_summed_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind or 'all'} of {self.week}: {self.amount} {self.currency}"
