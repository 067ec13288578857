"""Bookings, cancellations, labels and tracking, through the same entry points as the pages."""

import datetime as dt
import logging
import uuid
from typing import Annotated, Any

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.cache import get_conditional_response
from ninja import Header, Query

from orders.booking import booking_rules, bookings
from orders.calling import gateway
from orders.cancelling import cancels, replacing
from orders.cancelling.cancel_rules import CANNOT_CANCEL
from orders.drafting import drafts, returning
from orders.drafting.forms import BookForm
from orders.labels import fetching
from orders.labels.originals import WORTHLESS
from orders.models import Draft, Label, LabelBytes, Order, Quote
from orders.models.statuses import BEING_CANCELLED, Status
from orders.views.parcel import CHOOSE_AGAIN
from orders.views.quotes import FIELD_OF, NO_BOOKING
from orders.views.responses import error_sentence
from shipping_portal.accounts.access import MemberRequest
from shipping_portal.accounts.formatting import money_in
from shipping_portal.accounts.models import Audit, Sender
from shipping_portal.api import rates, schemas, shown
from shipping_portal.api.listed import page_of_parcels
from shipping_portal.api.operations import api_operation
from shipping_portal.api.problems import ApiProblem, refuse_invalid
from shipping_portal.api.sent import sent_form
from shipping_portal.db.bucket import OutOfReach
from tracking import receiver_pages, timeline
from tracking.receiver_views import ShareForm

log = logging.getLogger(__name__)
KEYS = uuid.UUID("5f0c7c2e-7d0e-4b0a-9d53-3c9a5b0d8a11")  # characters of Idempotency-Key
NO_SUCH_QUOTE = ["There is no such quote. Ask for prices again."]
REUSED = "The key has booked another parcel, service or day. Nothing new was booked."
OLD_PRICE = "That price no longer holds, so nothing was cancelled or booked. Ask again."
# Parcels that it replaces or returns, or that replace it, are shown only by id.
NOT_OF_KIN = [
    f"{kin}__{field.name}"
    for kin in ("replaces", "replaced_by", "returns")
    for field in Order._meta.concrete_fields
    if field.name not in {"id", "uuid"}
]
LOOK_AGAIN = {"Retry-After": "2"}  # seconds to wait while a parcel or label is on its way
NO_LABEL: dict[str, str] = {
    Label.State.PENDING: "The carrier is making it.",
    Label.State.ABSENT: "The carrier has no label of this size for this parcel.",
    Label.State.FAILED: (
        "The carrier hasn't given us this label yet. The parcel is booked; don't book it again."
    ),
    Label.State.WITHHELD: (
        "After a fault on our side we're asking the carrier whether this parcel is still booked."
        " Don't use a label you printed before, and don't book it again."
    ),
}
Key = Annotated[str, Header(alias="Idempotency-Key", min_length=1, max_length=255)]


@api_operation("POST", "/parcels", scope="parcels:book", answer=schemas.BookedOut, status=202)
def book_parcel(
    request: MemberRequest, response: HttpResponse, chosen: schemas.ChosenIn, key: Key
) -> Any:
    """Book an offer, once for each Idempotency-Key.

    The same key with the same content gets the same answer, however often it is sent; with
    different content it gets 422. The carrier is called after the answer: look at the parcel's
    `url`.
    """
    asked, now = _read_choice(chosen, key), timezone.now()
    quote = _quote_to_book(request, chosen.quote)
    asked |= {"is_another": chosen.another, "asks_first": True}
    if not chosen.another:
        _refuse_duplicate(request, quote, asked["form_token"], now)
    order = _submit(request, quote, asked, now)
    for name, value in rates.booking_headers(request.sender, now).items():
        response[name] = value
    found = shown.pointer_to(order)
    response["Location"] = found["url"]
    return found


def _read_choice(chosen: Any, key: str) -> dict[str, Any]:
    """Return the product, pickup_date and form_token as the Book form reads them."""
    picked = {"product": chosen.product, "pickup_date": chosen.pickup_date or ""}
    form = BookForm(picked | {"form_token": uuid.uuid5(KEYS, key)})
    refuse_invalid(form)
    return form.cleaned_data


