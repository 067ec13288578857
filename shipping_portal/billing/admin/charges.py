"""Show every line, from the carrier's reports or by operators. Lines are never edited."""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from orders.models import Order
from orders.status.references import with_reference
from shipping_portal.accounts.adminkit.actions import ActionsAdmin, AdminAction, ReasonForm
from shipping_portal.accounts.adminkit.facts import ReadOnlyInline, column, link_to
from shipping_portal.accounts.adminkit.filters import SenderFilter, choices
from shipping_portal.accounts.adminkit.queues import Wait
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing import queues
from shipping_portal.billing.charges import correcting, matching, reconciling
from shipping_portal.billing.models import BillingReport, Charge, ChargeKind, Dispute, Hold
from shipping_portal.billing.reports import posting
from shipping_portal.billing.reports.balancing import HELD, LEFT_OUT
from shipping_portal.formats import admin_time
from shipping_portal.refused import Refused

WEEKS = 26


class ToSenderForm(ReasonForm):
    """Asks for a reason, which is printed next to the amount."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.fields["reason"].help_text = (
            "At least ten characters. The sender sees it on the statement. Recorded in the audit"
            " log under your name."
        )


class OwnerForm(ReasonForm):
    """Asks for a parcel, or for a sender if the line has no parcel."""

    owner = forms.CharField(
        label="Assign to",
        max_length=60,
        help_text="A parcel's reference or order number, or a sender's A-number, like A-1007.",
    )
    field_order = ["owner", "reason"]

    def clean_owner(self) -> tuple[Sender, Order | None]:
        """Return the sender, and the order if one was named. Reject text that names neither."""
        typed = self.cleaned_data["owner"].strip()
        number = Sender.pk_of(typed)
        if number and (sender := Sender.objects.filter(pk=number).first()):
            return sender, None
        order = _order(typed)
        if order is None:
            raise forms.ValidationError("No parcel or sender matches that.")
        return order.sender, order


def _order(typed: str) -> Order | None:
    orders = Order.objects.select_related("sender")
    if typed.isascii() and typed.isdecimal() and len(typed) < 10:
        return orders.filter(pk=int(typed)).first()
    return with_reference(orders, typed).first()


def assign(charge: Charge, *, owner: tuple[Sender, Order | None], **written: Any) -> str:
    """Assign a line, together with the Extra Cover that is in its price."""
    sender, order = owner
    parts = (
        Charge.objects.unmatched()
        .filter(report=charge.report_id, line=charge.line)
        .order_by("part")
    )
    for part in list(parts) or [charge]:
        matching.assign_charge(part, sender=sender, order=order)
    charge.sender = sender  # the audit row belongs to the line
    return f"to {order or sender}"


def _reverse(charge: Charge, *, reason: str, by: User, now: dt.datetime) -> str:
    correcting.reverse_charge(charge, by=by, now=now, reason=reason)
    return str(charge)


def _accept(charge: Charge, **written: Any) -> str:
    if not reconciling.accept_price(charge):
        raise Refused("This price no longer needs a decision.")
    return str(charge)


class WhichForm(ReasonForm):
    """Asks which held lines of a report to decide, and why."""

    which = forms.ChoiceField(
        choices=[
            ("", "All on hold"),
            ("Why they wait", Hold.choices),
            ("What they are", ChargeKind.choices),
        ],
        required=False,
    )
    field_order = ["which", "reason"]


def decided(*, post: bool) -> Callable[..., str]:
    """Return a function that decides a report's held lines, or one line with its Extra Cover."""

    def do(
        thing: BillingReport | Charge, *, now: dt.datetime, which: str = "", **written: Any
    ) -> str:
        if isinstance(thing, BillingReport):
            held = Charge.objects.filter(HELD, report=thing)
            chosen = held.filter(Q(held=which) | Q(kind=which)) if which else held
            # with the Extra Cover in a line's price
            lines = held.filter(line__in=chosen.values("line"))
        else:  # a line that was left out may be counted after all
            lines = Charge.objects.exclude(held="").filter(report=thing.report_id, line=thing.line)
        found = posting.decide_lines(list(lines), post=post, now=now)
        if not found:
            raise Refused("These charges are no longer on hold. Nothing was changed.")
        sums: dict[str, Decimal] = defaultdict(Decimal)
        for line in found:
            sums[line.currency] += line.amount
        amounts = ", ".join(f"{amount} {currency}" for currency, amount in sums.items())
        return f"{len(found)} line{'s' if len(found) > 1 else ''}, {amounts}"

    return do


