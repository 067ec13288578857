"""Send a parcel back: one press makes the draft of a return and shows its prices."""

import uuid

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from orders.drafting import drafts, returning
from orders.views.new_parcel import may_begin
from orders.views.parcel import orders_of
from orders.views.parcel_form import form_page
from orders.views.responses import begin_draft, refused_page, take_prices
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience


@audience(BOOKERS)
@require_POST
@may_begin
def send_back(request: MemberRequest, order: uuid.UUID) -> HttpResponse:
    """Begin a return, and show its prices, or its form with what is still missing."""
    found = get_object_or_404(orders_of(request), uuid=order)
    if why := returning.why_not_sent_back(found):
        return refused_page(request, title="This parcel can't be sent back", text=why, order=found)
    draft = begin_draft(request, returning.return_of(found, request.sender))
    form = drafts.parcel_form(request.sender, draft.values, draft=draft)
    if form.is_valid() and take_prices(request, draft, form):
        return redirect("quotes", draft.uuid)
    return form_page(request, draft, form)
