"""Upload a billing report. Nothing counts until somebody has checked its totals and posted it."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from orders.calling import gateway
from orders.models import CarrierAccount
from shipping_portal.accounts.adminkit.facts import Context
from shipping_portal.accounts.models import Audit
from shipping_portal.billing.admin.words import undecided
from shipping_portal.billing.models import BillingReport, Charge
from shipping_portal.billing.reports import posting, reading, uploads
from shipping_portal.billing.reports.balancing import HELD, report_balances, report_tallies
from shipping_portal.billing.reports.fields import profile_of


class ReportUploadForm(forms.Form):
    """Asks for the carrier's file, unchanged."""

    file = forms.FileField(
        help_text="The carrier's original CSV. It has no effect until you post it."
    )
    account = forms.ModelChoiceField(
        CarrierAccount.objects.order_by("pk"), label="Carrier account", empty_label=None
    )
    week = forms.DateField(
        required=False,
        label="Any day in the billing week",
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=(
            "Leave empty to use the week before the date in the file's name, or last week if there"
            " is none."
        ),
    )
    total = forms.DecimalField(
        required=False,
        max_digits=16,
        decimal_places=2,
        label="Invoice total",
        help_text="Only if the file has no total. Less refunds.",
    )
    currency = forms.RegexField(
        r"^[A-Za-z]{3}$", required=False, label="Currency of the total, like AUD"
    )

    def clean_file(self) -> Any:
        """Reject a file larger than a report may be."""
        if self.cleaned_data["file"].size > reading.LARGEST:
            raise forms.ValidationError(reading.TOO_MUCH)
        return self.cleaned_data["file"]

    def clean(self) -> dict[str, Any]:
        """Reject a total without a currency, or a currency without a total."""
        total, currency = self.cleaned_data.get("total"), self.cleaned_data.get("currency")
        if (total is None) != (not currency) and not {"total", "currency"} & set(self.errors):
            self.add_error("currency", "Enter both the total and its currency, or neither.")
        return self.cleaned_data

    @property
    def stated(self) -> dict[str, Decimal]:
        """Return the typed total by currency."""
        total = self.cleaned_data["total"]
        return {} if total is None else {self.cleaned_data["currency"].upper(): total}


def page(request: HttpRequest, context: Context) -> HttpResponse:
    """Upload the file, then show its totals. A repeated file is rejected with a link to it."""
    if request.method != "POST":
        return _page(
            request, context, ReportUploadForm(initial={"account": gateway.all_accounts()[0].pk})
        )
    form = ReportUploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, context, form)
    try:
        report = _take_file(form, request.user)
    except uploads.TakenBefore as known:
        return _page(request, context | {"before": known.report}, form)
    except reading.NotAReport as refusal:
        form.add_error("file", str(refusal))
        return _page(request, context | {"profile": profile_of(form.cleaned_data["account"])}, form)
    messages.success(request, f"Processing {report.name}. It has no effect until you post it.")
    return redirect("admin:billing_billingreport_change", report.pk)


def _take_file(form: ReportUploadForm, by: Any) -> BillingReport:
    file, given, now = form.cleaned_data["file"], form.cleaned_data, timezone.now()
    with transaction.atomic():
        report = uploads.store_report(
            given["account"],
            file.name,
            file.read(),
            by=by,
            now=now,
            week=given["week"],
            stated=form.stated,
        )
        Audit.write(
            "billing report taken", report, by=by, reason=f"{report.name}, {report.week}", at=now
        )
    return report


def _page(request: HttpRequest, context: Context, form: ReportUploadForm) -> HttpResponse:
    shown = {"title": "Upload a billing report", **context, "form": form}
    return TemplateResponse(request, "admin/upload_report.html", shown)


def report_state(report: BillingReport) -> dict[str, Any]:
    """Return the report's progress, totals and obstacles to posting."""
    is_checked = report.state == BillingReport.State.CHECKED
    tally = report_tallies([report])[report.pk]
    return {
        "is_reading": report.state == BillingReport.State.READING,
        "tally": tally,
        "kinds": posting.report_totals(report),
        "balances": report_balances(report, tally),
        "held": sorted(Charge.objects.filter(HELD, report=report).net().items()),
        "undecided": undecided(report),
        "obstacles": posting.posting_obstacles(report) if is_checked else [],
        "can_post": is_checked,
    }
