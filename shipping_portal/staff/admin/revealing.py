"""Reading what is masked elsewhere: once, on the answer to a reason, with a row in the audit."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from orders.contract import contract_of
from orders.masking import revealed
from orders.models import BookingAttempt, Order
from shipping_portal.accounts.adminkit.actions import ReasonForm
from shipping_portal.accounts.models import Audit
from shipping_portal.carrier.contract import Contract


def page(request: HttpRequest, order: Order, context: dict[str, Any]) -> HttpResponse:
    """Ask why; then show every attempt's exact request and kept answer on this one answer, which nothing stores."""
    form = ReasonForm(request.POST if request.method == "POST" else None, prefix="reveal")
    shown = {**context, "title": f"Personal data of {order}", "order": order, "form": form}
    if request.method == "POST" and form.is_valid():
        reason, sender, now = form.cleaned_data["reason"], order.sender, timezone.now()
        Audit.write("personal data revealed", order, by=request.user, sender=sender, reason=reason, at=now)
        contract = contract_of(order.account)
        shown["attempts"] = [_bodies(attempt, contract) for attempt in order.attempts.order_by("-pk")]
    return TemplateResponse(request, "admin/reveal.html", shown)


def _bodies(attempt: BookingAttempt, contract: Contract) -> dict[str, Any]:
    return {
        "generation": attempt.generation,
        "sent_at": attempt.sent_at,
        "request": revealed(attempt.body, contract),
        "response": revealed(attempt.response, contract),
    }
