"""Show the carrier's weekly billing reports: totals, obstacles, and posting."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, F, Q, Sum
from django.http import HttpRequest

from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.adminkit.actions import ActionsAdmin, AdminAction, ReasonForm
from shipping_portal.accounts.adminkit.facts import AdminPage, Context, column
from shipping_portal.accounts.adminkit.queues import needs
from shipping_portal.accounts.models import User
from shipping_portal.billing import queues
from shipping_portal.billing.admin import uploading
from shipping_portal.billing.admin.charges import ToSenderForm, WhichForm, decided
from shipping_portal.billing.charges import correcting
from shipping_portal.billing.models import BillingReport, Charge, ChargeKind, Hold, round_cents
from shipping_portal.billing.reports import checking, posting
from shipping_portal.billing.reports.balancing import HELD, report_tallies
from shipping_portal.refused import Refused

State = BillingReport.State
MOST_SHOWN = 200  # senders


class TotalForm(ReasonForm):
    """Asks for the invoice's total."""

    total = forms.DecimalField(max_digits=16, decimal_places=2)
    currency = forms.RegexField(r"^[A-Za-z]{3}$", label="Currency, like AUD")
    field_order = ["total", "currency", "reason"]

    def clean_currency(self) -> str:
        """Return the currency in capital letters."""
        return str(self.cleaned_data["currency"]).upper()


def _ended_by(end: Callable[..., None]) -> Callable[..., str]:
    """Return a function that posts or voids a report. That function may raise NotReady."""

    def do(report: BillingReport, *, by: User, now: dt.datetime, **written: Any) -> str:
        end(report, by=by, now=now)
        return report.name

    return do


def _read_again(report: BillingReport, *, now: dt.datetime, **written: Any) -> str:
    if not checking.read_report_again(report, now=now):
        raise Refused("This report has already been posted or voided.")
    return report.name


def _state_total(report: BillingReport, *, total: Decimal, currency: str, **written: Any) -> str:
    """Store a total from the invoice, next to those in other currencies."""
    stated = {name: Decimal(amount) for name, amount in report.stated.items()}
    if not posting.state_total(report, {**stated, currency: total}):
        raise Refused("You can only set a total on a report that is processed and not yet posted.")
    return f"{report.name}, {total} {currency}"


def _count_repeats(report: BillingReport, **written: Any) -> str:
    return f"{report.name}, {posting.count_repeats(report)} lines"


def _reverse(report: BillingReport, *, by: User, now: dt.datetime, reason: str) -> str:
    count = correcting.reverse_report(report, by=by, now=now, reason=reason)
    return f"{report.name}, {count} line{'' if count == 1 else 's'}"


def _reversal(report: BillingReport) -> list[list[str]]:
    """Return what reversing a report would change for each sender and in total, by currency."""
    of_disputes = correcting.credits_for(report.lines.all()).values("pk")
    lines_and_credits = Q(report=report) | Q(pk__in=of_disputes)
    unreversed = Charge.objects.posted().filter(lines_and_credits, reversed_by=None).order_by()
    lines = {"lines": Count("pk"), "amount": Sum("amount")}
    by_sender: Any = unreversed.values("sender__name", "currency").annotate(**lines)
    in_all: Any = unreversed.values("currency").annotate(**lines).order_by("currency")
    rows = [
        *by_sender.order_by(F("sender__name").asc(nulls_last=True), "currency")[:MOST_SHOWN],
        *in_all,
    ]
    return [
        ["Sender", "Lines reversed", "Amount", "Change"],
        *([row.get("sender__name", "All senders") or "Unassigned", *_change(row)] for row in rows),
    ]


def _change(row: dict[str, Any]) -> tuple[str, ...]:
    amount, currency = round_cents(row["amount"]), f"\N{NO-BREAK SPACE}{row['currency']}"
    return f"{row['lines']:,}", f"{amount:,.2f}{currency}", f"{-amount:+,.2f}{currency}"


def _has_held(report: BillingReport) -> bool:
    return report.state in posting.DECIDABLE and report.lines.filter(HELD).exists()


def _on_hold(report: BillingReport) -> list[list[str]]:
    """Return the lines on hold, by reason and kind."""
    columns = ("held", "kind", "currency")
    held: Any = report.lines.filter(HELD).order_by(*columns).values(*columns)
    rows = [
        [Hold(row["held"]).label, ChargeKind(row["kind"]).label, *_change(row)[:2]]
        for row in held.annotate(lines=Count("pk"), amount=Sum("amount"))
    ]
    return [["Why", "What", "Lines", "Amount"], *rows]


act = partial(AdminAction, needs="billing", refusals=(posting.NotReady, Refused))
POST = act(
    "post",
    "Post",
    "Makes every line final and visible to its sender, but for those on hold. To correct a mistake"
    " later, reverse a line or the whole report: posted lines can't be edited.",
    _ended_by(posting.post_report),
    audit="billing report posted",
    applies=lambda report: report.state == State.CHECKED,
)


