"""Redirect pages and bookmarks from before 0.7, whose addresses name a price, to a draft."""

import uuid

from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect

from orders.drafting.parcel_details import ParcelDetails
from orders.models import Draft, Quote
from orders.views import quotes
from orders.views.parcel import orders_of
from orders.views.responses import begin_draft
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience, require_get_or_post


@audience(BOOKERS)
@require_get_or_post
def older_prices(
    request: MemberRequest, quote: uuid.UUID, order: uuid.UUID | None = None
) -> HttpResponseBase:
    """Redirect to the draft with this price, after creating one if there is none.

    A press of Book, or of a correction's only button, is processed.
    """
    found = get_object_or_404(Quote.objects.for_user(request.user), uuid=quote)
    known = {"quote": found, "source": Draft.Source.COPIED}
    if order:
        corrected = get_object_or_404(orders_of(request), uuid=order)
        known |= {"source": Draft.Source.CORRECTED, "origin": corrected}
    draft = Draft.objects.for_user(request.user).filter(**known).last()
    draft = draft or begin_draft(request, ParcelDetails.from_json(found.details), **known)
    if "form_token" not in request.POST:
        return redirect("quotes", draft.uuid)
    return quotes.book(request, draft.uuid)
