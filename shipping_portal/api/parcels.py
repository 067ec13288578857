"""Prices, bookings, cancellations, labels and tracking, by the entry points of the pages."""

import datetime as dt
import logging
import uuid
from typing import Annotated, Any

from django.db.models import QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.cache import get_conditional_response
from ninja import Header, Query

from orders.booking import answers, booking_rules, bookings
from orders.cancelling import cancels
from orders.drafting import drafts
from orders.drafting.forms import BookForm, ParcelForm
from orders.labels import fetching
from orders.labels.originals import WORTHLESS
from orders.models import Draft, Label, LabelBytes, Order, Quote
from orders.models.statuses import BEING_CANCELLED, Status
from orders.quoting import offers
from orders.views.quotes import FIELD_OF, NO_BOOKING
from orders.views.responses import NO_PRICES, error_sentence
from shipping_portal.accounts.access import MemberRequest
from shipping_portal.accounts.formatting import money_in
from shipping_portal.accounts.models import Audit, Sender
from shipping_portal.api import rates, schemas, shown
from shipping_portal.api.listed import page_of_parcels
from shipping_portal.api.operations import api_operation
from shipping_portal.api.problems import ApiProblem, refuse_invalid
from shipping_portal.carrier.errors import Rejected
from tracking import timeline

log = logging.getLogger(__name__)
KEYS = uuid.UUID("5f0c7c2e-7d0e-4b0a-9d53-3c9a5b0d8a11")  # of Idempotency-Key
NO_SUCH_FIELD = ["This account has no such field."]
NO_SUCH_QUOTE = ["There is no such quote. Ask for prices again."]
REUSED = "The key has booked another parcel, service or day. Nothing new was booked."
LOOK_AGAIN = {"Retry-After": "2"}  # at a parcel or label that is on its way
Key = Annotated[str, Header(alias="Idempotency-Key", min_length=1, max_length=255)]


def refuse_suspended(sender: Sender) -> None:
    """Raise the problem of an account that may not book."""
    if sender.is_suspended:
        raise ApiProblem("suspended", sender.suspension_text)


@api_operation("POST", "/quotes", scope="parcels:book", answer=schemas.QuoteOut, status=201)
def make_quote(request: MemberRequest, response: HttpResponse, parcel: schemas.ParcelIn) -> Any:
    """Ask for the prices of a parcel.

    Its fields are those of the portal's form, and so are the messages about them. Nothing is
    booked.
    """
    refuse_suspended(request.sender)
    if request.sender.pickup_address() is None:
        raise ApiProblem("start", "An owner says on the pages where parcels are picked up.")
    sent = sent_form(parcel)
    form, now = drafts.parcel_form(request.sender, sent), timezone.now()
    refuse_unused(sent, form)
    refuse_invalid(form)
    draft = drafts.begin(
        request.sender, request.user, sent.dict(), now=now, source=Draft.Source.TYPED
    )
    quote = _ask_prices(request, draft, form, now)
    for name, value in rates.of_quotes(request.sender, now).items():
        response[name] = value
    return shown.quote_facts(quote, draft, form, offers.for_page(quote, now=now))


def sent_form(body: Any) -> QueryDict:
    """Return what was sent as a form gets it."""
    typed = QueryDict(mutable=True)
    typed.update({name: str(value) for name, value in body.dict(exclude_none=True).items()})
    return typed


def refuse_unused(sent: QueryDict, form: Any) -> None:
    """Raise the problem of fields that this account's form doesn't have: none is ignored."""
    unused = [name for name in sent if name not in form.fields and str(sent[name]).strip()]
    if unused:
        raise ApiProblem("invalid", errors=dict.fromkeys(unused, NO_SUCH_FIELD))


def _ask_prices(request: MemberRequest, draft: Draft, form: ParcelForm, now: dt.datetime) -> Quote:
    try:
        return drafts.ask_prices(draft, form.details(), by=request.user, now=now)
    except Rejected as error:
        answers.put_at(form, error)
        refuse_invalid(form)
        raise
    except booking_rules.Suspended as error:
        raise ApiProblem("suspended", str(error)) from error
    except NO_PRICES as error:
        raise rates.no_answer(error, request.sender, now) from error


