"""Fix a mistake: a draft corrects a booked parcel; one button cancels that and books this."""

import datetime as dt
import uuid
from collections.abc import Iterator

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from orders.calling.contract import contract_of
from orders.cancelling.cancel_rules import can_cancel
from orders.drafting.forms import BookForm
from orders.drafting.parcel_details import ParcelDetails
from orders.models import Draft, Order, Quote, Replacement
from orders.quoting import choosing, offers
from orders.views.new_parcel import may_begin
from orders.views.parcel import orders_of
from orders.views.parcel_form import answer_form
from orders.views.responses import begin_draft
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience, require_get_or_post
from shipping_portal.accounts.formatting import PLACE, local_date, local_word
from shipping_portal.carrier.messages import Party
from shipping_portal.http.forms import render_form

OLD_PRICE = "That price no longer holds, so nothing was cancelled or booked. This is the new one."
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


@audience(BOOKERS)
@require_get_or_post
@may_begin
def replace(request: MemberRequest, order: uuid.UUID) -> HttpResponse:
    """Begin the correction of a booked parcel: a draft with the values as they were booked."""
    found = get_object_or_404(orders_of(request), uuid=order)
    if not can_cancel(found, timezone.now()):
        return redirect("cancel", found.uuid)
    draft = begin_draft(request, found.details(), source=Draft.Source.CORRECTED, origin=found)
    return (
        answer_form(request, draft) if request.method == "POST" else redirect("draft", draft.uuid)
    )


@audience(BOOKERS)
@require_GET
def replacing_progress(request: MemberRequest, order: uuid.UUID) -> HttpResponse:
    """Show the wait for the cancellation and the new booking, or why there is no booking."""
    found = get_object_or_404(orders_of(request), uuid=order)
    replacement = found.replacements.select_related("booked").order_by("-pk").first()
    if replacement is None:
        raise Http404
    if replacement.booked:
        new = reverse("booking_progress", args=[replacement.booked.uuid])
        return (
            HttpResponse(headers={"HX-Redirect": new})
            if "HX-Request" in request.headers
            else redirect(new)
        )
    if replacement.is_left_out:
        return redirect("parcel", found.uuid)
    is_waiting = replacement.ended_at is None
    if not is_waiting and not found.is_booked and not replacement.is_only_cancelled:
        # it was cancelled, or is being cancelled, for another reason since
        return redirect("parcel", found.uuid)
    context = {
        "order": found,
        "replacement": replacement,
        "is_waiting": is_waiting,
        "goes_on": found.status in Replacement.GOES_ON,
    }
    return render(request, "orders/replacing.html", context)


def changed(before: ParcelDetails, after: ParcelDetails) -> Iterator[tuple[str, str, str]]:
    """Yield what differs, by name: (what, was, is)."""
    for part, words in NAMES.items():
        was, now = getattr(before.receiver, part), getattr(after.receiver, part)
        if was != now:
            yield local_word(words, after.receiver.country) if part in PLACE else words, was, now
    pairs = [
        ("Inside", before.description, after.description),
        ("Weight", _weight(before), _weight(after)),
        ("Size", _size(before), _size(after)),
        ("Your order number", before.customer_reference, after.customer_reference),
        ("Pickup address", _place(before.pickup), _place(after.pickup)),
        ("Pickup contact", _contact(before.pickup), _contact(after.pickup)),
    ]
    yield from ((words, was, now) for words, was, now in pairs if was != now)
    if (before.contents, before.contents_type, before.cover) != (
        after.contents,
        after.contents_type,
        after.cover,
    ):
        yield "Contents or cover", "as booked", "as typed now"


def _weight(details: ParcelDetails) -> str:
    return f"{details.measures.weight.normalize():f} {details.measures.weight_units}"


def _size(details: ParcelDetails) -> str:
    sides = (details.measures.length, details.measures.width, details.measures.height)
    return (
        " × ".join(f"{side.normalize():f}" for side in sides)
        + f" {details.measures.dimension_units}"
    )


def _place(party: Party) -> str:
    return ", ".join(
        part for part in (party.line1, party.line2, f"{party.suburb} {party.postcode}") if part
    )


def _contact(party: Party) -> str:
    return ", ".join(part for part in (party.name, party.company, party.phone, party.email) if part)


def _day_lost(order: Order, offered_days: list[dt.date]) -> Iterator[tuple[str, str, str]]:
    """Yield the chosen pickup day if it is no longer available."""
    if order.pickup_date and order.pickup_date not in offered_days:
        yield "Pickup day", local_date(order.pickup_date, order.sender), "Next business day"


def prices_page(
    request: MemberRequest, order: Order, draft: Draft, quote: Quote, form: BookForm
) -> HttpResponse:
    """Show what changes, what it costs, and the button; once it is pressed, the wait."""
    if request.method == "GET" and order.replacements.filter(ended_at=None).exists():
        return redirect("replacing", order.uuid)
    page = offers.for_page(quote, now=timezone.now())
    key = choosing.current_key(order.product_code, order.account_id)
    same = next((offer for offer in page.offers if offer.key == key), None)
    context = {
        "draft": draft,
        "replaced": order,
        "quote": quote,
        "form": form,
        "page": page,
        "changes": [*changed(order.details(), page.details), *_day_lost(order, page.pickup_days)],
        "day": order.pickup_date if order.pickup_date in page.pickup_days[1:] else None,
        "offers": [same] if same else page.offers,
        "others": [offer for offer in page.offers if offer is not same] if same else [],
        "can_cancel": can_cancel(order, timezone.now()),
        "goes_on": order.status in Replacement.GOES_ON,
        "refund_takes_time": bool(contract_of(order.account).asked_word),
    }
    return render_form(request, "orders/replace_prices.html", context)
