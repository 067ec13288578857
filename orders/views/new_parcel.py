"""New parcel → prices → Book. Works by plain form posts; nothing typed is ever lost."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.views.decorators.http import require_http_methods, require_POST

from orders.booking import refused_fields
from orders.drafting import pasting, saved_drafts
from orders.drafting.forms import ParcelForm, after_presses
from orders.models import Order, Quote
from orders.quoting import awaiting_prices, choosing, offers
from orders.views.prefill import Prefill, carried, empty_form, keep, prefill_from, take_prices, tell
from orders.views.responses import suspended
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience
from shipping_portal.accounts.templatetags.words import icon, local_time

REFUSED = "The carrier refused this booking."
ERROR = '<div class="err">{}{}</div>'  # as _field.html has it
View = Callable[[MemberRequest], HttpResponse]


def may_begin(view: View) -> View:
    """Let in who may book now and has a pickup address; lead others to what is missing."""

    @wraps(view)
    def guarded(request: MemberRequest) -> HttpResponse:
        if request.sender.is_suspended:
            return suspended(request, status=403 if request.method == "POST" else 200)
        if request.sender.pickup_address() is None:
            messages.info(request, "First tell us where your parcels are picked up.")
            return redirect("start")
        return view(request)

    return guarded


@audience(*BOOKERS)
@require_http_methods(["GET", "POST"])
@may_begin
def new_parcel(request: MemberRequest) -> HttpResponse:
    """Show the one form of interface §2.1; posting it leads on to its prices."""
    if request.method == "POST":
        return _priced(request, empty_form(request, data=after_presses(request.POST)))
    prefill = prefill_from(request)
    form = empty_form(request, initial=prefill.values)
    if not prefill.is_whole:
        form.begin_with(request.sender.default_size)
    if prefill.refused:
        refused_fields.put_at(form, _refused(prefill.refused))
    return _form_page(request, form, prefill)


def _refused(order: Order) -> dict[str, list[str]]:
    """Return what there is to put right in a refused parcel, by field; nothing where the fault is ours alone."""
    whole = {} if order.problem.get("kind") == "ours" else {"": [order.problem.get("text") or REFUSED]}
    fields: dict[str, list[str]] = order.problem.get("fields") or whole
    return fields


def _priced(request: MemberRequest, form: ParcelForm) -> HttpResponse:
    """Lead on to the prices; a draft that is gone on with keeps what was typed since."""
    with_it = carried(request)
    if with_it.draft:
        with suppress(saved_drafts.TooManyDrafts):  # deleted this very moment, and no room for another
            keep(request, form)
    quote = take_prices(request, form) if form.is_valid() else None
    if quote is None:
        return _form_page(request, form)
    tell(request, form)
    return redirect(with_it.at(reverse("quotes", args=[quote.uuid])))


@audience(*BOOKERS)
@require_POST
@may_begin
def live_prices(request: MemberRequest) -> HttpResponse:
    """Answer the page's script: what is wrong, by control, and the column of prices; both as the page shows them."""
    form = empty_form(request, data=after_presses(request.POST))
    quote = take_prices(request, form) if form.is_valid() else None
    context = (
        {**_offered(request, quote), "remarks": form.remarks}
        if quote
        else {"form": form, "fixes": form.fixes, "is_beside": True}
    )
    page = "orders/_live_prices.html" if quote else "orders/_no_prices_yet.html"
    errors = {name: format_html(ERROR, icon("alert", "s"), form.errors[name]) for name in form.errors}
    return JsonResponse({"errors": errors, "html": render_to_string(page, context, request)})


def _offered(request: MemberRequest, quote: Quote) -> dict[str, Any]:
    last = choosing.last_product(request.sender)
    chosen = choosing.choose(quote.products, request.sender.service_rule, last)
    page, with_it = offers.for_page(quote, now=timezone.now()), carried(request)
    details_url = with_it.at(reverse("quotes", args=[quote.uuid]))
    known = {"quote": quote, "page": page, "carried": with_it, "details_url": details_url}
    return {**known, "chosen": chosen["code"] if chosen else ""}


@audience(*BOOKERS)
@require_POST
@may_begin
def fill_in(request: MemberRequest) -> HttpResponse:
    """Show the form with a pasted address filled in, and what of it no field used."""
    form = empty_form(request, initial=request.POST.dict())
    more = pasting.fill_in(form, request.POST.get("pasted", ""), form.address.country)
    return _form_page(request, form, **more)


@audience(*BOOKERS)
@require_POST
@may_begin
def save_draft(request: MemberRequest) -> HttpResponse:
    """Keep the form as it stands, half-typed or wrong; a script is answered in JSON."""
    form = empty_form(request, initial=request.POST.dict())
    is_script = request.headers.get("Accept") == "application/json"
    try:
        draft = keep(request, form)
    except saved_drafts.TooManyDrafts as error:
        if is_script:
            return JsonResponse({"said": str(error)}, status=409)
        messages.warning(request, str(error))
        return _form_page(request, form)
    words = f"Draft saved {local_time(timezone.now(), request.sender)}"
    if is_script:
        return JsonResponse({"draft": str(draft.uuid), "said": words})
    waits = "It's with your drafts until you book or delete it."
    if request.POST.get("save_draft") == "tell":
        awaiting_prices.begin(draft, by=request.user, now=timezone.now())
        waits = "We'll email you when the carrier gives prices again. Nothing is booked."
    messages.success(request, f"{words}. {waits}")
    return redirect(f"{reverse('new_parcel')}?draft={draft.uuid}")


def _form_page(request: MemberRequest, form: ParcelForm, prefill: Prefill | None = None, **more: Any) -> HttpResponse:
    """Show the form; of a parcel the carrier refused, with its words."""
    context: dict[str, Any] = {"form": form, "carried": carried(request), "is_live_form": True, **more}
    context |= {"order": prefill.refused if prefill else None, "fixes": form.fixes if form.is_bound else []}
    return render(request, "orders/new_parcel.html", context, status=422 if form.is_bound and form.errors else 200)
