"""What fills the new-parcel form beforehand (a quote, a parcel, a draft, a receiver), and what keeps or prices it."""

import uuid
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from orders import answers, awaiting_prices, booking, booking_rules, drafting, quoting, waiting
from orders.forms import ParcelForm, initial_from
from orders.models import Draft, Order, Quote
from orders.models.statuses import Status
from orders.parcel_details import ParcelDetails
from orders.receiver_form import initial_of
from orders.views.responses import sentence
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience
from shipping_portal.accounts.models import Receiver
from shipping_portal.accounts.templatetags.words import local_time
from shipping_portal.carrier.errors import CarrierError, Rejected


@dataclass(frozen=True)
class Prefill:
    """The form's first values. `is_whole` when they hold the parcel too, not only who receives it."""

    values: dict[str, Any] = field(default_factory=dict)
    draft: Draft | None = None
    refused: Order | None = None  # whose words of the carrier stand above the form
    is_whole: bool = True


def prefill_from(request: MemberRequest) -> Prefill:
    """Prefill from `?quote=` (edit it), `?again=` (another like it), `?draft=` (go on) or `?receiver=` (a name).

    Raises Http404 for what isn't this account's.
    """
    if "quote" in request.GET:
        quote = get_object_or_404(Quote.objects.for_user(request.user), uuid=drafting.as_uuid(request.GET["quote"]))
        draft = draft_named(request)
        return Prefill(initial_from(ParcelDetails.from_json(quote.details), request.sender), draft)
    if "again" in request.GET:
        order = get_object_or_404(Order.objects.for_user(request.user), uuid=drafting.as_uuid(request.GET["again"]))
        refused = order if order.status == Status.REJECTED else None
        return Prefill(initial_from(order.details(), request.sender), refused=refused)
    if "draft" in request.GET:
        return _left_off(request)
    if "receiver" in request.GET:
        return _to_somebody_known(request)
    return Prefill(is_whole=False)


def draft_named(request: MemberRequest) -> Draft | None:
    """Return the draft a form or an address carries with it, as long as it is there."""
    given = request.POST if request.method == "POST" else request.GET
    return drafting.find(request.user, given.get("draft", ""))


def _left_off(request: MemberRequest) -> Prefill:
    draft = drafting.find(request.user, request.GET["draft"])
    if draft is None:
        raise Http404
    return Prefill(draft.values, draft)


def _to_somebody_known(request: MemberRequest) -> Prefill:
    receiver = get_object_or_404(
        Receiver.objects.for_user(request.user), uuid=drafting.as_uuid(request.GET["receiver"])
    )
    return Prefill(initial_of(receiver.party()), is_whole=False)


NO_PRICES = (
    CarrierError,
    quoting.TooManyQuotes,
    waiting.Full,
    quoting.Paused,
    booking_rules.Paused,
    booking.LimitReached,
)


def take_prices(request: MemberRequest, form: ParcelForm) -> Quote | None:
    """Ask for prices for a good form; when there are none the form says why and keeps everything."""
    try:
        return prices(request, form.details())
    except Rejected as error:
        answers.put_at(form, error)
    except NO_PRICES as error:
        form.add_error(None, sentence(error, request.sender))
        form.may_wait = isinstance(error, awaiting_prices.WORTH_WAITING)
    return None


def prices(request: MemberRequest, details: ParcelDetails, *, fresh: bool = False) -> Quote:
    """Return a quote to book from. One that was booked already would answer with its order, so another is asked for."""
    now = timezone.now()
    booking_rules.refuse_unless_booking_is_on(request.sender, now, is_booking=False)
    quote = quoting.ask(request.sender, details, by=request.user, now=now, fresh=fresh)
    if quote.orders.exists():
        quote = quoting.ask(request.sender, details, by=request.user, now=now, fresh=True)
    return quote


def save_draft(request: MemberRequest, form: ParcelForm) -> HttpResponse | None:
    """Keep the form as it stands; a script is answered in JSON. None when there is no room, which is said."""
    is_script = request.headers.get("X-Part") == "draft"
    try:
        draft = keep(request, form, draft_named(request))
    except drafting.TooManyDrafts as error:
        if is_script:
            return JsonResponse({"said": str(error)}, status=409)
        messages.warning(request, str(error))
        return None
    words = f"Saved {local_time(timezone.now(), request.sender)}"
    if is_script:
        return JsonResponse({"draft": str(draft.uuid), "said": words})
    waits = "It waits with your drafts until you book or delete it."
    if request.POST["save_draft"] == "tell":
        awaiting_prices.begin(draft, by=request.user, now=timezone.now())
        waits = "We'll e-mail you when the carrier gives prices again. Nothing is booked."
    messages.success(request, f"{words}. {waits}")
    return redirect(f"{reverse('new_parcel')}?draft={draft.uuid}")


def keep(request: MemberRequest, form: ParcelForm, draft: Draft | None) -> Draft:
    """Return the posted form in its draft, or in a new one. Raises drafting.TooManyDrafts."""
    values = drafting.typed(request.POST.dict(), form.fields)
    return drafting.save(request.sender, request.user, values, now=timezone.now(), draft=draft)


@audience(*BOOKERS)
@require_POST
def delete_draft(request: MemberRequest, draft: uuid.UUID) -> HttpResponse:
    """Delete a draft that nobody wants any more."""
    found = get_object_or_404(drafting.of(request.user), uuid=draft)
    found.delete()
    messages.success(request, "Deleted the draft. Nothing else changed.")
    return redirect(f"{reverse('parcels')}?view=drafts")
