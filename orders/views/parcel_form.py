"""Show a draft's form, and do what each press of it asks.

Each post is stored before anything is done.
"""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db import IntegrityError
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from orders.booking import refused_fields
from orders.drafting import drafts, pasting
from orders.drafting.forms import ParcelForm
from orders.models import Draft, Order, Quote
from orders.models.quotes import key_of
from orders.models.statuses import Status
from orders.quoting import awaiting_prices, choosing, offers
from orders.views.responses import show_remarks, take_prices
from shipping_portal.accounts.access import MemberRequest
from shipping_portal.accounts.templatetags.words import icon, local_time

REFUSED = "The carrier refused this booking."
ERROR = '<div class="err">{}{}</div>'  # as _field.html has it
Press = Callable[[MemberRequest, Draft, ParcelForm], HttpResponse]


def draft_page(request: MemberRequest, draft: Draft) -> HttpResponse:
    """Show a draft as it was left.

    An untouched copy of a refused parcel has the carrier's words at its fields.
    """
    form = drafts.parcel_form(request.sender, initial=draft.values)
    is_refused = draft.origin is not None and draft.origin.status == Status.REJECTED
    if draft.origin is None or draft.is_saved or not is_refused:
        return form_page(request, draft, form)
    refused_fields.put_at(form, _refusal(draft.origin))
    return form_page(request, draft, form, order=draft.origin)


def form_page(
    request: MemberRequest, draft: Draft, form: ParcelForm, *, order: Order | None = None
) -> HttpResponse:
    """Show the form, with the carrier's words of a refusal, or with what it corrects."""
    replaced = draft.corrects
    fixes = form.fixes if form.is_bound and not replaced else []
    context = {"form": form, "draft": draft, "order": order, "replaced": replaced, "fixes": fixes}
    page = "orders/replace.html" if replaced else "orders/new_parcel.html"
    return render(request, page, context, status=422 if form.is_bound and form.errors else 200)


def _refusal(order: Order) -> dict[str, list[str]]:
    """Return what to correct in a rejected parcel, by field; nothing if the fault is ours."""
    whole = (
        {} if order.problem.get("kind") == "ours" else {"": [order.problem.get("text") or REFUSED]}
    )
    fields: dict[str, list[str]] = order.problem.get("fields") or whole
    return fields


def answer_form(request: MemberRequest, draft: Draft) -> HttpResponse:
    """Store a posted form in its draft, then do what was pressed.

    That is to fill in a paste, save, or show the prices.
    """
    form = drafts.parcel_form(request.sender, request.POST)
    if draft.pk is None or "untouched" not in request.POST:
        typed = {name: form.data[name] for name in (*form.fields, "kept") if name in form.data}
        try:
            draft = drafts.save(draft, typed, now=timezone.now())
        except IntegrityError:  # the key is another account's
            raise Http404 from None
    press = next((name for name in PRESSES if name in request.POST), "")
    return PRESSES.get(press, _see_prices)(request, draft, form)


def _fill_in(request: MemberRequest, draft: Draft, form: ParcelForm) -> HttpResponse:
    """Take a pasted address apart; what no field uses stays on the page."""
    pasted = pasting.read(request.POST.get("pasted", ""), form.address.country)
    drafts.change(draft, {**pasted.initial(), "unused": pasted.left})
    if _is_script(request):
        return JsonResponse(
            _stored(request, draft) | {"values": pasted.initial(), "left": pasted.left}
        )
    return redirect("draft", draft.uuid)


def _save(request: MemberRequest, draft: Draft, form: ParcelForm) -> HttpResponse:
    """Lead to the draft's own address and say that it is saved.

    Wait for prices if that was asked for.
    """
    waits = "It's with your drafts until you book or delete it."
    if not draft.is_saved:
        messages.warning(request, drafts.FULL)
        return redirect("draft", draft.uuid)
    if request.POST["save_draft"] == "tell":
        awaiting_prices.wait_for_prices(draft, by=request.user, now=timezone.now())
        waits = "We'll email you when the carrier gives prices again. Nothing is booked."
    messages.success(request, f"{_saved_at(draft)}. {waits}")
    return redirect("draft", draft.uuid)


def _see_prices(request: MemberRequest, draft: Draft, form: ParcelForm) -> HttpResponse:
    """Lead on to the prices, or show what is wrong; a script gets both as the page has them."""
    quote = take_prices(request, draft, form) if form.is_valid() else None
    if _is_script(request):
        errors = {
            name: format_html(ERROR, icon("alert", "s"), form.errors[name]) for name in form.errors
        }
        html = _prices_beside(request, draft, form, quote)
        return JsonResponse(_stored(request, draft) | {"errors": errors, "html": html})
    if quote is None:
        return form_page(request, draft, form)
    show_remarks(request, form)
    return redirect("quotes", draft.uuid)


PRESSES: dict[str, Press] = {"unpaste": _fill_in, "save_draft": _save}


def _is_script(request: MemberRequest) -> bool:
    return request.headers.get("Accept") == "application/json"


def _stored(request: MemberRequest, draft: Draft) -> dict[str, Any]:
    """Return where the draft is stored, and the sentence about that, for the page's script."""
    full = "" if "untouched" in request.POST else drafts.FULL
    return {
        "draft": draft.uuid,
        "address": reverse("draft", args=[draft.uuid]),
        "is_saved": draft.is_saved,
        "said": _saved_at(draft) if draft.is_saved else full,
    }


def _saved_at(draft: Draft) -> str:
    return f"Draft saved {local_time(draft.updated_at, draft.sender)}"


def _prices_beside(
    request: MemberRequest, draft: Draft, form: ParcelForm, quote: Quote | None
) -> str:
    """Return the column of prices beside the form, or what to correct before there are prices."""
    if quote is None:
        context: dict[str, Any] = {"form": form, "fixes": form.fixes, "is_beside": True}
        return render_to_string("orders/_no_prices_yet.html", context, request)
    chosen = choosing.preset_offer(quote, request.sender)
    context = {
        "draft": draft,
        "quote": quote,
        "chosen": key_of(chosen) if chosen else "",
        "remarks": form.remarks,
    }
    context["page"] = offers.for_page(quote, now=timezone.now())
    return render_to_string("orders/_live_prices.html", context, request)
