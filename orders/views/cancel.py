"""Cancel a parcel, asking for the reason first: some reasons need no cancelling (interface §3)."""

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from orders.cancelling import cancels
from orders.cancelling.cancel_rules import CANNOT_CANCEL, can_cancel
from orders.drafting.receivers import shown_receiver
from orders.models import CancelAttempt, Order
from orders.views.parcel import orders_of
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience, require_get_or_post

NEEDS = {
    "not_sending": "I no longer need to send it",
    "wrong": "Some details are wrong",
    "another_day": "I need another pickup day",
    "no_driver": "The driver didn't come",
}
CANCELS = {"not_sending": "not sending it"}  # mistakes are corrected by replacing the parcel


@audience(BOOKERS)
@require_get_or_post
def cancel(request: MemberRequest, order: uuid.UUID) -> HttpResponse:
    """Show what cancelling means; POST cancels, if that serves the need and is allowed now."""
    found = get_object_or_404(orders_of(request), uuid=order)
    need = request.POST.get("need") or request.GET.get("need", "")
    if request.method == "GET" and need == "wrong" and can_cancel(found, timezone.now()):
        return redirect("replace", found.uuid)
    if request.method == "GET":
        return _cancel_page(request, found, need, status=200)
    if need not in CANCELS:
        return _cancel_page(request, found, need, status=409)
    try:
        cancels.ask_to_cancel(found, by=request.user, why=CANCELS[need], now=timezone.now())
    except CANNOT_CANCEL:
        found.refresh_from_db()
        return _cancel_page(request, found, "", status=409)
    messages.info(request, "Cancellation requested. Don't use the label until the carrier answers.")
    return redirect("parcel", found.uuid)


def _cancel_page(request: MemberRequest, order: Order, need: str, *, status: int) -> HttpResponse:
    now = timezone.now()
    context = {
        "order": order,
        "receiver": shown_receiver(order, request.membership.role),
        "progress": order.shown_progress(now),
        "can_cancel": can_cancel(order, now),
        "need": need if need in NEEDS else "",
        "needs": NEEDS,
        "refused": order.cancels.filter(state=CancelAttempt.State.REFUSED).order_by("pk").last(),
    }
    return render(request, "orders/cancel.html", context, status=status)