def _is_held(charge: Charge) -> bool:
    is_waiting = bool(charge.held) and not charge.is_repeat
    return is_waiting and charge.report is not None and charge.report.state in posting.DECIDABLE


def _is_nobodys(charge: Charge) -> bool:
    """Return whether a posted line has no owner."""
    return charge.sender_id is None and charge.posted_at is not None


def _is_reversible(charge: Charge) -> bool:
    is_counted = charge.posted_at is not None and charge.sender_id is not None
    return is_counted and charge.reverses_id is None and not hasattr(charge, "reversed_by")


class WeekFilter(admin.SimpleListFilter):
    """The weeks with reports, newest first."""

    title = "week"
    parameter_name = "week"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        reports = BillingReport.objects.order_by("-week").values_list("week", flat=True)
        return [(week.isoformat(), f"{week:%-d %b %Y}") for week in reports.distinct()[:WEEKS]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Charge]) -> QuerySet[Charge]:
        """Filter by the week's reports, which are indexed, plus the operators' few lines."""
        if self.value() not in dict(self.lookup_choices):
            return queryset
        week = str(self.value())
        of_week = BillingReport.objects.filter(week=week).values("pk")
        return queryset.filter(Q(report__in=of_week) | Q(report=None, week=week))


class DisputeInline(ReadOnlyInline):
    """The sender's dispute of the line, and the answer."""

    model = Dispute
    fk_name = "charge"
    fields = ["made_at", "state", "text", "answer"]


