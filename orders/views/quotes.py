"""The prices of one typed parcel, and its Book button."""

import datetime as dt
import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from orders.booking import booking_rules, bookings
from orders.drafting import saved_drafts
from orders.drafting.forms import BookForm, WeightForm
from orders.drafting.parcel_details import ParcelDetails
from orders.models import Order, Quote
from orders.quoting import offers
from orders.views.prefill import NO_PRICES, carried, prices
from orders.views.responses import refused, sentence, suspended
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience

FIELD_OF: dict[type[Exception], str] = {
    booking_rules.ServiceNotOffered: "product",
    booking_rules.PickupDayPassed: "pickup_date",
}


@audience(*BOOKERS)
@require_http_methods(["GET", "POST"])
def quotes(request: MemberRequest, quote: uuid.UUID) -> HttpResponse:
    """Show the offers side by side; posting checks the same parcel's prices again."""
    found = get_object_or_404(Quote.objects.for_user(request.user), uuid=quote)
    if not found.details["receiver"]["name"]:
        return redirect("checked_price", found.uuid)  # to nobody yet
    if request.method == "GET":
        return _quotes_page(request, found, BookForm())
    if request.sender.is_suspended:
        return suspended(request, status=403)
    details = ParcelDetails.from_json(found.details)
    try:
        measured = WeightForm(request.POST)
        if measured.is_valid():
            details = details.at_weight(measured.cleaned_data["use_weight"])
        found = prices(request, details, fresh=True)
    except NO_PRICES as error:
        messages.error(request, sentence(error, request.sender, to=details.receiver.country))
    return redirect(carried(request).at(reverse("quotes", args=[found.uuid])))


@audience(*BOOKERS)
@require_POST
def book(request: MemberRequest, quote: uuid.UUID) -> HttpResponse:
    """Owe the carrier one booking; the same form pressed twice is one order."""
    found = get_object_or_404(Quote.objects.for_user(request.user), uuid=quote)
    form = BookForm(request.POST)
    if not form.is_valid():
        return _quotes_page(request, found, form)
    chosen, now = form.cleaned_data, timezone.now()
    if _is_a_surprise(request, found, chosen["form_token"], now):
        return _quotes_page(request, found, form, is_question=True)
    try:
        order = bookings.submit(
            quote=found,
            code=chosen["product"],
            by=request.user,
            form_token=chosen["form_token"],
            pickup_date=chosen["pickup_date"],
            now=now,
        )
    except bookings.TokenReused:
        return _booked_already(request, chosen["form_token"])
    except booking_rules.Suspended:
        return suspended(request, status=403)
    except (
        booking_rules.ServiceNotOffered,
        booking_rules.Paused,
        bookings.LimitReached,
        booking_rules.PickupDayPassed,
    ) as error:
        form.add_error(FIELD_OF.get(type(error)), sentence(error, request.sender))
        return _quotes_page(request, found, form)
    saved_drafts.delete(request.user, request.POST.get("draft", ""))
    return redirect("booking_progress", order.uuid)


def _is_a_surprise(request: MemberRequest, quote: Quote, token: uuid.UUID, now: dt.datetime) -> bool:
    """Return whether a parcel like it was booked a moment ago, and nobody has said yet that another one is meant."""
    if "another" in request.POST or request.sender.is_suspended:
        return False
    return booking_rules.duplicate_to_ask_about(quote, now, form_token=token) is not None


def _quotes_page(request: MemberRequest, quote: Quote, form: BookForm, *, is_question: bool = False) -> HttpResponse:
    """Show the offers; or with the question whether another parcel like the last is meant, at the service chosen."""
    page = offers.for_page(quote, now=timezone.now())
    with_it = carried(request)
    context = {"quote": quote, "form": form, "page": page, "draft": with_it.draft, "kept": with_it.kept}
    context |= {"asks_about": form.cleaned_data if is_question else {}}
    context |= {"edit_url": with_it.at(reverse("new_parcel"), quote=quote.uuid)}
    return render(request, "orders/quotes.html", context, status=409 if is_question else 422 if form.errors else 200)


def _booked_already(request: MemberRequest, token: uuid.UUID) -> HttpResponse:
    order = get_object_or_404(Order.objects.for_user(request.user), form_token=token)
    return refused(
        request,
        title="This parcel is booked already",
        text="You booked it from this page with another service or pickup day. Nothing new was booked.",
        order=order,
    )
