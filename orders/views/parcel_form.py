"""Show a draft's form, and do what its buttons ask.

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
from orders.drafting import drafts, further_parcels, pasting, price_needs
from orders.drafting.forms import ParcelForm
from orders.models import Draft, Order, Quote
from orders.models.quotes import key_of
from orders.models.statuses import Status
from orders.quoting import awaiting_prices, choosing, offers
from orders.views.responses import show_remarks, take_prices
from shipping_portal.accounts.access import MemberRequest
from shipping_portal.accounts.templatetags.words import icon, local_time

ONE_EACH = (
    "Book one parcel at a time: customs ask for a list of what is in each. No parcel was added."
)
REFUSED = "The carrier refused this booking."
ERROR = '<div class="err">{}{}</div>'  # as in _field.html
Press = Callable[[MemberRequest, Draft, ParcelForm], HttpResponse]


def draft_page(request: MemberRequest, draft: Draft) -> HttpResponse:
    """Show a draft as it was left.

    An untouched copy of a refused parcel has the carrier's words at its fields.
    """
    form = drafts.parcel_form(request.sender, initial=draft.values, draft=draft)
    is_refused = draft.origin is not None and draft.origin.status == Status.REJECTED
    if draft.origin is None or draft.is_saved or not is_refused:
        return form_page(request, draft, form)
    refused_fields.add_refused_fields(form, _refusal(draft.origin))
    return form_page(request, draft, form, order=draft.origin)


def form_page(
    request: MemberRequest, draft: Draft, form: ParcelForm, *, order: Order | None = None
) -> HttpResponse:
    """Show the form, with the carrier's reasons for a rejection, or the parcel that it corrects."""
    replaced = draft.corrects
    fixes = form.fixes if form.is_bound and not replaced else []
    sent = form if form.is_bound else price_needs.filled_in(form)
    to_do = price_needs.what_to_do(sent, [] if fixes else sent.fixes)
    context = {"form": form, "draft": draft, "order": order, "replaced": replaced}
    context |= {"fixes": fixes, "to_do": to_do}
    page = "orders/replace.html" if replaced else "orders/new_parcel.html"
    return render(request, page, context, status=422 if form.is_bound and form.errors else 200)


def _refusal(order: Order) -> dict[str, list[str]]:
    """Return what to correct in a rejected parcel, by field; nothing if the fault is ours."""
    whole = (
        {} if order.problem.get("kind") == "ours" else {"": [order.problem.get("text") or REFUSED]}
    )
    return order.problem.get("fields") or whole


def answer_form(request: MemberRequest, draft: Draft) -> HttpResponse:
    """Store a posted form in its draft, then do what was pressed.

    That is to fill in a paste, save, or show the prices.
    """
    form = drafts.parcel_form(request.sender, request.POST, draft=draft)
    if draft.pk is None or "untouched" not in request.POST:
        typed = {
            name: form.data[name] for name in (*form.fields, "kept", "edit") if name in form.data
        }
        try:
            draft = drafts.save(draft, typed, now=timezone.now())
        except IntegrityError:  # the key belongs to another account
            raise Http404 from None
    press = next((name for name in PRESSES if name in request.POST), "")
    return PRESSES.get(press, _see_prices)(request, draft, form)


def _fill_in(request: MemberRequest, draft: Draft, form: ParcelForm) -> HttpResponse:
    """Split a pasted address into fields; text that no field uses stays on the page."""
    pasted = pasting.read(request.POST.get("pasted", ""), form.address.country)
    drafts.change(draft, {**pasted.initial(), "unused": pasted.left})
    if _is_script(request):
        return JsonResponse(
            _stored(request, draft) | {"values": pasted.initial(), "left": pasted.left}
        )
    return redirect("draft", draft.uuid)


def _save(request: MemberRequest, draft: Draft, form: ParcelForm) -> HttpResponse:
    """Redirect to the draft's address and say that it is saved.

    If the person asked to wait for prices, start waiting.
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
    """Go on to the prices, or show what is wrong; a script gets either as part of the page."""
    quote = take_prices(request, draft, form) if form.is_ready_for_prices() else None
    if _is_script(request):
        errors = {
            name: format_html(ERROR, icon("alert", "s"), form.errors[name])
            for name in ([] if quote else form.errors)
        }
        html = _prices_beside(request, draft, form, quote)
        return JsonResponse(_stored(request, draft) | {"errors": errors, "html": html})
    if quote is None:
        return form_page(request, draft, form)
    show_remarks(request, form)
    return redirect("quotes", draft.uuid)


def _add_parcel(request: MemberRequest, draft: Draft, form: ParcelForm) -> HttpResponse:
    """Add a parcel of the saved size that was pressed, else one like the last; none abroad."""
    if form.needs_customs and form.parcel_count == 1:
        messages.warning(request, ONE_EACH)
        return redirect("draft", draft.uuid)
    size = next((one for one in form.sizes if str(one.uuid) == request.POST["add_parcel"]), None)
    box = form.measures_of(size) | {"size": str(size.uuid)} if size else None
    if form.parcel_count < form.most:
        drafts.change(draft, further_parcels.with_another(draft.values, form.box_names, box))
    return redirect(f"{reverse('draft', args=[draft.uuid])}#another")


def _remove_parcel(request: MemberRequest, draft: Draft, form: ParcelForm) -> HttpResponse:
    """Remove a further parcel; the others keep their values."""
    number = request.POST["remove_parcel"]
    parcel = int(number) if number in map(str, form.further_numbers) else 0
    drafts.change(draft, further_parcels.remove_parcel(draft.values, form.box_names, parcel))
    return redirect(f"{reverse('draft', args=[draft.uuid])}#another")


PRESSES: dict[str, Press] = {
    "unpaste": _fill_in,
    "save_draft": _save,
    "add_parcel": _add_parcel,
    "remove_parcel": _remove_parcel,
}


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
        typing = request.POST.get("typing", "")
        being_typed = price_needs.unfinished(form, typing)
        context = {
            "form": form,
            "fixes": [fix for fix in form.fixes if fix not in being_typed],
            "to_do": price_needs.what_to_do(form, being_typed),
            "is_beside": True,
            "is_typing": typing in price_needs.ADDRESS_NAMES,
        }
        return render_to_string("orders/_no_prices_yet.html", context, request)
    chosen = choosing.preset_offer(quote, request.sender)
    context = {
        "draft": draft,
        "quote": quote,
        "chosen": key_of(chosen) if chosen else "",
        "remarks": form.remarks,
    }
    context["page"] = offers.for_page(quote, now=timezone.now(), follows=draft.follows)
    return render_to_string("orders/_live_prices.html", context, request)
