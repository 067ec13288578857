"""Half-typed parcels: saved by a button or by themselves, gone on with from the list, deleted."""

import uuid

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from orders import awaiting_prices, drafting
from orders.forms import ParcelForm
from orders.models import Draft
from orders.views.brought import draft_named
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience
from shipping_portal.accounts.templatetags.words import local_time


def save_draft(request: MemberRequest, form: ParcelForm) -> HttpResponse | None:
    """Keep the form as it stands; a script is answered in JSON. None when there is no room, which is said."""
    is_script = request.headers.get("X-Part") == "draft"
    try:
        draft = keep(request, form, draft_named(request))
    except drafting.TooMany as error:
        if is_script:
            return JsonResponse({"said": str(error)}, status=409)
        messages.warning(request, str(error))
        return None
    said = f"Saved {local_time(timezone.now(), request.sender)}"
    if is_script:
        return JsonResponse({"draft": str(draft.uuid), "said": said})
    waits = "It waits with your drafts until you book or delete it."
    if request.POST["save_draft"] == "tell":
        awaiting_prices.begin(draft, by=request.user, now=timezone.now())
        waits = "We'll e-mail you when the carrier gives prices again. Nothing is booked."
    messages.success(request, f"{said}. {waits}")
    return redirect(f"{reverse('new_parcel')}?draft={draft.uuid}")


def keep(request: MemberRequest, form: ParcelForm, draft: Draft | None) -> Draft:
    """The posted form in its draft, or in a new one. Raises drafting.TooMany."""
    values = drafting.typed(request.POST.dict(), form.fields)
    return drafting.save(request.sender, request.user, values, now=timezone.now(), draft=draft)


@audience(*BOOKERS)
@require_POST
def delete_draft(request: MemberRequest, draft: uuid.UUID) -> HttpResponse:
    """Nobody wants it any more."""
    found = get_object_or_404(drafting.of(request.user), uuid=draft)
    found.delete()
    messages.success(request, "Deleted the draft. Nothing else changed.")
    return redirect(f"{reverse('parcels')}?view=drafts")
