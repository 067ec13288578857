"""Assign lines without an owner: tick them, check them on one page, give them to one sender."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.adminkit.actions import ReasonForm
from shipping_portal.accounts.adminkit.facts import AdminPage, Context
from shipping_portal.accounts.models import Sender
from shipping_portal.billing.admin.charges import ChargeAdmin
from shipping_portal.billing.models import Charge
from shipping_portal.staff import assigning

TOO_MANY = (
    f"You can assign up to {assigning.MOST} lines at once. Select fewer. Nothing was assigned."
)
NO_LINES = "No lines selected. Nothing was assigned."


class LinesForm(ReasonForm):
    """One sender for all of the lines, and the reason."""

    sender = forms.CharField(
        label="Assign to", max_length=20, help_text="The sender's A-number, like A-1007."
    )
    field_order = ["sender", "reason"]

    def clean_sender(self) -> Sender:
        """Return the sender. Rejects an unknown number."""
        number = Sender.pk_of(self.cleaned_data["sender"].strip())
        sender = Sender.objects.filter(pk=number).first() if number else None
        if sender is None:
            raise forms.ValidationError("No sender has this number.")
        return sender


@require_POST
def assign_page(request: HttpRequest, context: Context) -> HttpResponse:
    """Show where the ticked lines would go, or assign them as the page showed."""
    shown = _read_destinations(request.POST.getlist("line"))
    if not 0 < len(shown) <= assigning.MOST:
        return _return_to_list(request, TOO_MANY if shown else NO_LINES)
    form = LinesForm(request.POST)
    form.fields["reason"].required = "assign" in request.POST
    is_valid = form.is_valid()
    lines = assigning.plan_assignment(shown, form.cleaned_data.get("sender"))
    if not (is_valid and "assign" in request.POST):
        return _page(request, context, form, lines)
    reason, now = form.cleaned_data["reason"], timezone.now()
    done = assigning.assign_all(lines, shown, reason=reason, by=request.user, now=now)
    rest = [line for line in lines if line not in done]
    summary = f"{len(done)} assigned to {form.cleaned_data['sender']}."
    messages.success(
        request, summary if not rest else f"{summary} {len(rest)} not assigned: see below."
    )
    return _page(request, context, form, rest) if rest else _return_to_list(request)


def _page(
    request: HttpRequest, context: Context, form: LinesForm, lines: list[assigning.Line]
) -> HttpResponse:
    shown = {
        "form": form,
        "lines": lines,
        "going": [line for line in lines if line.destination],
        "sums": assigning.sums_by_currency(lines),
    }
    shown = {**context, "title": "Assign lines to one sender", **shown}
    return TemplateResponse(request, "admin/assign_lines.html", shown)


def _return_to_list(request: HttpRequest, error: str = "") -> HttpResponse:
    if error:
        messages.error(request, error)
    return redirect(f"{reverse('admin:billing_charge_changelist')}?owner=nobody")


def _read_destinations(ticks: list[str]) -> dict[int, str]:
    """Return where each line goes according to the page; "" for nowhere yet.

    Invalid boxes are left out.
    """
    pairs = (tick.partition(":") for tick in ticks)
    return {
        int(pk): destination
        for pk, _, destination in pairs
        if pk.isascii() and pk.isdecimal() and len(pk) < 19
    }


@admin.register(Charge)
class StaffChargeAdmin(ChargeAdmin):
    """Show charges and credits, with checkboxes if none of those listed has an owner."""

    actions = ["assign_lines"]
    admin_pages = (AdminPage("assign", assign_page, needs="billing", is_of_list=True),)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Offer the action in the list of unassigned lines, to users who may assign."""
        is_offered = request.GET.get("owner") == "nobody" and permissions.may(
            request.user, "billing"
        )
        return dict(super().get_actions(request)) if is_offered else {}

    @admin.action(description="Assign to one sender")
    def assign_lines(self, request: HttpRequest, queryset: QuerySet[Charge]) -> HttpResponse:
        """Show the lines that were ticked in the list."""
        ticked = list(queryset.order_by().values_list("pk", flat=True)[: assigning.MOST + 1])
        if len(ticked) > assigning.MOST:
            return _return_to_list(request, TOO_MANY)
        return _page(
            request,
            self.page_context(request),
            LinesForm(),
            assigning.plan_assignment(ticked, None),
        )
