"""Money: the carrier's weekly reports, and every charge, refund and credit as a line of its own (interface §2.5)."""

import datetime as dt
from decimal import Decimal
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q, Sum
from django.db.models.functions import Upper

from orders.models.account import CarrierAccount
from orders.models.order import Order
from shipping_portal.accounts.models import OwnedQuerySet
from shipping_portal.jobs.models import Job


class ChargeKind(models.TextChoices):
    """What a line is for, in the words of interface §2.5; the last two are ours."""

    ORDER = "order", "Order cost"
    COVER = "cover", "Extra Cover"
    UNDER_DECLARED = "under-declared", "Size or weight adjustment"
    OVERSIZE = "oversize", "Oversize penalty adjustment"
    UN_CANCELLATION = "un-cancellation", "Used after cancelling"
    CANCEL_REFUND = "cancel-refund", "Cancellation refund in the same billing cycle"
    CANCEL_REFUND_LATER = "cancel-refund-later", "Cancellation refund after invoicing"
    DELAY_REFUND = "delay-refund", "Refund for delay"
    LOSS_REFUND = "loss-refund", "Refund for loss"
    OTHER_REFUND = "other-refund", "Other refund"
    CREDIT = "credit", "Credit or correction"
    UNKNOWN = "unknown", "Not known yet"


SIZE_CHARGES = (ChargeKind.UNDER_DECLARED, ChargeKind.OVERSIZE)
CANCEL_REFUNDS = (ChargeKind.CANCEL_REFUND, ChargeKind.CANCEL_REFUND_LATER)
STALE = ""  # the key of a line that is being read again: as a repeat it tells nothing of its order meanwhile
REFUNDS = (*CANCEL_REFUNDS, ChargeKind.DELAY_REFUND, ChargeKind.LOSS_REFUND, ChargeKind.OTHER_REFUND)


