"""New parcel → prices → Book. Works by plain form posts; nothing typed is ever lost."""

from contextlib import suppress
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from orders import choosing, drafting, offers, pasting, refused_fields
from orders.forms import ParcelForm, after_presses
from orders.models import Order
from orders.receiver_form import initial_of
from orders.sizes import offered
from orders.views.prefill import Prefill, draft_named, keep, prefill_from, save_draft, take_prices
from orders.views.quotes import address_of, kept_in
from orders.views.responses import suspended
from shipping_portal.accounts import receivers
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience

REFUSED = "The carrier refused this booking."


@audience(*BOOKERS)
@require_http_methods(["GET", "POST"])
def new_parcel(request: MemberRequest) -> HttpResponse:
    """Show the one form of interface §2.1; posting it asks the carrier for prices."""
    if request.sender.is_suspended:
        return suspended(request, status=403 if request.method == "POST" else 200)
    address = request.sender.pickup_address()
    if address is None:
        messages.info(request, "First tell us where your parcels are picked up.")
        return redirect("start")
    sizes = offered(request.sender)
    known: dict[str, Any] = {"sender": request.sender, "address": address, "sizes": sizes}
    if request.method == "GET":
        prefill = prefill_from(request)
        form = ParcelForm(initial=prefill.values, **known)
        if not prefill.is_whole:
            form.begin_with(request.sender.default_size)
        if prefill.refused:
            refused_fields.put_at(form, _refused(prefill.refused))
        return _form_page(request, form, prefill)
    if {"unpaste", "save_draft"} & set(request.POST):
        return _unchecked(request, ParcelForm(initial=request.POST.dict(), **known))
    form = ParcelForm(after_presses(request.POST), **known)
    if request.headers.get("X-Part") == "prices":
        return _prices_part(request, form)
    return _priced(request, form)


def _refused(order: Order) -> dict[str, list[str]]:
    """Return what there is to put right in a refused parcel, by field; nothing where the fault is ours alone."""
    whole = {} if order.problem.get("kind") == "ours" else {"": [order.problem.get("text") or REFUSED]}
    fields: dict[str, list[str]] = order.problem.get("fields") or whole
    return fields


def _unchecked(request: MemberRequest, form: ParcelForm) -> HttpResponse:
    """Take presses that leave the form as it stands, half-typed or wrong."""
    if "save_draft" not in request.POST:
        # The form with a pasted address filled in; what no field used is shown.
        more = pasting.fill_in(form, request.POST.get("pasted", ""), form.address.country)
        return _form_page(request, form, Prefill(draft=draft_named(request)), **more)
    answer = save_draft(request, form)
    return answer or _form_page(request, form, Prefill(draft=draft_named(request)))


def _priced(request: MemberRequest, form: ParcelForm) -> HttpResponse:
    """Lead on to the prices; a draft that is gone on with keeps what was typed since."""
    draft = draft_named(request)
    if draft:
        with suppress(drafting.TooManyDrafts):  # deleted this very moment, and no room for another
            keep(request, form, draft)
    quote = take_prices(request, form) if form.is_valid() else None
    if quote is None:
        return _form_page(request, form, Prefill(draft=draft))
    return redirect(address_of(quote, draft, kept=kept_in(request)))


def _prices_part(request: MemberRequest, form: ParcelForm) -> HttpResponse:
    """Show prices beside the form as it stands; nothing at all while something in it is not right yet."""
    if not form.is_valid():
        if form.near:
            return render(request, "orders/_near.html", {"form": form})
        return HttpResponse(status=204)
    quote = take_prices(request, form)
    if quote is None:
        return render(request, "orders/_live_prices.html", {"form": form})
    last = choosing.last_product(request.sender)
    chosen = choosing.choose(quote.products, request.sender.service_rule, last)
    page = offers.for_page(quote, now=timezone.now())
    context = {"quote": quote, "page": page, "chosen": chosen["code"] if chosen else "", "kept": kept_in(request)}
    return render(request, "orders/_live_prices.html", context)


def _form_page(request: MemberRequest, form: ParcelForm, prefill: Prefill, **more: Any) -> HttpResponse:
    """Show the form; of a parcel the carrier refused, with its words."""
    context: dict[str, Any] = {"form": form, "order": prefill.refused, "draft": prefill.draft, "is_live_form": True}
    context |= {"kept": kept_in(request), **more}
    return render(request, "orders/new_parcel.html", context, status=422 if form.is_bound and form.errors else 200)


@audience(*BOOKERS)
@require_safe
def suggest_receivers(request: MemberRequest) -> HttpResponse:
    """Answer with receivers found by the start of a name, company, e-mail, phone or postcode, as the form's values."""
    found = receivers.find(request.sender, request.GET.get("q", "")[:120])
    return JsonResponse(
        [
            {
                "name": receiver.name,
                "place": ", ".join(filter(None, [receiver.company, f"{receiver.suburb} {receiver.postcode}"])),
                "values": initial_of(receiver.party()),
            }
            for receiver in found
        ],
        safe=False,
    )


@audience(*BOOKERS)
@require_POST
def unpaste(request: MemberRequest) -> HttpResponse:
    """Show a pasted address as the form's values, and what of it none of them used."""
    start = request.sender.pickup_address()
    home = start.country if start else request.sender.country
    pasted = pasting.read(request.POST.get("text", ""), home)
    return JsonResponse({"values": pasted.initial(), "left": pasted.left})
