"""Show what a parcel would cost, by suburb or postcode, size and weight. Nothing can be booked."""

import uuid
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from orders.drafting.sizes import offered_sizes
from orders.models import Draft
from orders.quoting import offers
from orders.quoting.price_check import PriceCheckForm, shown
from orders.views.new_parcel import may_begin
from orders.views.responses import begin_draft, get_draft, take_prices
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience, require_get_or_post
from shipping_portal.accounts.address import countries, places
from shipping_portal.http.forms import posted_data, render_form


@audience(BOOKERS)
@require_get_or_post
@may_begin
def check_price(request: MemberRequest) -> HttpResponse:
    """Ask where it goes and how big it is; posting makes a draft and leads on to the prices."""
    first = {"size": str(request.sender.default_size.uuid)} if request.sender.default_size else {}
    form = _form(request, data=posted_data(request), initial=first)
    if form.is_valid():
        draft = begin_draft(request, form.details(), source=Draft.Source.PRICE_CHECK)
        if take_prices(request, draft, form):
            return redirect("checked_price", draft.uuid)
    return render_form(request, "orders/price_check.html", {"form": form})


@audience(BOOKERS)
@require_safe
def checked_price(request: MemberRequest, draft: uuid.UUID) -> HttpResponse:
    """Show the prices, their suburb, and how to make a parcel of them."""
    found = get_draft(request, draft)
    if found.quote is None:
        return redirect("check_price")
    page = offers.for_page(found.quote, now=timezone.now())
    receiver = page.details.receiver
    form = _form(request, initial=shown(page.details))
    shares_code = (
        places.active_places(receiver.country).filter(postcode=receiver.postcode).count() - 1
    )
    is_home = receiver.country == page.details.pickup.country
    country = "" if is_home else countries.country_name(receiver.country)
    parts = (receiver.suburb.title(), receiver.state, receiver.postcode, country)
    context = {
        "form": form,
        "page": page,
        "draft": found,
        "place": " ".join(filter(None, parts)),
        "others": max(shares_code, 0),
    }
    return render(request, "orders/price_check.html", context)


def _form(request: MemberRequest, **options: Any) -> PriceCheckForm:
    sender = request.sender
    return PriceCheckForm(
        sender=sender, address=sender.pickup_address(), sizes=offered_sizes(sender), **options
    )