class ChargeAdmin(ActionsAdmin):
    """Search, filter, assign, credit and reverse lines. The staff app registers it."""

    linked = ("report__id__exact", "posted_at__gte")
    admin_actions = (
        AdminAction(
            "assign",
            "Assign to a parcel or sender",
            "This charge is unassigned. It will go on the sender's statement for the week it was"
            " charged.",
            assign,
            needs="billing",
            audit="charge assigned",
            applies=_is_nobodys,
            form=OwnerForm,
        ),
        AdminAction(
            "accept",
            "Accept this price",
            "The charge stays, though it isn't what was booked. The sender pays it, less any"
            " credit, and the parcel leaves the queue.",
            _accept,
            needs="billing",
            audit="charge accepted",
            applies=lambda charge: charge.is_unexpected,
        ),
        AdminAction(
            "count",
            "Count this charge",
            "The carrier confirms it is a separate charge. It goes on the sender's statement for"
            " the week of its report.",
            decided(post=True),
            needs="billing",
            audit="held charge counted",
            applies=_is_held,
        ),
        AdminAction(
            "leave-out",
            "Leave it out",
            "The carrier billed it by mistake and will correct it. It stays in the report and is"
            " never counted.",
            decided(post=False),
            needs="billing",
            audit="held charge left out",
            applies=lambda charge: _is_held(charge) and not charge.decision,
        ),
        AdminAction(
            "reverse",
            "Reverse",
            "Adds a line for the opposite amount to this week's statement. Both lines stay visible."
            " A credit given for a dispute about it is reversed too.",
            _reverse,
            needs="billing",
            audit="charge reversed",
            applies=_is_reversible,
            form=ToSenderForm,
        ),
    )
    list_display = ["week", "parcel", "sender", "kind", "money", "posted", "repeats", "on_hold"]
    waits = ("owner", queues.CHARGES)
    list_filter = [
        WeekFilter,
        SenderFilter,
        choices(
            "owner",
            "owner",
            {
                "nobody": ("Unassigned, posted", queues.CHARGES["nobody"].rule),
                "unmatched": (
                    "Unassigned",
                    Q(pk__in=Charge.objects.unmatched().values("pk")),
                ),
                "sender": ("Assigned", Q(sender__isnull=False)),
            },
        ),
        choices(
            "duplicate of a posted line",
            "repeat",
            {"yes": ("Yes, not counted", Q(is_repeat=True)), "no": ("No", Q(is_repeat=False))},
        ),
        choices(
            "on hold",
            "hold",
            {
                "on-hold": ("Posted report, undecided", queues.ON_HOLD["on-hold"].rule),
                "undecided": ("Undecided", HELD),
                "left-out": ("Left out", LEFT_OUT),
            },
        ),
        "kind",
    ]
    # This only turns the search box on.
    search_fields = ["reference"]
    search_help_text = "Full carrier reference"
    inlines = [DisputeInline]
    fieldsets = [
        (None, {"fields": ["kind", "money", "from_report", "parcel", "owner", "posted_at"]}),
        (
            "From the carrier",
            {"fields": ["word", "stated", "reference", "day", "repeats", "on_hold"]},
        ),
        ("Size", {"fields": [("declared_kg", "measured_kg"), ("declared_m3", "measured_m3")]}),
        ("From operators", {"fields": ["reason", "by", "takes_back", "taken_back_by"]}),
    ]
    readonly_fields = [
        "money",
        "repeats",
        "on_hold",
        "from_report",
        "parcel",
        "owner",
        "takes_back",
        "taken_back_by",
    ]

    def wait_of(self, request: HttpRequest) -> Wait | None:
        return super().wait_of(request) or queues.ON_HOLD.get(request.GET.get("hold", ""))

    related = ("order", "sender", "report", "by", "reverses", "reversed_by")

    def search_rows(
        self, request: HttpRequest, rows: QuerySet[Charge], typed: str
    ) -> QuerySet[Charge]:
        """Search by the referenced order and among lines without an owner: both are indexed."""
        theirs = Charge.objects.filter(
            order__in=with_reference(Order.objects.all(), typed).order_by().values("pk")
        )
        nobodys = Charge.objects.filter(sender=None, reference__upper=typed.upper())
        return rows.filter(pk__in=theirs.values("pk").union(nobodys.values("pk")))

    @admin.display(description="posted", ordering="posted_at")
    def posted(self, charge: Charge) -> str:
        """Show when the line started to count."""
        return admin_time(charge.posted_at) if charge.posted_at else "–"

    # The decision on a held line, or why it isn't counted yet.
    on_hold = column(
        "on hold", lambda it: it.get_decision_display() or it.get_held_display() or "–"
    )
    repeats = column("duplicate", lambda charge: charge.is_repeat, boolean=True)
    owner = column(
        "sender", lambda charge: link_to(charge.sender) if charge.sender else "Unassigned"
    )
    takes_back = column("reverses", lambda charge: link_to(charge.reverses))
    taken_back_by = column(
        "reversed by", lambda charge: link_to(getattr(charge, "reversed_by", None))
    )

    @admin.display(description="amount")
    def money(self, charge: Charge) -> str:
        """Show the amount with its currency."""
        return f"{charge.amount:,.2f}\N{NO-BREAK SPACE}{charge.currency}"

    @admin.display(description="parcel", ordering="order")
    def parcel(self, charge: Charge) -> SafeString | str:
        """Link to the order, or show the reference if no order has it."""
        return link_to(charge.order) if charge.order else charge.reference or "–"

    @admin.display(description="report")
    def from_report(self, charge: Charge) -> SafeString | str:
        """Link to the line's report, with its line number in the file."""
        if charge.report is None:
            return "None: added by an operator"
        return link_to(charge.report, f"{charge.report}, line {charge.line}")
