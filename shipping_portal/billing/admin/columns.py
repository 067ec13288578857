"""Edit an account's billing profile: map columns with a reason, and test them before saving."""

from itertools import islice
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from shipping_portal.accounts.adminkit.actions import ReasonForm, audited
from shipping_portal.accounts.adminkit.facts import AdminPage, Context, ReadOnlyAdmin
from shipping_portal.billing.models import BillingProfile, BillingReport
from shipping_portal.billing.reports.fields import FIELDS, NEEDED, Profile
from shipping_portal.billing.reports.reading import (
    LARGEST,
    NotAReport,
    Problem,
    ReportRow,
    ReportTotal,
    read_report,
)

FORM = ("delimiter", "date_form", "decimal_sign", "refunds_positive", "cover_inside", "total_word")
TRIED = 3


class ColumnsForm(ReasonForm, forms.ModelForm):
    """Asks for the header of each column we read, and the format of dates, refunds and cover."""

    file = forms.FileField(
        required=False,
        label="Sample file",
        help_text="Leave empty to use this account's newest file. The sample isn't saved.",
    )

    class Meta:
        model = BillingProfile
        fields = FORM
        labels = {"total_word": "Type used for total rows"}
        help_texts = {
            "decimal_sign": (
                "Thousands may be written as in 1,021.36, 1 021.36 or 1'021.36, and a minus as in"
                " -21.36, 21.36-, (21.36) or 21.36 CR. A currency, as in $21.36 or AUD 21.36, has"
                " to be the line's."
            )
        }
        widgets = {"total_word": forms.TextInput}

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        for field, label in FIELDS.items():
            self.fields[f"column_{field}"] = forms.CharField(
                label=label,
                required=field in NEEDED,
                max_length=100,
                initial=self.instance.columns.get(field, ""),
            )
        self.order_fields([*(f"column_{field}" for field in FIELDS), *FORM, "file", "reason"])

    @property
    def parts(self) -> list[tuple[str, list[Any]]]:
        """Return the heading and fields of each part of the page."""
        fields = list(self)
        columns = [field for field in fields if field.name.startswith("column_")]
        return [
            ("Column header for", columns),
            ("Format", [field for field in fields if field not in columns]),
        ]

    @property
    def chosen(self) -> dict[str, Any]:
        """Return the choices as the model stores them."""
        columns = {field: self.cleaned_data.get(f"column_{field}", "") for field in FIELDS}
        kept = {field: name for field, name in columns.items() if name}
        return {"columns": kept, **{name: self.cleaned_data[name] for name in FORM}}


def columns_page(request: HttpRequest, profile: BillingProfile, context: Context) -> HttpResponse:
    """Test columns on the newest file, as often as needed; save them with a reason."""
    data = (request.POST, request.FILES) if request.method == "POST" else (None, None)
    form, tried = ColumnsForm(*data, instance=profile), None
    if "try" in request.POST:
        form.fields["reason"].required = False
        form.fields["reason"].min_length = 0  # type: ignore[attr-defined]
        tried = _try_columns(profile, form) if form.is_valid() else None
    elif form.is_valid():
        audited(
            "report columns set",
            _set,
            profile,
            by=request.user,
            now=timezone.now(),
            reason=form.cleaned_data["reason"],
            chosen=form.chosen,
        )
        messages.success(request, "Columns set. Posted reports don't change.")
        return redirect("admin:billing_billingprofile_change", profile.pk)
    shown = {
        "title": f"Billing report columns for {profile.account}",
        "profile": profile,
        "form": form,
        "tried": tried,
    }
    return TemplateResponse(request, "admin/report_columns.html", context | shown)


def _set(profile: BillingProfile, *, chosen: dict[str, Any], **answers: Any) -> None:
    """Set the columns for future files and for files that are read again."""
    BillingProfile.objects.filter(pk=profile.pk).update(**chosen)


def _try_columns(profile: BillingProfile, form: ColumnsForm) -> dict[str, Any]:
    """Return a file's first rows as read by these columns. Nothing is saved."""
    name, content = _file_to_try(profile, form.cleaned_data["file"])
    if not content:
        return {"name": ""}
    try:
        records = (
            it
            for it in read_report(content, Profile(**form.chosen))
            if not isinstance(it, ReportTotal)
        )
        found = list(islice(records, TRIED))
    except NotAReport as refusal:
        return {"name": name, "refusal": str(refusal)}
    return {
        "name": name,
        "rows": [record for record in found if isinstance(record, ReportRow)],
        "problems": [record for record in found if isinstance(record, Problem)],
    }


def _file_to_try(profile: BillingProfile, given: Any) -> tuple[str, bytes]:
    """Return the chosen file, otherwise the account's newest."""
    if given:
        return given.name, given.read(LARGEST)
    newest = (
        BillingReport.objects.filter(account=profile.account, file__isnull=False)
        .order_by("-pk")
        .first()
    )
    return (newest.name, bytes(newest.file.content)) if newest else ("", b"")


@admin.register(BillingProfile)
class BillingProfileAdmin(ReadOnlyAdmin):
    """Show an account's billing profile. It is changed only with a reason."""

    admin_pages = (AdminPage("columns", columns_page, needs="billing", label="Set columns"),)
    list_display = [
        "account",
        "delimiter",
        "date_form",
        "decimal_sign",
        "refunds_positive",
        "cover_inside",
        "total_word",
    ]
    related = ("account",)
    fields = ["account", "read_as", *FORM]
    readonly_fields = ["read_as"]

    @admin.display(description="columns")
    def read_as(self, profile: BillingProfile) -> str:
        """Show which column is read as what."""
        read_columns = (
            f"{FIELDS[field]}: “{name}”"
            for field, name in profile.columns.items()
            if field in FIELDS
        )
        return ", ".join(read_columns)
