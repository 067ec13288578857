"""Weekly reports: their files, columns and terms (interface §2.5)."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from orders.models.account import CarrierAccount
from shipping_portal.billing.models.kinds import ChargeKind
from shipping_portal.jobs.models import Job, due_index


class BillingProfile(models.Model):
    """The format of one account's reports, which interface §2.5 doesn't show.

    `columns` maps our field (shipping_portal.billing.fields) to the header in the file.
    """

    account = models.OneToOneField(
        CarrierAccount, on_delete=models.PROTECT, related_name="billing_profile"
    )
    delimiter = models.CharField(
        max_length=1,
        default=",",
        choices=[(",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "bar")],
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
    decimal_sign = models.CharField(
        max_length=1,
        blank=True,
        default="",
        db_default="",
        choices=[
            ("", "dot, and ask what 1,021 is"),
            (".", "dot: 1,021.36"),
            (",", "comma: 1.021,36"),
        ],
    )
    refunds_positive = models.BooleanField("refunds are positive amounts", default=True)
    cover_inside = models.BooleanField("price includes Extra Cover", default=True)
    total_word = models.CharField("type used for total rows", max_length=100, blank=True)

    def __str__(self) -> str:
        return f"report columns of {self.account}"


class ChargeWord(models.Model):
    """A report's term for a kind of line, and the meaning an operator gave it; empty is undecided.

    `word` is the row's type, paid and reason columns, normalised and joined: "order invoiced /
    refunded".
    """

    # whether it was cancelled, and in which cycle, depends on its order
    ORDER_REFUND = "order-refund"
    MEANINGS = [
        (kind.value, kind.label)
        for kind in ChargeKind
        if kind not in (ChargeKind.UNKNOWN, ChargeKind.CREDIT)
    ] + [(ORDER_REFUND, "Refund of an order; which, the order says")]

    word = models.CharField("carrier's term", max_length=300, unique=True)
    meaning = models.CharField("means", max_length=20, choices=MEANINGS, blank=True)
    first_seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.word


class BillingReport(Job):
    """One file from the carrier. It counts once posted, and never changes afterwards.

    A posted report may be reversed as a whole, with a reversing line for each of its lines. Then
    the file can be uploaded again.

    So far, `read` of `rows` rows are stored as lines. `stated` is the total by currency, from the
    file or the operator; `problems` holds pairs of line number and message.
    """

    FENCE = ("state", "read")

    class State(models.TextChoices):
        READING = "reading", "Processing"
        CHECKED = "checked", "Checked, not posted"
        DAMAGED = "damaged", "Damaged"
        POSTED = "posted", "Posted"
        VOID = "void", "Void"
        REVERSED = "reversed", "Reversed"

    account = models.ForeignKey(
        CarrierAccount, on_delete=models.PROTECT, related_name="billing_reports"
    )
    name = models.CharField(max_length=120)
    sha256 = models.CharField(max_length=64)
    week = models.DateField()  # its Monday
    state = models.CharField(max_length=8, choices=State.choices, default=State.READING)
    profile = models.JSONField()  # the columns it is read by
    rows = models.PositiveIntegerField(default=0)
    read = models.PositiveIntegerField(default=0)
    stated = models.JSONField(default=dict, blank=True)
    problems = models.JSONField(default=list, blank=True)
    # the tally of its lines when posted; see balancing.py
    tally = models.JSONField(null=True, blank=True, editable=False)
    uploaded_at = models.DateTimeField()
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    ended_at = models.DateTimeField(null=True, blank=True)  # when it was posted or voided
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "sha256"],
                condition=~Q(state__in=("void", "reversed")),
                name="a_report_stands_once_per_account",
            )
        ]
        indexes = [
            models.Index(fields=["state", "-week"], name="reports_by_week"),
            due_index("reports_owed"),
        ]

    def __str__(self) -> str:
        return self.name


class ReportFile(models.Model):
    """The report's bytes, in a separate table."""

    report = models.OneToOneField(BillingReport, on_delete=models.CASCADE, related_name="file")
    content = models.BinaryField()

    def __str__(self) -> str:
        return f"bytes of {self.report_id}"