def _quote_to_book(request: MemberRequest, key: uuid.UUID) -> Quote:
    quote = Quote.objects.for_user(request.user).filter(uuid=key).first()
    if quote is None:
        raise ApiProblem("invalid", errors={"quote": NO_SUCH_QUOTE})
    quote.sender = request.sender
    return quote


def _refuse_duplicate(
    request: MemberRequest, quote: Quote, token: uuid.UUID, now: dt.datetime
) -> None:
    """Raise a problem if the parcel resembles one just booked: the page would ask about it."""
    if request.sender.is_suspended:
        return
    if like := booking_rules.duplicate_to_ask_about(quote, now, form_token=token):
        same = "sends the same parcel back" if like.returns_id else "goes to the same receiver"
        name = like.carrier_reference or "An earlier parcel"
        words = f"{name} {same}. Nothing was booked. Send another: true to book."
        raise ApiProblem("duplicate", words, parcel=like.uuid)


def _submit(request: MemberRequest, quote: Quote, asked: dict[str, Any], now: dt.datetime) -> Order:
    """Book the parcel. That deletes the draft made for it, if it still exists."""
    mine = Draft.objects.for_user(request.user).filter(quote=quote, order=None)
    draft = mine.exclude(source=Draft.Source.CORRECTED).order_by("-pk").first()
    asked = {"by": request.user, "now": now, **asked}
    try:
        if draft:
            return drafts.submit(draft, quote, **asked)
        return bookings.submit(quote=quote, code=asked.pop("product"), **asked)
    except bookings.TokenReused as error:
        raise ApiProblem("key-reused", REUSED, parcel=str(error)) from error
    except Order.Duplicate as error:  # another request has just booked it
        _refuse_duplicate(request, quote, asked["form_token"], now)
        raise ApiProblem("state", returning.ANOTHER) from error
    except (booking_rules.Suspended, *NO_BOOKING) as error:
        raise _booking_problem(error, request.sender, now) from error


def _booking_problem(error: Exception, sender: Sender, now: dt.datetime) -> ApiProblem:
    """Return the problem that prevents this booking."""
    match error:
        case booking_rules.Suspended():
            return ApiProblem("suspended", str(error))
        case bookings.LimitReached() | booking_rules.Paused():
            return rates.unavailable_problem(error, sender, now)
    words = error_sentence(error, sender)
    return ApiProblem("invalid", errors={FIELD_OF.get(type(error), "quote"): [words]})


@api_operation("GET", "/parcels", scope="parcels:read", answer=schemas.ParcelsOut)
def list_parcels(request: MemberRequest, query: Query[schemas.ParcelsQuery]) -> Any:
    """List parcels, fifty per page, with the filters of the portal's list."""
    page, now = page_of_parcels(request, query.dict()), timezone.now()
    role, titles = request.membership.role, gateway.carrier_titles()
    rows = [shown.parcel_facts(order, role, now, titles) for order in page.rows]
    return {"parcels": rows, "next": page.on}


def orders_shown(request: MemberRequest) -> QuerySet[Order]:
    """Return the account's parcels with what the API shows of each."""
    mine = Order.objects.for_user(request.user).prefetch_related("labels")
    return mine.select_related(
        "account", "replaces", "replaced_by", "returns", "parcel__account"
    ).defer(*NOT_OF_KIN)


def _parcel_of(request: MemberRequest, key: uuid.UUID) -> Order:
    found = get_object_or_404(orders_shown(request), uuid=key)
    found.sender = request.sender
    return found


@api_operation("GET", "/parcels/{id:parcel}", scope="parcels:read", answer=schemas.OneParcelOut)
def get_parcel(request: MemberRequest, response: HttpResponse, parcel: uuid.UUID) -> Any:
    """Show one parcel.

    Send its ETag back as If-None-Match: the answer is 304 as long as nothing has changed.
    """
    found = _parcel_of(request, parcel)
    document = schemas.OneParcelOut(
        **shown.one_parcel_facts(found, request.membership.role, timezone.now())
    )
    tag = shown.etag_of(document)
    response["ETag"], response["Cache-Control"] = tag, "private, no-cache"
    answer = get_conditional_response(request, etag=tag, response=response)
    return document if answer is response else answer


