"""Fix a mistake: the booked parcel's form, filled in, and one button that cancels it and books the mended one."""

import datetime as dt
import uuid
from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from orders.booking import booking_rules
from orders.cancelling import replacing
from orders.cancelling.cancel_rules import can_cancel
from orders.drafting import pasting
from orders.drafting.forms import BookForm, ParcelForm, after_presses, initial_from
from orders.drafting.parcel_details import ParcelDetails
from orders.drafting.sizes import offered
from orders.models import Order, Quote
from orders.models.statuses import Status
from orders.quoting import asking, offers
from orders.views.parcel import orders_of
from orders.views.prefill import NO_PRICES, take_prices, tell
from orders.views.responses import sentence, suspended
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience
from shipping_portal.accounts.templatetags.words import PLACE, local_date, say
from shipping_portal.carrier.messages import Party

NAMES = {
    "name": "Name",
    "company": "Company",
    "email": "Email",
    "phone": "Phone",
    "line1": "Address",
    "line2": "Address line 2",
    "suburb": "Suburb",
    "state": "State",
    "postcode": "Postcode",
    "country": "Country",
    "instructions": "Delivery instructions",
}


@audience(*BOOKERS)
@require_http_methods(["GET", "POST"])
def replace(request: MemberRequest, order: uuid.UUID) -> HttpResponse:
    """Show the form as it was booked; posting it asks the carrier for the price of the mended parcel."""
    found = get_object_or_404(orders_of(request), uuid=order)
    if request.sender.is_suspended:
        return suspended(request, status=403 if request.method == "POST" else 200)
    if not can_cancel(found, timezone.now()):
        return redirect("cancel", found.uuid)
    known: dict[str, Any] = {"sender": request.sender, "address": request.sender.pickup_address()}
    known["sizes"] = offered(request.sender)
    if request.method == "GET":
        return _form_page(request, found, ParcelForm(initial=_typed(request, found), **known))
    if "unpaste" in request.POST:
        return _unpasted(request, found, ParcelForm(initial=request.POST.dict(), **known))
    form = ParcelForm(after_presses(request.POST), **known)
    quote = take_prices(request, form) if form.is_valid() else None
    if quote is None:
        return _form_page(request, found, form)
    tell(request, form)
    return redirect("replace_prices", found.uuid, quote.uuid)


@audience(*BOOKERS)
@require_http_methods(["GET", "POST"])
def replace_prices(request: MemberRequest, order: uuid.UUID, quote: uuid.UUID) -> HttpResponse:
    """Show what changes, what it costs, and the one button."""
    found = get_object_or_404(orders_of(request), uuid=order)
    chosen_quote = get_object_or_404(Quote.objects.for_user(request.user), uuid=quote)
    if request.method == "GET" and found.replacements.filter(ended_at=None).exists():
        return redirect("replacing", found.uuid)  # the way back after the press
    if request.method == "GET":
        return _prices_page(request, found, chosen_quote, BookForm())
    form = BookForm(request.POST)
    if not form.is_valid():
        return _prices_page(request, found, chosen_quote, form)
    chosen = form.cleaned_data
    try:
        replacing.ask(
            found,
            quote=chosen_quote,
            code=chosen["product"],
            by=request.user,
            form_token=chosen["form_token"],
            pickup_date=chosen["pickup_date"],
            now=timezone.now(),
        )
    except (replacing.OldPrice, booking_rules.CarrierChanged):
        return _new_prices(request, found, chosen_quote, form)
    except booking_rules.Suspended:
        return suspended(request, status=403)
    except (Order.WrongStatus, Order.PickupProblem, Order.AlreadyCollected):
        return redirect("cancel", found.uuid)
    except (booking_rules.ServiceNotOffered, booking_rules.PickupDayPassed, *NO_PRICES) as error:
        form.add_error(None, sentence(error, request.sender))
        return _prices_page(request, found, chosen_quote, form)
    return redirect("replacing", found.uuid)


def _new_prices(request: MemberRequest, order: Order, old: Quote, form: BookForm) -> HttpResponse:
    """Show the new prices: nothing is cancelled before its sender has seen what the new parcel costs now."""
    details = ParcelDetails.from_json(old.details)
    try:
        quote = asking.ask(request.sender, details, by=request.user, now=timezone.now(), fresh=True)
    except NO_PRICES as error:
        form.add_error(None, sentence(error, request.sender, to=details.receiver.country))
        return _prices_page(request, order, old, form)
    messages.warning(request, "That price no longer holds, so nothing was cancelled or booked. This is the new one.")
    return redirect("replace_prices", order.uuid, quote.uuid)


