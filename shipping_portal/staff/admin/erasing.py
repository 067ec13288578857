"""Erase a person in the admin: search, choose, preview, give a reason, confirm once."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from shipping_portal.accounts.adminkit.actions import ReasonForm
from shipping_portal.accounts.adminkit.facts import Context
from shipping_portal.http.forms import posted_data, refusals_at
from shipping_portal.jobs import erasing
from shipping_portal.jobs.erased_keys import NoErasedFile
from shipping_portal.refused import Refused
from shipping_portal.staff import erasing as acts
from shipping_portal.staff import finding


class PersonForm(forms.Form):
    """What the person said about themselves."""

    email = forms.EmailField(label="Email", required=False)
    phone = forms.CharField(required=False, max_length=30)
    name = forms.CharField(
        required=False, max_length=120, help_text="Part of a name is enough. Add the postcode."
    )
    postcode = forms.CharField(required=False, max_length=12)

    def clean(self) -> dict[str, Any]:
        typed: dict[str, Any] = super().clean() or {}
        if not (
            typed.get("email")
            or typed.get("phone")
            or (typed.get("name") and typed.get("postcode"))
        ):
            raise forms.ValidationError("Enter an email, a phone, or a name and postcode.")
        return typed


class EraseForm(ReasonForm):
    """What was chosen, and the reason."""

    chosen = forms.MultipleChoiceField(widget=forms.MultipleHiddenInput)

    def __init__(self, *args: Any, chosen: list[str], **options: Any) -> None:
        super().__init__(*args, **options)
        self.initial["chosen"] = chosen
        self.fields["chosen"].choices = [(value, value) for value in chosen]  # type: ignore[attr-defined]


def page(request: HttpRequest, context: Context) -> HttpResponse:
    """Show each step, all by POST: an email in an address would be in every log."""
    context |= {"title": "Erase a person"}
    if "chosen" in request.POST:
        return _confirm(request, context)
    form = PersonForm(posted_data(request))
    found = acts.find_person(**form.cleaned_data) if form.is_valid() else None
    for sought in form.cleaned_data.values() if found is not None else ():
        if sought:
            finding.record_sought(request.user, sought)
    return TemplateResponse(
        request, "admin/erase.html", context | {"form": form, "found": found, "most": acts.MOST}
    )


def _confirm(request: HttpRequest, context: Context) -> HttpResponse:
    values = request.POST.getlist("chosen")
    chosen, by = acts.read_choice(values), request.user
    form = EraseForm(request.POST if "reason" in request.POST else None, chosen=values)
    if form.is_valid():
        with refusals_at(form, kinds=(Refused, NoErasedFile)):
            acts.erase_chosen(chosen, by=by, reason=form.cleaned_data["reason"], now=timezone.now())  # type: ignore[arg-type]
            messages.success(request, "Erased. We can't recall labels and emails already sent.")
            return redirect("admin:orders_order_erase")
    context |= {"confirm": form, "counts": sorted(erasing.preview(acts.with_files(chosen)).items())}
    return TemplateResponse(request, "admin/erase.html", context)