@api_operation(
    "POST",
    "/parcels/{id:parcel}/cancel",
    scope="parcels:book",
    answer=schemas.BookedOut,
    status=202,
)
def cancel_parcel(request: MemberRequest, parcel: uuid.UUID) -> Any:
    """Ask the carrier to cancel a parcel that hasn't been sent.

    Don't use its label after that. Asking twice changes nothing.
    """
    found = _parcel_of(request, parcel)
    if found.status not in {*BEING_CANCELLED, Status.CANCELLED}:
        try:
            cancels.ask_to_cancel(found, by=request.user, why="not sending it", now=timezone.now())
        except CANNOT_CANCEL as error:
            raise ApiProblem("state", _state_in_words(request, parcel)) from error
    return shown.pointer_to(found)


def _state_in_words(request: MemberRequest, key: uuid.UUID) -> str:
    return shown.sentence_of(_parcel_of(request, key), request.membership.role, timezone.now())


@api_operation(
    "POST",
    "/parcels/{id:parcel}/replace",
    scope="parcels:book",
    answer=schemas.BookedOut,
    status=202,
)
def replace_parcel(
    request: MemberRequest, parcel: uuid.UUID, chosen: schemas.OfferIn, key: Key
) -> Any:
    """Cancel a parcel and book an offer instead, once for each Idempotency-Key.

    Ask for prices with the corrected fields first. Nothing new is booked before the carrier has
    cancelled this one, and its replacement shows the outcome. Don't use its label from now on.
    """
    found, asked = _parcel_of(request, parcel), _read_choice(chosen, key)
    quote = _quote_to_book(request, chosen.quote)
    before = replacing.asked_by_form(found, asked["form_token"]).select_related("quote").first()
    if before is None:
        _ask_to_replace(request, found, quote, asked)
    elif not before.is_for(quote, asked["product"], asked["pickup_date"]):
        raise ApiProblem("key-reused", REUSED, parcel=str(found.uuid))
    return shown.pointer_to(found)


def _ask_to_replace(
    request: MemberRequest, order: Order, quote: Quote, asked: dict[str, Any]
) -> None:
    now, code = timezone.now(), asked.pop("product")
    try:
        replacing.ask_to_replace(order, quote=quote, code=code, by=request.user, now=now, **asked)
    except replacing.OldPrice as error:
        raise ApiProblem("invalid", errors={"quote": [OLD_PRICE]}) from error
    except (booking_rules.Suspended, *NO_BOOKING) as error:
        raise _booking_problem(error, request.sender, now) from error
    except CANNOT_CANCEL as error:
        raise ApiProblem("state", _state_in_words(request, order.uuid)) from error


@api_operation(
    "POST",
    "/parcels/{id:parcel}/confirm",
    scope="parcels:book",
    answer=schemas.BookedOut,
    status=202,
)
def confirm_parcel(request: MemberRequest, parcel: uuid.UUID, chosen: schemas.ConfirmIn) -> Any:
    """Book a parcel whose price or day has changed, by confirming its current price."""
    found, now = _parcel_of(request, parcel), timezone.now()
    if found.status not in {Status.DRAFT, Status.NOT_BOOKED}:
        raise ApiProblem("state", _state_in_words(request, parcel))
    price = found.price_to_confirm
    if (chosen.amount, chosen.currency) != (price.amount, price.currency):
        words = f"The price is {money_in(price)} now. Nothing was booked."
        raise ApiProblem("invalid", errors={"amount": [words]})
    try:
        bookings.confirm(found, by=request.user, now=now, next_day=chosen.next_day)
    except CHOOSE_AGAIN as error:
        raise ApiProblem("state", error_sentence(error, request.sender)) from error
    except (booking_rules.Suspended, booking_rules.Paused, bookings.LimitReached) as error:
        raise _booking_problem(error, request.sender, now) from error
    except Order.Duplicate as error:
        raise ApiProblem("state", returning.ANOTHER) from error
    except Order.WrongStatus as error:
        raise ApiProblem("state", _state_in_words(request, parcel)) from error
    return shown.pointer_to(found)


