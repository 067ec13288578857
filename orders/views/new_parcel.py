"""New parcel: the blank form, copies, and each draft at its own address. Nothing typed is lost."""

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from orders.cancelling.cancel_rules import can_cancel
from orders.drafting import drafts
from orders.drafting.parcel_details import ParcelDetails
from orders.drafting.receiver_form import initial_of
from orders.models import Draft, Order, Quote
from orders.views.chosen import read_uuid
from orders.views.parcel_form import answer_form, draft_page, form_page
from orders.views.responses import (
    NOTHING_TO_COPY,
    begin_draft,
    get_draft,
    refused_page,
    suspended_page,
)
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience, require_get_or_post
from shipping_portal.accounts.models import Receiver

View = Callable[..., HttpResponse]
COPIED: dict[str, Any] = {"draft": Draft, "quote": Quote, "again": Order, "receiver": Receiver}


def may_begin(view: View) -> View:
    """Admit people who may book and have a pickup address; send others to what is missing."""

    @wraps(view)
    def guarded(request: MemberRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.sender.is_suspended:
            return suspended_page(request, status=403 if request.method == "POST" else 200)
        if request.sender.pickup_address() is None:
            messages.info(request, "First tell us where your parcels are picked up.")
            return redirect("start")
        return view(request, *args, **kwargs)

    return guarded


@audience(BOOKERS)
@require_get_or_post
@may_begin
def new_parcel(request: MemberRequest) -> HttpResponse:
    """Show the one form of interface §2.1, blank; posting it makes its draft.

    A link may name what to copy.
    """
    if request.method == "POST":
        return answer_form(
            request,
            _draft_to_post(request, read_uuid(request.POST.get("draft", "")) or uuid.uuid4()),
        )
    if answer := _answer_copy(request):
        return answer
    form = drafts.parcel_form(request.sender)
    form.begin_with(request.sender.default_size)
    return form_page(request, Draft(sender=request.sender), form)


@audience(BOOKERS)
@require_get_or_post
@may_begin
def parcel_draft(request: MemberRequest, draft: uuid.UUID) -> HttpResponse:
    """Show a draft's form as it was left; its buttons post here."""
    if request.method == "POST":
        return answer_form(request, _draft_to_post(request, draft))
    found = get_draft(request, draft)
    if found.order:
        return redirect("parcel", found.order.uuid)
    if found.corrects and not can_cancel(found.corrects, timezone.now()):
        return redirect("cancel", found.corrects.uuid)
    return draft_page(request, found)


@audience(BOOKERS)
@require_POST
def delete_draft(request: MemberRequest, draft: uuid.UUID) -> HttpResponse:
    """Delete a draft that is no longer wanted."""
    get_object_or_404(Draft.objects.for_user(request.user), uuid=draft).delete()
    messages.success(request, "Deleted the draft. Nothing else changed.")
    return redirect(f"{reverse('parcels')}?view=drafts")


def _draft_to_post(request: MemberRequest, key: uuid.UUID) -> Draft:
    """Return the account's draft with this key, or a new one that has no row yet."""
    try:
        return get_draft(request, key)
    except Http404:
        return Draft(uuid=key, sender=request.sender, made_by=request.user)


def _answer_copy(request: MemberRequest) -> HttpResponse | None:
    """Begin a copy of what a link names, and go to it.

    `?again=` names a parcel, `?quote=` a price, `?receiver=` a person.

    `?draft=` names a draft, which is opened as it is. Raises Http404 for anything of another
    account.
    """
    name = next((name for name in COPIED if name in request.GET), None)
    if name is None:
        return None
    found: Any = get_object_or_404(
        COPIED[name].objects.for_user(request.user), uuid=read_uuid(request.GET[name])
    )
    if isinstance(found, Order) and found.erased_at:
        title = "This parcel can't be sent again"
        return refused_page(request, title=title, text=NOTHING_TO_COPY, order=found)
    return redirect("draft", _copy_of(request, found).uuid)


def _copy_of(request: MemberRequest, found: Any) -> Draft:
    if isinstance(found, Draft):
        return found
    if isinstance(found, Receiver):
        form = drafts.parcel_form(request.sender, initial=initial_of(found.party()))
        form.begin_with(request.sender.default_size)
        return begin_draft(request, form.initial)
    if isinstance(found, Order):
        return begin_draft(request, found.details(), origin=found)
    return begin_draft(request, ParcelDetails.from_json(found.details))