@api_operation("POST", "/parcels", scope="parcels:book", answer=schemas.BookedOut, status=202)
def book_parcel(
    request: MemberRequest, response: HttpResponse, chosen: schemas.ChosenIn, key: Key
) -> Any:
    """Book an offer, once for each Idempotency-Key.

    The same key with the same content gets the same answer, however often it is sent; with other
    content it gets 422. The carrier is called after the answer: look at the parcel's `url`.
    """
    now, token = timezone.now(), uuid.uuid5(KEYS, key)
    picked = {"product": chosen.product, "pickup_date": chosen.pickup_date, "form_token": token}
    form = BookForm({name: str(value) for name, value in picked.items() if value is not None})
    refuse_invalid(form)
    quote = _quote_to_book(request, chosen.quote)
    if not chosen.another:
        _refuse_surprise(request, quote, token, now)
    order = _submit(request, quote, form, now)
    for name, value in rates.of_bookings(request.sender, now).items():
        response[name] = value
    response["Location"] = shown.address_of(order)
    return {"id": order.uuid, "url": shown.address_of(order)}


def _quote_to_book(request: MemberRequest, key: uuid.UUID) -> Quote:
    quote = Quote.objects.for_user(request.user).filter(uuid=key).first()
    if quote is None:
        raise ApiProblem("invalid", errors={"quote": NO_SUCH_QUOTE})
    quote.sender = request.sender
    return quote


def _refuse_surprise(
    request: MemberRequest, quote: Quote, token: uuid.UUID, now: dt.datetime
) -> None:
    """Raise the problem of a parcel like one just booked, as the page asks about it."""
    if request.sender.is_suspended:
        return
    if like := booking_rules.duplicate_to_ask_about(quote, now, form_token=token):
        words = f"{like} goes to the same receiver. Nothing was booked. Send another: true to book."
        raise ApiProblem("duplicate", words, parcel=like.uuid)


def _submit(request: MemberRequest, quote: Quote, form: BookForm, now: dt.datetime) -> Order:
    """Book it, which ends the draft that was made for it, if that is still there."""
    mine = Draft.objects.for_user(request.user).filter(quote=quote, order=None)
    draft = mine.exclude(source=Draft.Source.CORRECTED).order_by("-pk").first()
    asked = {"by": request.user, "now": now, **form.cleaned_data}
    try:
        if draft:
            return drafts.submit(draft, quote, **asked)
        return bookings.submit(quote=quote, code=asked.pop("product"), **asked)
    except bookings.TokenReused as error:
        raise ApiProblem("key-reused", REUSED, parcel=str(error)) from error
    except booking_rules.Suspended as error:
        raise ApiProblem("suspended", str(error)) from error
    except NO_BOOKING as error:
        if isinstance(error, bookings.LimitReached | booking_rules.Paused):
            raise rates.no_answer(error, request.sender, now) from error
        words = error_sentence(error, request.sender)
        raise ApiProblem("invalid", errors={FIELD_OF.get(type(error), "quote"): [words]}) from error


@api_operation("GET", "/parcels", scope="parcels:read", answer=schemas.ParcelsOut)
def list_parcels(request: MemberRequest, query: Query[schemas.ParcelsQuery]) -> Any:
    """List parcels, fifty a page, with the filters of the portal's list."""
    page, now = page_of_parcels(request, query.dict()), timezone.now()
    rows = [shown.parcel_facts(order, request.membership.role, now) for order in page.rows]
    return {"parcels": rows, "next": page.on}


def orders_shown(request: MemberRequest) -> QuerySet[Order]:
    """Return the account's parcels with what the API shows of each."""
    mine = Order.objects.for_user(request.user).prefetch_related("labels")
    return mine.select_related("account", "replaces", "replaced_by", "parcel__account")


def _parcel_of(request: MemberRequest, key: uuid.UUID) -> Order:
    found = get_object_or_404(orders_shown(request), uuid=key)
    found.sender = request.sender
    return found


@api_operation("GET", "/parcels/{uuid:parcel}", scope="parcels:read", answer=schemas.OneParcelOut)
def get_parcel(request: MemberRequest, response: HttpResponse, parcel: uuid.UUID) -> Any:
    """Show one parcel.

    Send its ETag back as If-None-Match: while nothing has changed the answer is 304.
    """
    found = _parcel_of(request, parcel)
    document = schemas.OneParcelOut(
        **shown.one_parcel_facts(found, request.membership.role, timezone.now())
    )
    tag = shown.etag_of(document)
    response["ETag"], response["Cache-Control"] = tag, "private, no-cache"
    return get_conditional_response(request, etag=tag) or document


@api_operation(
    "POST",
    "/parcels/{uuid:parcel}/cancel",
    scope="parcels:book",
    answer=schemas.BookedOut,
    status=202,
)
def cancel_parcel(request: MemberRequest, parcel: uuid.UUID) -> Any:
    """Ask the carrier to cancel a parcel that is not sent.

    Don't use its label from then on. Asking twice changes nothing.
    """
    found = _parcel_of(request, parcel)
    if found.status not in {*BEING_CANCELLED, Status.CANCELLED}:
        try:
            cancels.ask_to_cancel(found, by=request.user, why="not sending it", now=timezone.now())
        except (Order.PickupProblem, Order.AlreadyCollected, Order.WrongStatus) as error:
            raise ApiProblem("state", _state_in_words(request, parcel)) from error
    return {"id": found.uuid, "url": shown.address_of(found)}