@api_operation(
    "POST",
    "/parcels/{id:parcel}/share",
    scope="parcels:book",
    answer=schemas.SharedOut,
)
def share_parcel(request: MemberRequest, parcel: uuid.UUID, share: schemas.ShareIn) -> Any:
    """Share a parcel's page with its receiver, who needs no account.

    Asking again returns the same answer. The page has no personal data, and anybody who has its
    address can read it.
    """
    found = _parcel_of(request, parcel)
    form = ShareForm(sent_form(share.dict()))
    refuse_invalid(form)
    contact = None if share.contact is None else form.cleaned_data["contact"]
    page = receiver_pages.share_page(found, by=request.user, now=timezone.now(), contact=contact)
    return {"url": receiver_pages.link_of(page), "contact": page.contact}


@api_operation("DELETE", "/parcels/{id:parcel}/share", scope="parcels:book", status=204)
def stop_sharing_parcel(request: MemberRequest, parcel: uuid.UUID) -> Any:
    """Stop sharing a parcel's page. Its address never works again."""
    receiver_pages.stop_sharing(_parcel_of(request, parcel), by=request.user, now=timezone.now())


@api_operation("GET", "/parcels/{id:parcel}/label", scope="labels:read", openapi_extra=shown.PDF)
def get_label(
    request: MemberRequest, parcel: uuid.UUID, size: str = "", *, worthless: bool = False
) -> HttpResponseBase:
    """Get the carrier's label, byte for byte: full or cropped, by default the account's size.

    While the carrier is making it, the answer is 409 with Retry-After. A label made with a test key
    is refused unless worthless is true, so that it isn't printed by mistake.
    """
    order, now = _parcel_of(request, parcel), timezone.now()
    size = size or request.sender.label_size
    found = next((label for label in order.labels.all() if label.size == size), None)
    if order.status == Status.BOOKING:
        words = shown.sentence_of(order, request.membership.role, now)
        raise ApiProblem("label-late", words, headers=LOOK_AGAIN)
    if found is None or not order.is_booked or found.purged_at:
        raise ApiProblem("not-found", "This parcel has no label of that size now.")
    if order.is_stopped(request.sender):
        raise ApiProblem("suspended", request.sender.suspension_text)
    if not found.is_ready:
        fetching.want_spare(order, now)
        late = found.state == Label.State.PENDING
        raise ApiProblem("label-late", NO_LABEL[found.state], headers=LOOK_AGAIN if late else None)
    if found.is_worthless and not worthless:
        raise ApiProblem("worthless", WORTHLESS)
    return shown.label_file(found, label_bytes(found, request, now))


def label_bytes(label: Label, request: MemberRequest, now: dt.datetime) -> bytes:
    """Return the file, and record who downloaded it."""
    try:
        content = label.serve(at=now)
    except LabelBytes.DoesNotExist:  # just purged or withdrawn
        raise Http404 from None
    except OutOfReach as error:
        log.warning("label %s of order %s can't be read now", label.size, label.order_id)
        text = "The label is stored, but can't be read right now."
        raise ApiProblem("label-late", text, headers=LOOK_AGAIN) from error
    except Label.Damaged as error:
        log.error("label %s of order %s does not match its sha256", label.size, label.order_id)
        raise ApiProblem("fault", "The stored label is damaged, so it isn't served.") from error
    sender = request.sender
    Audit.write(
        "label downloaded", label.order, by=request.user, sender=sender, reason=label.size, at=now
    )
    return content


@api_operation(
    "GET", "/parcels/{id:parcel}/tracking", scope="parcels:read", answer=schemas.TrackingOut
)
def get_tracking(request: MemberRequest, parcel: uuid.UUID) -> Any:
    """Show where a parcel is: its scans, newest first, in the account's time zone."""
    order, role = _parcel_of(request, parcel), request.membership.role
    scans = timeline.for_parcel(getattr(order, "parcel", None), request.sender.tzinfo)
    return shown.tracking_facts(order, scans, role, timezone.now())
