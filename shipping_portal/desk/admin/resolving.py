"""The page that settles one unclear booking: what is known on it, and three decisions which each ask why."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from orders import resolving
from orders.models import Order
from orders.models.statuses import Status
from shipping_portal.desk import reconcile
from shipping_portal.desk.admin.acts import ReasonForm

RESOLVABLE = {Status.UNCONFIRMED, Status.CONFLICT}


class AdoptForm(ReasonForm):
    """The reference must answer on the carrier's tracking; the order id is what its label is fetched by."""

    reference = forms.CharField(label="Carrier's reference", max_length=40)
    carrier_order_id = forms.CharField(
        label="Carrier's order id",
        max_length=80,
        required=False,
        help_text="From the carrier. Without it the label cannot be fetched nor the order cancelled here.",
    )
    field_order = ["reference", "carrier_order_id", "reason"]


def _adopt(order: Order, cleaned: dict[str, Any], by: Any) -> None:
    resolving.adopt(
        order,
        cleaned["reference"],
        by=by,
        reason=cleaned["reason"],
        now=timezone.now(),
        carrier_order_id=cleaned["carrier_order_id"],
    )


def _not_booked(order: Order, cleaned: dict[str, Any], by: Any) -> None:
    resolving.not_booked(order, by=by, reason=cleaned["reason"], now=timezone.now())


def _keep_waiting(order: Order, cleaned: dict[str, Any], by: Any) -> None:
    resolving.keep_waiting(order, by=by, reason=cleaned["reason"], now=timezone.now())


Decision = tuple[type[forms.Form], Callable[[Order, dict[str, Any], Any], None], str]
DECISIONS: dict[str, Decision] = {
    "adopt": (AdoptForm, _adopt, "Booked under the carrier's reference."),
    "not_booked": (ReasonForm, _not_booked, "Settled as not booked; the sender may book it again."),
    "keep_waiting": (ReasonForm, _keep_waiting, "Still open; your reason is in the audit."),
}


def page(request: HttpRequest, order: Order, context: dict[str, Any]) -> HttpResponse:
    """Show the evidence, or take one decision. 409 when somebody else was faster."""
    if order.status not in RESOLVABLE:
        return _page(request, order, context | {"is_resolved": True}, status=409)
    picked = {"reference": request.GET.get("reference", "")}
    forms_by_name = {name: form(prefix=name, initial=picked) for name, (form, _, _) in DECISIONS.items()}
    chosen = request.POST.get("decision", "") if request.method == "POST" else ""
    if chosen in DECISIONS:
        form_class, decide, done = DECISIONS[chosen]
        form = forms_by_name[chosen] = form_class(request.POST, prefix=chosen)
        if form.is_valid() and _taken(decide, order, form, request.user):
            messages.success(request, f"{order}: {done}")
            return redirect("admin:orders_order_change", order.pk)
    return _page(request, order, context | {"forms": forms_by_name, "chosen": chosen})


def _taken(
    decide: Callable[[Order, dict[str, Any], Any], None], order: Order, form: forms.Form, by: Any
) -> bool:
    try:
        decide(order, form.cleaned_data, by)
    except resolving.CannotResolve as refusal:
        form.add_error(None, str(refusal))
        return False
    return True


def _page(request: HttpRequest, order: Order, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    shown = {**context, "title": f"Resolve {order}", "order": order, "evidence": reconcile.evidence(order)}
    return TemplateResponse(request, "admin/resolve.html", shown, status=status)