def _state_in_words(request: MemberRequest, key: uuid.UUID) -> str:
    return shown.sentence_of(_parcel_of(request, key), request.membership.role, timezone.now())


@api_operation(
    "POST",
    "/parcels/{uuid:parcel}/confirm",
    scope="parcels:book",
    answer=schemas.BookedOut,
    status=202,
)
def confirm_parcel(request: MemberRequest, parcel: uuid.UUID, chosen: schemas.ConfirmIn) -> Any:
    """Book a parcel whose price or day has changed, with your yes to the price it has now."""
    found, now = _parcel_of(request, parcel), timezone.now()
    if found.status not in {Status.DRAFT, Status.NOT_BOOKED}:
        raise ApiProblem("state", _state_in_words(request, parcel))
    price = found.price_to_confirm
    if (chosen.amount, chosen.currency) != (price.amount, price.currency):
        words = f"The price is {money_in(price)} now. Nothing was booked."
        raise ApiProblem("invalid", errors={"amount": [words]})
    try:
        bookings.confirm(found, by=request.user, now=now, next_day=chosen.next_day)
    except booking_rules.Suspended as error:
        raise ApiProblem("suspended", str(error)) from error
    except (booking_rules.Paused, bookings.LimitReached) as error:
        raise rates.no_answer(error, request.sender, now) from error
    except (booking_rules.CarrierChanged, booking_rules.PickupDayPassed) as error:
        raise ApiProblem("state", error_sentence(error, request.sender)) from error
    except Order.WrongStatus as error:
        raise ApiProblem("state", _state_in_words(request, parcel)) from error
    return {"id": found.uuid, "url": shown.address_of(found)}


@api_operation("GET", "/parcels/{uuid:parcel}/label", scope="labels:read", openapi_extra=shown.PDF)
def get_label(
    request: MemberRequest, parcel: uuid.UUID, size: str = "", *, worthless: bool = False
) -> HttpResponseBase:
    """Get the carrier's label, byte for byte: size full or cropped, else the account's own.

    While the carrier is making it, the answer is 409 with Retry-After. One made with a test key
    is refused unless worthless is true, so that no bench prints it unnoticed.
    """
    order, now = _parcel_of(request, parcel), timezone.now()
    size = size or request.sender.label_size
    found = next((label for label in order.labels.all() if label.size == size), None)
    if order.status == Status.BOOKING:
        raise ApiProblem("label-late", _state_in_words(request, parcel), headers=LOOK_AGAIN)
    if found is None or order.status != Status.BOOKED or found.purged_at:
        raise ApiProblem("not-found", "This parcel has no label of that size now.")
    if order.is_stopped(request.sender):
        raise ApiProblem("suspended", request.sender.suspension_text)
    if not found.is_ready:
        fetching.want_spare(order, now)
        late = found.state == Label.State.PENDING
        raise ApiProblem(
            "label-late", found.get_state_display(), headers=LOOK_AGAIN if late else None
        )
    if found.is_worthless and not worthless:
        raise ApiProblem("worthless", WORTHLESS)
    return shown.label_file(found, _bytes_of(found, request, now))


def _bytes_of(label: Label, request: MemberRequest, now: dt.datetime) -> bytes:
    """Return the file, and write down who took it."""
    try:
        content = label.serve(at=now)
    except LabelBytes.DoesNotExist:  # purged or taken back just now
        raise Http404 from None
    except Label.Damaged as error:
        log.error("label %s of order %s does not match its sha256", label.size, label.order_id)
        raise ApiProblem("fault", "The stored label is damaged, so it isn't served.") from error
    sender = request.sender
    Audit.write(
        "label downloaded", label.order, by=request.user, sender=sender, reason=label.size, at=now
    )
    return content


@api_operation(
    "GET", "/parcels/{uuid:parcel}/tracking", scope="parcels:read", answer=schemas.TrackingOut
)
def get_tracking(request: MemberRequest, parcel: uuid.UUID) -> Any:
    """Show where a parcel is: its scans, newest first, in the account's time zone."""
    order, role = _parcel_of(request, parcel), request.membership.role
    scans = timeline.for_parcel(getattr(order, "parcel", None), request.sender.tzinfo)
    return shown.tracking_facts(order, scans, role, timezone.now())
