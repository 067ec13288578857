"""What fills the new-parcel form beforehand (a quote, a parcel, a draft, a receiver), and what keeps or prices it."""

import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from orders.booking import answers, booking_rules, bookings
from orders.calling import waiting
from orders.drafting import saved_drafts
from orders.drafting.forms import ParcelForm, initial_from
from orders.drafting.parcel_details import ParcelDetails
from orders.drafting.receiver_form import ReceiverForm, initial_of
from orders.drafting.sizes import offered
from orders.models import Draft, Order, Quote
from orders.models.statuses import Status
from orders.quoting import asking, awaiting_prices
from orders.views.responses import sentence
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience
from shipping_portal.accounts.models import Receiver
from shipping_portal.carrier.errors import CarrierError, Rejected


@dataclass(frozen=True)
class Carried:
    """What goes along with the form from page to page: its draft, and the size whose declared weight was kept."""

    draft: Draft | None = None
    kept: str = ""

    def at(self, address: str, **more: object) -> str:
        """Return the address with this as its query."""
        values = {**more, "draft": self.draft.uuid if self.draft else "", "kept": self.kept}
        query = urlencode({name: value for name, value in values.items() if value})
        return f"{address}?{query}" if query else address


@dataclass(frozen=True)
class Prefill:
    """The form's first values. `is_whole` when they hold the parcel too, not only who receives it."""

    values: dict[str, Any] = field(default_factory=dict)
    refused: Order | None = None  # whose words of the carrier stand above the form
    is_whole: bool = True


def prefill_from(request: MemberRequest) -> Prefill:
    """Prefill from `?quote=` (edit it), `?again=` (another like it), `?draft=` (go on) or `?receiver=` (a name).

    Raises Http404 for what isn't this account's.
    """
    names = {"quote", "again", "draft", "receiver"} & set(request.GET)
    asked = {name: saved_drafts.as_uuid(request.GET[name]) for name in names}
    if "quote" in asked:
        quote = get_object_or_404(Quote.objects.for_user(request.user), uuid=asked["quote"])
        return Prefill(initial_from(ParcelDetails.from_json(quote.details), request.sender))
    if "again" in asked:
        order = get_object_or_404(Order.objects.for_user(request.user), uuid=asked["again"])
        refused = order if order.status == Status.REJECTED else None
        return Prefill(initial_from(order.details(), request.sender), refused=refused)
    if "draft" in asked:
        return Prefill(get_object_or_404(saved_drafts.of(request.user), uuid=asked["draft"]).values)
    if "receiver" in asked:
        receiver = get_object_or_404(Receiver.objects.for_user(request.user), uuid=asked["receiver"])
        return Prefill(initial_of(receiver.party()), is_whole=False)
    return Prefill(is_whole=False)


def carried(request: MemberRequest) -> Carried:
    """Return what a form or an address carries with it, as long as it is there."""
    given = request.POST if request.method == "POST" else request.GET
    return Carried(saved_drafts.find(request.user, given.get("draft", "")), given.get("kept", "")[:36])


def empty_form(request: MemberRequest, **options: Any) -> ParcelForm:
    """Return the form of this sender, whose pickup address is known; `options` are `data` or `initial`."""
    sender = request.sender
    return ParcelForm(sender=sender, address=sender.pickup_address(), sizes=offered(sender), **options)


NO_PRICES = (
    CarrierError,
    asking.TooManyQuotes,
    waiting.Full,
    asking.Paused,
    booking_rules.Paused,
    bookings.LimitReached,
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


def tell(request: MemberRequest, form: ReceiverForm) -> None:
    """Say on the next page what became of values that are not used as they were typed."""
    for text in form.remarks:
        messages.info(request, text)


def prices(request: MemberRequest, details: ParcelDetails, *, fresh: bool = False) -> Quote:
    """Return a quote to book from. One that was booked already would answer with its order, so another is asked for."""
    now = timezone.now()
    booking_rules.refuse_unless_booking_is_on(request.sender, now, is_booking=False)
    quote = asking.ask(request.sender, details, by=request.user, now=now, fresh=fresh)
    if quote.orders.exists():
        quote = asking.ask(request.sender, details, by=request.user, now=now, fresh=True)
    return quote


def keep(request: MemberRequest, form: ParcelForm) -> Draft:
    """Return the posted form in its draft, or in a new one. Raises drafting.TooManyDrafts."""
    values = saved_drafts.typed(request.POST.dict(), form.fields)
    draft = carried(request).draft
    return saved_drafts.save(request.sender, request.user, values, now=timezone.now(), draft=draft)


@audience(*BOOKERS)
@require_POST
def delete_draft(request: MemberRequest, draft: uuid.UUID) -> HttpResponse:
    """Delete a draft that nobody wants any more."""
    found = get_object_or_404(saved_drafts.of(request.user), uuid=draft)
    found.delete()
    messages.success(request, "Deleted the draft. Nothing else changed.")
    return redirect(f"{reverse('parcels')}?view=drafts")