@audience(*BOOKERS)
@require_GET
def replacing_progress(request: MemberRequest, order: uuid.UUID) -> HttpResponse:
    """Show the wait for the cancellation, then for the new booking; or why there is none."""
    found = get_object_or_404(orders_of(request), uuid=order)
    replacement = found.replacements.select_related("booked").order_by("-pk").first()
    if replacement is None:
        raise Http404
    if replacement.booked:
        new = reverse("booking_progress", args=[replacement.booked.uuid])
        return HttpResponse(headers={"HX-Redirect": new}) if "HX-Request" in request.headers else redirect(new)
    if replacement.is_left_out:
        return redirect("parcel", found.uuid)
    is_waiting = replacement.ended_at is None
    if not is_waiting and found.status != Status.BOOKED and not replacement.is_only_cancelled:
        return redirect("parcel", found.uuid)  # it was cancelled, or is being, for another reason since
    context = {"order": found, "replacement": replacement, "is_waiting": is_waiting}
    return render(request, "orders/replacing.html", context)


def changed(before: ParcelDetails, after: ParcelDetails) -> Iterator[tuple[str, str, str]]:
    """Yield what differs, by name: (what, was, is)."""
    for part, words in NAMES.items():
        was, now = getattr(before.receiver, part), getattr(after.receiver, part)
        if was != now:
            yield say(words, after.receiver.country) if part in PLACE else words, was, now
    pairs = [
        ("Inside", before.description, after.description),
        ("Weight", _weight(before), _weight(after)),
        ("Size", _size(before), _size(after)),
        ("Your order number", before.customer_reference, after.customer_reference),
        ("Pickup address", _place(before.pickup), _place(after.pickup)),
        ("Pickup contact", _contact(before.pickup), _contact(after.pickup)),
    ]
    yield from ((words, was, now) for words, was, now in pairs if was != now)
    if (before.contents, before.contents_type, before.cover) != (after.contents, after.contents_type, after.cover):
        yield "Contents or cover", "as booked", "as typed now"


def _weight(details: ParcelDetails) -> str:
    return f"{details.measures.weight.normalize():f} {details.measures.weight_units}"


def _size(details: ParcelDetails) -> str:
    sides = (details.measures.length, details.measures.width, details.measures.height)
    return " × ".join(f"{side.normalize():f}" for side in sides) + f" {details.measures.dimension_units}"


def _place(party: Party) -> str:
    return ", ".join(part for part in (party.line1, party.line2, f"{party.suburb} {party.postcode}") if part)


def _contact(party: Party) -> str:
    return ", ".join(part for part in (party.name, party.company, party.phone, party.email) if part)


def _typed(request: MemberRequest, order: Order) -> dict[str, object]:
    """Return the form as booked; or as typed a moment ago, when the prices page leads back."""
    back = request.GET.get("quote", "")
    again = Quote.objects.for_user(request.user).filter(uuid=back).first() if _is_uuid(back) else None
    return initial_from(ParcelDetails.from_json(again.details) if again else order.details(), request.sender)


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def _unpasted(request: MemberRequest, order: Order, form: ParcelForm) -> HttpResponse:
    """Show the form with a pasted address filled in; what no field used is shown."""
    more = pasting.fill_in(form, request.POST.get("pasted", ""), form.address.country)
    return _form_page(request, order, form, **more)


def _form_page(request: MemberRequest, order: Order, form: ParcelForm, **more: Any) -> HttpResponse:
    context = {"form": form, "replaced": order, **more}
    return render(request, "orders/replace.html", context, status=422 if form.errors else 200)


def _day_lost(order: Order, offered_days: list[dt.date]) -> Iterator[tuple[str, str, str]]:
    """Yield the pickup day that was chosen, where it can't be chosen any more."""
    if order.pickup_date and order.pickup_date not in offered_days:
        yield "Pickup day", local_date(order.pickup_date, order.sender), "Next business day"


def _prices_page(request: MemberRequest, order: Order, quote: Quote, form: BookForm) -> HttpResponse:
    page = offers.for_page(quote, now=timezone.now())
    same = next((offer for offer in page.offers if offer.code == order.product_code), None)
    day = order.pickup_date if order.pickup_date in page.pickup_days[1:] else None
    context = {
        "replaced": order,
        "quote": quote,
        "form": form,
        "page": page,
        "changes": [*changed(order.details(), page.details), *_day_lost(order, page.pickup_days)],
        "day": day,
        "offers": [same] if same else page.offers,
        "others": [offer for offer in page.offers if offer is not same] if same else [],
        "can_cancel": can_cancel(order, timezone.now()),
    }
    return render(request, "orders/replace_prices.html", context, status=422 if form.errors else 200)
