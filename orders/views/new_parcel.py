"""New parcel → prices → Book. Works by plain form posts; nothing typed is ever lost."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from orders import booking, offers, pasting, quoting
from orders.entry import Entry
from orders.forms import BookForm, ParcelForm, after_presses, typed_again
from orders.importing import choosing
from orders.models import Order, Quote
from orders.models.statuses import Status
from orders.sizes import offered
from orders.views.replies import refused, sentence, suspended
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience
from shipping_portal.carrier.errors import CarrierError, Rejected

NO_PRICES = (CarrierError, quoting.TooMany, quoting.Paused, booking.Paused, booking.TooManyToday)
FIELD_OF: dict[type[Exception], str] = {booking.Gone: "product", booking.PickupDayPassed: "pickup_date"}


@audience(*BOOKERS)
@require_http_methods(["GET", "POST"])
def new_parcel(request: MemberRequest) -> HttpResponse:
    """The one form of interface §2.1; posting it asks the carrier for prices."""
    if request.sender.is_suspended:
        return suspended(request, status=403 if request.method == "POST" else 200)
    address = request.sender.pickup_address()
    if address is None:
        messages.info(request, "First tell us where your parcels are picked up.")
        return redirect("start")
    sizes = offered(request.sender)
    known: dict[str, Any] = {"sender": request.sender, "address": address, "sizes": sizes}
    if request.method == "GET":
        source = _brought_along(request)
        form = ParcelForm(initial=_initial(request, source), **known)
        if not source:
            form.begin_with(request.sender.default_size)
        return _form_page(request, form, source)
    if "unpaste" in request.POST:
        return _unpasted(request, ParcelForm(initial=request.POST.dict(), **known))
    form = ParcelForm(after_presses(request.POST), **known)
    if request.headers.get("X-Part") == "prices":
        return _prices_part(request, form)
    quote = take_prices(request, form) if form.is_valid() else None
    return redirect("quotes", quote.uuid) if quote else _form_page(request, form)


@audience(*BOOKERS)
@require_http_methods(["GET", "POST"])
def quotes(request: MemberRequest, quote: uuid.UUID) -> HttpResponse:
    """The offers side by side; posting checks the same parcel's prices again."""
    asked = get_object_or_404(Quote.objects.for_user(request.user), uuid=quote)
    if request.method == "GET":
        return _quotes_page(request, asked, BookForm())
    if request.sender.is_suspended:
        return suspended(request, status=403)
    try:
        asked = _prices(request, Entry.from_json(asked.entry), fresh=True)
    except NO_PRICES as error:
        messages.error(request, sentence(error, request.sender))
    return redirect("quotes", asked.uuid)


@audience(*BOOKERS)
@require_POST
def book(request: MemberRequest, quote: uuid.UUID) -> HttpResponse:
    """Owe the carrier one booking; the same form pressed twice is one order."""
    asked = get_object_or_404(Quote.objects.for_user(request.user), uuid=quote)
    form = BookForm(request.POST)
    if not form.is_valid():
        return _quotes_page(request, asked, form)
    chosen = form.cleaned_data
    try:
        order = booking.submit(
            quote=asked,
            code=chosen["product"],
            by=request.user,
            form_token=chosen["form_token"],
            pickup_date=chosen["pickup_date"],
            now=timezone.now(),
        )
    except booking.TokenReused:
        return _booked_already(request, chosen["form_token"])
    except booking.Suspended:
        return suspended(request, status=403)
    except (booking.Gone, booking.Paused, booking.TooManyToday, booking.PickupDayPassed) as error:
        form.add_error(FIELD_OF.get(type(error)), sentence(error, request.sender))
        return _quotes_page(request, asked, form)
    return redirect("booking_progress", order.uuid)


def _initial(request: MemberRequest, source: Quote | Order | None) -> dict[str, Any]:
    return typed_again(_entry_of(source), request.sender) if source else {}


def _unpasted(request: MemberRequest, form: ParcelForm) -> HttpResponse:
    """The form with a pasted address filled in; what no field used is shown."""
    pasted = pasting.read(request.POST.get("pasted", ""), form.address.country)
    form.initial.update(pasted.as_typed())
    return render(
        request, "orders/new_parcel.html", {"form": form, "left": pasted.left, "is_live_form": True}
    )


def _prices_part(request: MemberRequest, form: ParcelForm) -> HttpResponse:
    """Prices for the form as it stands, beside it; nothing at all while something in it is not right yet."""
    if not form.is_valid():
        return HttpResponse(status=204)
    quote = take_prices(request, form)
    if quote is None:
        return render(request, "orders/_live_prices.html", {"form": form})
    last = choosing.last_product(request.sender)
    chosen = choosing.choose(quote.products, request.sender.service_rule, last)
    page = offers.for_page(quote, now=timezone.now())
    context = {"quote": quote, "page": page, "chosen": chosen["code"] if chosen else ""}
    return render(request, "orders/_live_prices.html", context)


def _brought_along(request: MemberRequest) -> Quote | Order | None:
    """What `?quote=` (edit this one) or `?again=` (send another like it) fills the form with."""
    if "quote" in request.GET:
        return get_object_or_404(Quote.objects.for_user(request.user), uuid=_uuid(request.GET["quote"]))
    if "again" in request.GET:
        return get_object_or_404(Order.objects.for_user(request.user), uuid=_uuid(request.GET["again"]))
    return None


def _entry_of(source: Quote | Order) -> Entry:
    return source.entry() if isinstance(source, Order) else Entry.from_json(source.entry)


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def take_prices(request: MemberRequest, form: ParcelForm) -> Quote | None:
    """Prices for a good form; when there are none the form says why and keeps everything."""
    try:
        return _prices(request, form.entry())
    except Rejected as error:
        form.take_refusal(error.messages or {"": [error.text or sentence(error, request.sender)]})
    except NO_PRICES as error:
        form.add_error(None, sentence(error, request.sender))
    return None


def _prices(request: MemberRequest, entry: Entry, *, fresh: bool = False) -> Quote:
    """A quote to book from. One that was booked already would answer with its order, so another is asked for."""
    now = timezone.now()
    booking.refuse_unless_booking_is_on(request.sender, now)
    quote = quoting.ask(request.sender, entry, by=request.user, now=now, fresh=fresh)
    if quote.orders.exists():
        quote = quoting.ask(request.sender, entry, by=request.user, now=now, fresh=True)
    return quote


def _form_page(request: HttpRequest, form: ParcelForm, source: Quote | Order | None = None) -> HttpResponse:
    """The form; of a parcel the carrier refused, with its words."""
    refused_order = source if isinstance(source, Order) and source.status == Status.REJECTED else None
    context = {"form": form, "order": refused_order, "is_live_form": True}
    return render(request, "orders/new_parcel.html", context, status=422 if form.errors else 200)


def _quotes_page(request: MemberRequest, quote: Quote, form: BookForm) -> HttpResponse:
    page = offers.for_page(quote, now=timezone.now())
    template = "orders/_freshness.html" if request.GET.get("part") == "freshness" else "orders/quotes.html"
    context = {"quote": quote, "form": form, "page": page}
    return render(request, template, context, status=422 if form.errors else 200)


def _booked_already(request: MemberRequest, token: uuid.UUID) -> HttpResponse:
    order = get_object_or_404(Order.objects.for_user(request.user), form_token=token)
    return refused(
        request,
        title="This parcel is booked already",
        text="You booked it from this page with another service or pickup day. Nothing new was booked.",
        order=order,
    )