class BillingProfile(models.Model):
    """How one account's report is written: interface §2.5 does not show its format.

    `columns` leads from our field (shipping_portal.billing.fields) to the header in the file.
    """

    account = models.OneToOneField(CarrierAccount, on_delete=models.PROTECT, related_name="billing_profile")
    delimiter = models.CharField(
        max_length=1, default=",", choices=[(",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "bar")]
    )
    columns = models.JSONField(default=dict)
    date_form = models.CharField(
        max_length=10,
        default="%Y-%m-%d",
        choices=[
            ("%Y-%m-%d", "2026-11-30"),
            ("%d/%m/%Y", "30/11/2026"),
            ("%m/%d/%Y", "11/30/2026"),
            ("%d.%m.%Y", "30.11.2026"),
        ],
    )
    refunds_positive = models.BooleanField("refunds are positive amounts", default=True)
    cover_inside = models.BooleanField("price includes Extra Cover", default=True)
    total_word = models.CharField("type used for total rows", max_length=100, blank=True)

    def __str__(self) -> str:
        return f"report columns of {self.account}"


class ChargeWord(models.Model):
    """How a report names a kind of line, and what the operator decided it means; empty is not decided.

    `word` is the row's type, paid and reason columns, normalised and joined: "order invoiced / refunded".
    """

    ORDER_REFUND = "order-refund"  # cancelled or not, and in which cycle: as the order says
    MEANINGS = [
        (kind.value, kind.label) for kind in ChargeKind if kind not in (ChargeKind.UNKNOWN, ChargeKind.CREDIT)
    ] + [(ORDER_REFUND, "Refund of an order; which, the order says")]

    word = models.CharField("carrier's term", max_length=300, unique=True)
    meaning = models.CharField("means", max_length=20, choices=MEANINGS, blank=True)
    first_seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.word


class BillingReport(Job):
    """One file of the carrier's. Nothing of it counts before it is posted, and nothing changes after.

    `read` rows are stored as lines so far, of `rows`. `stated` is the total by currency, as the file (or the operator)
    says; `problems` are [line of the file, message].
    """

    FENCE = ("state", "read")

    class State(models.TextChoices):
        READING = "reading", "Processing"
        CHECKED = "checked", "Checked, not posted"
        DAMAGED = "damaged", "Damaged"
        POSTED = "posted", "Posted"
        VOID = "void", "Void"

    account = models.ForeignKey(CarrierAccount, on_delete=models.PROTECT, related_name="billing_reports")
    name = models.CharField(max_length=120)
    sha256 = models.CharField(max_length=64)
    week = models.DateField()  # its Monday
    state = models.CharField(max_length=8, choices=State.choices, default=State.READING)
    profile = models.JSONField()  # the columns it is read by
    rows = models.PositiveIntegerField(default=0)
    read = models.PositiveIntegerField(default=0)
    stated = models.JSONField(default=dict, blank=True)
    problems = models.JSONField(default=list, blank=True)
    uploaded_at = models.DateTimeField()
    uploaded_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    ended_at = models.DateTimeField(null=True, blank=True)  # posted or made void
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "sha256"], condition=~Q(state="void"), name="a_report_once_per_account"
            )
        ]
        indexes = [
            models.Index(fields=["state", "-week"], name="reports_by_week"),
            models.Index(fields=["due_at"], name="reports_owed", condition=Q(due_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name


class ReportFile(models.Model):
    """The report byte for byte, in a table of its own: read only to read it."""

    report = models.OneToOneField(BillingReport, on_delete=models.CASCADE, related_name="file")
    content = models.BinaryField()

    def __str__(self) -> str:
        return f"bytes of {self.report_id}"


class ChargeQuerySet(OwnedQuerySet["Charge"]):
    def for_user(self, user: Any) -> Self:
        """Return the posted lines of those this person may see."""
        return super().for_user(user).posted()

    def posted(self) -> Self:
        return self.filter(posted_at__isnull=False)

    def unmatched(self) -> Self:
        """Return lines of posted or checked reports that belong to nobody yet."""
        return self.filter(sender=None, is_repeat=False)

    def net(self) -> dict[str, Decimal]:
        """Return what is owed, by currency: the sum of the lines and nothing else."""
        sums = self.order_by().values("currency").annotate(net=Sum("amount"))
        return {row["currency"]: cents(row["net"]) for row in sums}


class Charge(models.Model):
    """One line: positive is charged, negative is given back.

    Amounts, weeks and words of posted lines never change; a reversing line corrects them. Whose a line is (`sender`,
    `order`, and of a refund its `kind`, which only the order tells) is filled in once, for a line that was nobody's.

    `stated` is the amount as the file writes it. `key` names the carrier's line for ever, so that it is posted once.
    Lines without a report are the operator's own, with their `reason`.
    """

    account = models.ForeignKey(CarrierAccount, on_delete=models.PROTECT, related_name="charges")
    report = models.ForeignKey(BillingReport, on_delete=models.PROTECT, null=True, blank=True, related_name="lines")
    line = models.PositiveIntegerField(default=0)  # of the file; its header is line 1
    part = models.PositiveSmallIntegerField(default=0)  # 1: the Extra Cover inside the line's price
    key = models.CharField(max_length=64)
    is_repeat = models.BooleanField(default=False)  # posted before: shown, and left out
    is_unexpected = models.BooleanField(default=False)  # not what was booked: told when it was posted or matched
    week = models.DateField()  # Monday of the billing week whose statement has it
    posted_at = models.DateTimeField(null=True, blank=True)
    reference = models.CharField(max_length=100, blank=True)
    customer_reference = models.CharField(max_length=255, blank=True)
    order = models.ForeignKey(Order, on_delete=models.PROTECT, null=True, blank=True, related_name="charges")
    sender = models.ForeignKey(
        "accounts.Sender", on_delete=models.PROTECT, null=True, blank=True, related_name="charges"
    )
    kind = models.CharField(max_length=20, choices=ChargeKind.choices)
    term = models.ForeignKey(ChargeWord, on_delete=models.PROTECT, null=True, blank=True, related_name="lines")
    word = models.CharField("carrier's term", max_length=300, blank=True)
    stated = models.DecimalField(max_digits=16, decimal_places=2)
    amount = models.DecimalField(max_digits=16, decimal_places=2)
    currency = models.CharField(max_length=3)
    day = models.DateField(null=True, blank=True)  # of the refund, else of the order
    declared_kg = models.DecimalField(max_digits=10, decimal_places=4, null=True, blank=True)
    declared_m3 = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    measured_kg = models.DecimalField(max_digits=10, decimal_places=4, null=True, blank=True)
    measured_m3 = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    reason = models.CharField(max_length=500, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    reverses = models.OneToOneField("self", on_delete=models.PROTECT, null=True, blank=True, related_name="reversed_by")

    objects = ChargeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["report", "line", "part"], name="a_line_of_a_report_once"),
            models.UniqueConstraint(
                fields=["account", "key", "part"], condition=Q(posted_at__isnull=False), name="a_line_is_posted_once"
            ),
            models.CheckConstraint(
                condition=Q(order=None) | Q(sender__isnull=False), name="a_charged_order_has_its_sender"
            ),
            models.CheckConstraint(
                condition=Q(posted_at=None) | ~Q(kind="unknown") & Q(is_repeat=False),
                name="what_is_posted_is_known_and_new",
            ),
        ]
        indexes = [
            models.Index(
                fields=["sender", "-week", "-id"], name="charges_of_a_week", condition=Q(posted_at__isnull=False)
            ),
            models.Index(Upper("reference"), "account", name="charges_unmatched", condition=Q(sender=None)),
            models.Index(fields=["report", "kind"], name="charges_of_a_report"),
            models.Index(fields=["order"], name="charges_unexpected", condition=Q(is_unexpected=True)),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.amount} {self.currency}"

    @property
    def is_size_charge(self) -> bool:
        return self.kind in SIZE_CHARGES


class DisputePhoto(models.Model):
    """What a sender sent along with a question about charges, byte for byte as it came: downloaded, never shown."""

    sender = models.ForeignKey("accounts.Sender", on_delete=models.PROTECT, related_name="dispute_photos")
    kind = models.CharField(max_length=4)  # of shipping_portal.billing.photos
    sha256 = models.CharField(max_length=64)
    content = models.BinaryField()

    objects = OwnedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"photo-{self.pk}.{self.kind}"


class DisputeQuerySet(OwnedQuerySet["Dispute"]):
    def open(self) -> Self:
        return self.filter(state=Dispute.State.OPEN)


class Dispute(models.Model):
    """“This looks wrong”: one sender's question about one line. `facts` are declared, measured and quoted, as then."""

    class State(models.TextChoices):
        OPEN = "open", "Being reviewed"
        ACCEPTED = "accepted", "Accepted"
        DECLINED = "declined", "Declined"

    charge = models.ForeignKey(Charge, on_delete=models.PROTECT, related_name="disputes")
    sender = models.ForeignKey("accounts.Sender", on_delete=models.PROTECT, related_name="disputes")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField()
    text = models.TextField(max_length=2000)
    facts = models.JSONField(default=dict)
    # Of all lines that were asked about at once.
    photo = models.ForeignKey(
        DisputePhoto, on_delete=models.SET_NULL, null=True, blank=True, db_index=False, related_name="disputes"
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    answer = models.TextField("answer to the sender", max_length=2000, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    credit = models.OneToOneField(Charge, on_delete=models.PROTECT, null=True, blank=True, related_name="settles")

    objects = DisputeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["charge"], condition=Q(state="open"), name="one_open_dispute_per_line")
        ]
        indexes = [
            models.Index(fields=["state", "made_at"], name="disputes_by_age"),
            models.Index(fields=["answered_at"], name="disputes_answered"),
            models.Index(fields=["photo"], name="disputes_of_a_photo"),
        ]

    def __str__(self) -> str:
        return f"dispute {self.pk}"


def week_of(day: dt.date) -> dt.date:
    """Return the Monday of its week."""
    return day - dt.timedelta(days=day.weekday())


def cents(amount: Decimal) -> Decimal:
    """Round to the cent: SQLite adds as floating point, and what it adds comes back with a tail."""
    return round(amount, 2)