@admin.register(BillingReport)
class BillingReportAdmin(ActionsAdmin):
    """Weekly reports: uploaded, checked, posted or voided."""

    admin_pages = (
        AdminPage(
            "upload", uploading.page, needs="billing", label="Upload a report", is_of_list=True
        ),
    )
    admin_actions = (
        POST,
        act(
            "void",
            "Void",
            "Discards this report. The same file can be uploaded again.",
            _ended_by(posting.void_report),
            audit="billing report made void",
            applies=lambda report: report.state in {State.READING, State.CHECKED, State.DAMAGED},
        ),
        act(
            "reverse",
            "Reverse",
            "Adds a line for the opposite amount to this week's statement for every line of this"
            " report. Both stay visible. Charges on hold or unassigned no longer count at all. The"
            " same file can be uploaded again.",
            _reverse,
            audit="billing report reversed",
            applies=lambda report: report.state == State.POSTED,
            form=ToSenderForm,
            preview=_reversal,
        ),
        act(
            "read-again",
            "Reprocess",
            "Processes the whole file again, using the account's current columns.",
            _read_again,
            audit="billing report read again",
            applies=lambda report: report.state in {State.CHECKED, State.DAMAGED},
        ),
        act(
            "state-total",
            "Set total",
            "The total on the carrier's invoice, less refunds. The report can only be posted if its"
            " lines add up to the same.",
            _state_total,
            audit="billing total stated",
            applies=lambda report: report.state == State.CHECKED,
            form=TotalForm,
        ),
        act(
            "count-repeats",
            "Count duplicate lines",
            "Lines like these have already been posted, so they aren't counted. Count them only if"
            " the carrier confirms that they are separate charges.",
            _count_repeats,
            audit="duplicate lines counted",
            applies=lambda report: (
                report.state == State.CHECKED and report.lines.filter(is_repeat=True).exists()
            ),
        ),
        act(
            "count-held",
            "Count what is on hold",
            "Counts the lines of this report that are on hold, all of them or those of one kind. Do"
            " it only if the carrier confirms that they are separate charges.",
            decided(post=True),
            audit="held charges counted",
            applies=_has_held,
            form=WhichForm,
            preview=_on_hold,
        ),
        act(
            "leave-held",
            "Leave out what is on hold",
            "Leaves out the lines of this report that are on hold, all of them or those of one"
            " kind, because the carrier billed them by mistake.",
            decided(post=False),
            audit="held charges left out",
            applies=_has_held,
            form=WhichForm,
            preview=_on_hold,
        ),
    )
    change_form_template = "admin/billing_report.html"
    list_display = [
        "week",
        "name",
        "state",
        "rows",
        "matched",
        "unmatched",
        "repeats",
        "held",
        "comes_to",
        "says",
        "account",
    ]
    list_display_links = ["week", "name"]
    waits = ("needs", queues.REPORTS)
    list_filter = [needs(queues.REPORTS), "state"]
    related = ("account", "uploaded_by", "ended_by")
    list_per_page = 20  # the lines of each are counted
    ordering = ["-week", "-pk"]
    search_fields = ["name"]
    exclude = ["profile", "problems"]

    def with_counts(self, rows: list[BillingReport]) -> list[Any]:
        found = report_tallies(rows)
        for report in rows:
            report.tally = found[report.pk]
        return rows

    def thing_context(self, request: HttpRequest, thing: BillingReport) -> Context:
        """Show the report's totals, with the form to post it."""
        shown = super().thing_context(request, thing) | uploading.report_state(thing)
        if (
            shown["can_post"]
            and not shown["obstacles"]
            and permissions.may(request.user, POST.needs)
        ):
            shown |= {"form": ReasonForm(), "post": POST}
        shown["acts"] = [act for act in shown["acts"] if act[0] != POST.label]
        shown["may_bill"] = permissions.may(request.user, "billing")
        return shown

    matched = column("assigned", lambda report: report.tally.matched)
    unmatched = column("unassigned", lambda report: report.tally.unmatched)
    repeats = column("duplicates", lambda report: report.tally.repeats)
    held = column("on hold", lambda report: report.tally.held)
    comes_to = column("sum of lines", lambda report: _format_sums(report.tally.found))

    @admin.display(description="stated total")
    def says(self, report: BillingReport) -> str:
        """Show the total that the file states."""
        return _format_sums({currency: Decimal(total) for currency, total in report.stated.items()})


def _format_sums(sums: dict[str, Decimal]) -> str:
    return ", ".join(f"{total:,.2f} {currency}" for currency, total in sorted(sums.items())) or "–"
