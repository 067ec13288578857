"""Resolve an unclear booking by one of three decisions, and reveal its masked data."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from orders.calling import waiting
from orders.calling.contract import contract_of
from orders.masking import revealed_body
from orders.models import Order
from orders.models.statuses import UNCLEAR_BOOKING
from shipping_portal.accounts.adminkit.actions import AdminAction, ReasonForm
from shipping_portal.accounts.adminkit.facts import Context
from shipping_portal.accounts.models import Audit
from shipping_portal.carrier import shapes
from shipping_portal.http.forms import posted_data, refusals_at
from shipping_portal.refused import Refused
from shipping_portal.staff.resolution import case, deciding, unowned, verifying
from shipping_portal.staff.resolution.verifying import known_order_id

NOTHING_TO_COMPARE = (
    "The contract has no way to look up the carrier's order, so we can't tell whose reference this"
    " is. Compare the places and the price yourself."
)
KEPT_UNCHECKED = " The carrier's tracking can't be checked from here either, so check your typing."
COMPARED = (
    "The carrier's order with this ID must show our order key or this order's customer reference."
)


class DecisionForm(ReasonForm):
    """The reason. A decision may ask for more, depending on what this carrier can answer."""

    def __init__(self, *arguments: Any, order: Order, **named: Any) -> None:
        super().__init__(*arguments, **named)


class AdoptForm(DecisionForm):
    """A reference, and the order id by which the carrier identifies it and returns its label."""

    reference = forms.CharField(label="Carrier's reference", max_length=shapes.LONGEST)
    carrier_order_id = forms.CharField(label="Carrier's order ID", max_length=80, required=False)
    field_order = ["reference", "carrier_order_id", "reason"]

    def __init__(self, *arguments: Any, order: Order, **named: Any) -> None:
        super().__init__(*arguments, order=order, **named)
        if verifying.can_view(order):
            self.fields["carrier_order_id"].help_text = f"{COMPARED} {verifying.WHERE_THE_ID_IS}"
            return
        self.fields["carrier_order_id"].help_text = "Without it the order can't be cancelled here."
        is_tracked = contract_of(order.account).operation("track") is not None
        self.fields["reference"].help_text = NOTHING_TO_COMPARE + (
            "" if is_tracked else KEPT_UNCHECKED
        )


def _adopt(order: Order, *, reference: str, **written: Any) -> None:
    seen, heard_at = unowned.first_seen(order.account, reference)
    deciding.adopt_reference(order, seen, heard_at=heard_at, **written)


Decision = tuple[type[DecisionForm], Callable[..., None], str]
DECISIONS: dict[str, Decision] = {
    "adopt": (AdoptForm, _adopt, "Booked under the carrier's reference."),
    "not_booked": (
        DecisionForm,
        deciding.not_booked,
        "Resolved as not booked. The sender can book it again.",
    ),
    "keep_waiting": (
        DecisionForm,
        deciding.keep_waiting,
        "Still open. Your reason is in the audit log.",
    ),
}


def page(request: HttpRequest, order: Order, context: Context) -> HttpResponse:
    """Show the evidence, or carry out one decision. 409 if somebody else was faster."""
    if order.status not in UNCLEAR_BOOKING:
        return _page(request, order, context | {"is_resolved": True}, status=409)
    if request.method == "POST" and request.POST.get("attempt", "") not in {
        "",
        case.last_attempt(order),
    }:
        return _page(
            request, order, context | {"moved_on": True, "forms": _forms(order, {})}, status=409
        )
    chosen = request.POST.get("decision", "") if request.method == "POST" else ""
    if chosen not in DECISIONS:
        return _page(request, order, context)
    form_class, decide, done = DECISIONS[chosen]
    form = form_class(request.POST, order=order, prefix=chosen)
    if form.is_valid():
        with refusals_at(form):
            decide(order, by=request.user, now=timezone.now(), **form.cleaned_data)
            messages.success(request, f"{order}: {done}")
            return redirect("admin:orders_order_change", order.pk)
    return _page(
        request, order, context | {"forms": _forms(order, {}) | {chosen: form}, "chosen": chosen}
    )


def _forms(order: Order, picked: dict[str, str]) -> dict[str, forms.Form]:
    return {
        name: form(order=order, prefix=name, initial=picked)
        for name, (form, _, _) in DECISIONS.items()
    }


def _page(
    request: HttpRequest, order: Order, context: Context, *, status: int = 200
) -> HttpResponse:
    found = case.gather_evidence(order)
    reference = request.GET.get("reference", found.likeliest)
    picked = {"reference": reference, "carrier_order_id": known_order_id(order, reference)}
    shown = {"forms": _forms(order, picked), "reveal_form": ReasonForm(prefix="reveal"), **context}
    shown |= {"title": f"Resolve {order}", "order": order, "evidence": found}
    return TemplateResponse(request, "admin/resolve.html", shown, status=status)


# -- An order that was adopted by its reference alone ----------------------------------------------


class OrderIdForm(ReasonForm):
    """The carrier's order id; the carrier is asked whether it belongs to the reference."""

    carrier_order_id = forms.CharField(label="Carrier's order ID", max_length=80)
    field_order = ["carrier_order_id", "reason"]


ADD_ORDER_ID = AdminAction(
    name="add-order-id",
    label="Add the carrier's order ID",
    explains=(
        "Looks up this ID at the carrier. It must belong to this reference. Then its label is"
        " fetched."
    ),
    do=verifying.add_order_id,
    needs="resolve",
    applies=verifying.lacks_order_id,
    form=OrderIdForm,
    refusals=(Refused, waiting.Full),
)


def reveal_page(request: HttpRequest, order: Order, context: Context) -> HttpResponse:
    """Ask why; then show receiver, requests and replies once, without storing them."""
    form = ReasonForm(posted_data(request), prefix="reveal")
    shown = {**context, "title": f"Personal data for {order}", "order": order, "form": form}
    if form.is_valid():
        reason, sender, now = form.cleaned_data["reason"], order.sender, timezone.now()
        Audit.write(
            "personal data revealed", order, by=request.user, sender=sender, reason=reason, at=now
        )
        contract = contract_of(order.account)
        people = {"Receiver": asdict(order.receiver()), "From": order.pickup}
        shown["people"] = {
            whose: ", ".join(filter(None, person.values())) for whose, person in people.items()
        }
        shown["attempts"] = [
            {
                "generation": attempt.generation,
                "sent_at": attempt.sent_at,
                "request": revealed_body(attempt.body, contract),
                "response": revealed_body(attempt.response, contract),
            }
            for attempt in order.attempts.order_by("-pk")
        ]
    return TemplateResponse(request, "admin/reveal.html", shown)
