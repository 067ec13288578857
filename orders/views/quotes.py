"""The prices of one draft, and its Book button."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from orders.booking import booking_rules, bookings
from orders.cancelling import replacing
from orders.cancelling.cancel_rules import CANNOT_CANCEL
from orders.drafting import drafts
from orders.drafting.forms import BookForm, WeightForm
from orders.drafting.parcel_details import ParcelDetails
from orders.models import Draft, Order, Quote
from orders.quoting import offers
from orders.views import replace
from orders.views.responses import (
    NO_PRICES,
    begin_draft,
    error_sentence,
    get_draft,
    refused_page,
    suspended_page,
)
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience, require_get_or_post

NO_BOOKING = (
    booking_rules.ServiceNotOffered,
    booking_rules.PickupDayPassed,
    booking_rules.Paused,
    bookings.LimitReached,
)
FIELD_OF: dict[type[Exception], str] = {
    booking_rules.ServiceNotOffered: "product",
    booking_rules.PickupDayPassed: "pickup_date",
}

MOVED = (
    "Your pickup address has changed since the price you saw, so nothing was booked or cancelled."
    " These are the prices with the new address."
)


@audience(BOOKERS)
@require_get_or_post
def quotes(request: MemberRequest, draft: uuid.UUID) -> HttpResponse:
    """Show the offers side by side; posting checks the same parcel's prices again."""
    found = get_draft(request, draft)
    if found.quote is None:
        return redirect("draft", found.uuid)
    if not found.quote.details["receiver"]["name"]:
        return redirect("checked_price", found.uuid)  # no receiver yet
    if request.method == "GET":
        return _prices_page(request, found, found.quote, BookForm())
    if request.sender.is_suspended:
        return suspended_page(request, status=403)
    if "kept" in request.POST:
        drafts.change(found, {"kept": request.POST["kept"]})
        return redirect("quotes", found.uuid)
    return _check_again(request, found, ParcelDetails.from_json(found.quote.details))


def _check_again(
    request: MemberRequest, draft: Draft, details: ParcelDetails, *, why: str = ""
) -> HttpResponse:
    """Get the same parcel's prices again, or its prices at the weight that was pressed.

    `why` is shown with them.
    """
    details = details.with_pickup(request.sender.pickup_address())
    if draft.order_id or "anew" in request.POST:  # another parcel like it
        draft = begin_draft(request, details)
    measured = WeightForm(request.POST)
    if measured.is_valid():
        details = details.at_weight(measured.cleaned_data["use_weight"])
        drafts.change(draft, {f"weight_{details.measures.weight_units}": details.measures.weight})
    try:
        drafts.ask_prices(draft, details, by=request.user, now=timezone.now(), fresh=True)
    except NO_PRICES as error:
        messages.error(request, error_sentence(error, request.sender, to=details.receiver.country))
    else:
        if why:
            messages.warning(request, why)
    return redirect("quotes", draft.uuid)


@audience(BOOKERS)
@require_POST
def book(request: MemberRequest, draft: uuid.UUID) -> HttpResponse:
    """Make one booking due at the price the page showed.

    The same form pressed twice is one order.
    """
    found, form = get_draft(request, draft), BookForm(request.POST)
    chosen: dict[str, Any] = form.cleaned_data if form.is_valid() else {}
    quote = _shown_quote(request, found, chosen.get("form_token"))
    if quote is None:
        return redirect("draft", found.uuid)
    if not chosen:
        return _prices_page(request, found, quote, form)
    if found.corrects:
        return _correct(request, found.corrects, found, quote, form)
    if _may_be_duplicate(request, found, quote, chosen["form_token"]):
        return _quotes_page(request, found, quote, form, is_question=True)
    chosen |= {"is_another": "another" in request.POST, "asks_first": True}
    try:
        order = drafts.submit(found, quote, by=request.user, now=timezone.now(), **chosen)
    except Order.Duplicate:
        # Book was pressed earlier on another page.
        return _quotes_page(request, found, quote, form, is_question=True)
    except bookings.TokenReused:
        return _booked_already(request, chosen["form_token"])
    except booking_rules.PickupMoved:
        return _check_again(request, found, ParcelDetails.from_json(quote.details), why=MOVED)
    except booking_rules.Suspended:
        return suspended_page(request, status=403)
    except NO_BOOKING as error:
        form.add_error(FIELD_OF.get(type(error)), error_sentence(error, request.sender))
        return _quotes_page(request, found, quote, form)
    return redirect("booking_progress", order.uuid)


def _shown_quote(request: MemberRequest, draft: Draft, token: uuid.UUID | None) -> Quote | None:
    """Return the quote that the form showed, or else the draft's newest quote, if any."""
    quote = draft.quote
    if token and (quote is None or quote.uuid != token):
        quote = Quote.objects.for_user(request.user).filter(uuid=token).first() or quote
    if quote:
        quote.sender = request.sender
    return quote


def _correct(
    request: MemberRequest, order: Order, draft: Draft, quote: Quote, form: BookForm
) -> HttpResponse:
    """Cancel this parcel, and book the draft once that is confirmed.

    If its price is too old, the price is requested again first.
    """
    try:
        chosen = dict(form.cleaned_data)
        replacing.ask_to_replace(
            order,
            quote=quote,
            code=chosen.pop("product"),
            by=request.user,
            now=timezone.now(),
            **chosen,
        )
    except (replacing.OldPrice, booking_rules.CarrierChanged, booking_rules.PickupMoved) as error:
        why = MOVED if isinstance(error, booking_rules.PickupMoved) else replace.OLD_PRICE
        return _check_again(request, draft, ParcelDetails.from_json(quote.details), why=why)
    except booking_rules.Suspended:
        return suspended_page(request, status=403)
    except CANNOT_CANCEL:
        return redirect("quotes", draft.uuid)
    except NO_BOOKING as error:
        form.add_error(None, error_sentence(error, request.sender))
        return replace.prices_page(request, order, draft, quote, form)
    return redirect("replacing", order.uuid)


def _may_be_duplicate(request: MemberRequest, draft: Draft, quote: Quote, token: uuid.UUID) -> bool:
    """Return whether a similar parcel was just booked, and nobody confirmed this one."""
    if "another" in request.POST or request.sender.is_suspended:
        return False
    duplicate = booking_rules.duplicate_to_ask_about(
        quote, timezone.now(), form_token=token, follows=draft.follows
    )
    return duplicate is not None


def _prices_page(
    request: MemberRequest, draft: Draft, quote: Quote, form: BookForm
) -> HttpResponse:
    if draft.corrects:
        return replace.prices_page(request, draft.corrects, draft, quote, form)
    return _quotes_page(request, draft, quote, form)


def _quotes_page(
    request: MemberRequest, draft: Draft, quote: Quote, form: BookForm, *, is_question: bool = False
) -> HttpResponse:
    """Show the offers, or ask whether another parcel like the last is intended."""
    page = offers.for_page(quote, now=timezone.now(), follows=draft.follows)
    context = {"draft": draft, "quote": quote, "form": form, "page": page}
    context |= {"asks_about": form.cleaned_data if is_question else {}}
    return render(
        request,
        "orders/quotes.html",
        context,
        status=409 if is_question else 422 if form.errors else 200,
    )


def _booked_already(request: MemberRequest, token: uuid.UUID) -> HttpResponse:
    return refused_page(
        request,
        title="This parcel is booked already",
        text=(
            "You booked it from this page with another service or pickup day. Nothing new was"
            " booked."
        ),
        order=get_object_or_404(Order.objects.for_user(request.user), form_token=token),
    )
