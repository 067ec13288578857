"""Build replies and sentences that several pages share."""

import math
import uuid
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.db.models import BigIntegerField, UUIDField
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from orders.booking import answers, booking_rules, bookings, limit_words
from orders.booking.limits import LimitReached
from orders.calling import waiting
from orders.drafting import drafts
from orders.drafting.forms import ParcelForm
from orders.drafting.parcel_details import ParcelDetails
from orders.drafting.receiver_form import ReceiverForm
from orders.models import Draft, Order, Quote
from orders.quoting import asking, awaiting_prices
from shipping_portal.accounts.access import MemberRequest
from shipping_portal.accounts.models import Sender
from shipping_portal.carrier.errors import AccountStopped, CarrierError, Rejected
from shipping_portal.db.planned_statements import Given, PlannedSelect

DRAFT = PlannedSelect(
    Draft.objects.select_related("quote", "origin", "order").filter(
        sender=Given("sender", BigIntegerField()), uuid=Given("key", UUIDField())
    )
)
NOTHING_TO_COPY = (
    "Its receiver was erased, so nothing was booked and there is nothing to copy. To send to the"
    " same person, type their address into a new parcel."
)
NO_PRICES = (
    CarrierError,
    asking.TooManyQuotes,
    waiting.Full,
    asking.Paused,
    booking_rules.Paused,
    bookings.LimitReached,
)


def get_draft(request: MemberRequest, key: uuid.UUID) -> Draft:
    """Return the account's draft with this key. Raises Http404."""
    found: Draft = DRAFT.first(sender=request.sender.pk, key=key)
    if not found:
        raise Http404
    found.sender = request.sender
    return found


def begin_draft(
    request: MemberRequest, first: ParcelDetails | Mapping[str, Any], **known: Any
) -> Draft:
    """Make a draft that nobody has typed into yet, from a parcel or from form values."""
    return drafts.begin(request.sender, request.user, first, now=timezone.now(), **known)


def take_prices(request: MemberRequest, draft: Draft, form: ParcelForm) -> Quote | None:
    """Ask for the prices of a valid form.

    If there are none, the form says why and keeps everything.
    """
    try:
        return drafts.ask_prices(draft, form.details(), by=request.user, now=timezone.now())
    except Rejected as error:
        answers.add_price_rejection(form, error)
    except NO_PRICES as error:
        form.add_error(None, error_sentence(error, request.sender))
        form.may_wait = isinstance(error, awaiting_prices.WORTH_WAITING)
    return None


def show_remarks(request: MemberRequest, form: ReceiverForm) -> None:
    """Say on the next page which values were not used as typed."""
    for text in form.remarks:
        messages.info(request, text)


def refused_page(request: HttpRequest, *, title: str, text: str, order: Order) -> HttpResponse:
    """Say that the order's state doesn't allow the request, and link back to the order."""
    return render(request, "409.html", {"title": title, "text": text, "order": order}, status=409)


def suspended_page(request: HttpRequest, *, status: int) -> HttpResponse:
    """Say that booking is off for this sender; the banner shows when that began and why."""
    return render(request, "orders/suspended.html", status=status)


def error_sentence(error: Exception, sender: Sender, *, to: str = "") -> str:
    """Return why there are no prices or no booking, and what to do. Nothing was booked.

    A rejection's fields are named as is usual in `to`, the receiver's country.
    """
    match error:
        case asking.TooManyQuotes():
            return (
                f"This account asks for prices at most {sender.quotes_a_minute} times a minute, and"
                " has. Nothing was booked. Try again in a minute; contact us and quote"
                f" {sender.number} if you need more."
            )
        case booking_rules.Paused() | asking.Paused() | waiting.Full():
            return f"{error} Nothing was booked.".strip()
        case LimitReached():
            return limit_words.refusal(error, sender)
        case booking_rules.PickupDayPassed():
            return "That pickup day is no longer on offer. Nothing was booked. Choose another."
        case booking_rules.CarrierChanged():
            return (
                "We send with another carrier now, so this price no longer holds. Nothing was"
                " booked. Check prices again."
            )
        case booking_rules.ContentsMissing():
            return "Add what's inside first. Nothing was booked."
        case booking_rules.PickupMoved():
            return (
                "Your pickup address has changed since this price. Nothing was booked. Check prices"
                " again."
            )
        case booking_rules.ServiceNotOffered():
            return (
                "That service is not among the offers for this parcel. Nothing was booked. Choose"
                " another."
            )
        case AccountStopped():
            return (
                "The carrier gives this portal no prices just now. Nothing was booked. "
                f"Contact us and quote {sender.number}."
            )
        case asking.UnreadablePrices():
            return (
                "The carrier's answer couldn't be read in full, so there are no prices yet. "
                "Nothing was booked. We've told the operator."
            )
        case Rejected():  # for a parcel that was priced earlier
            problem = answers.refusal_problem(
                error, sender, sender.country, to=to, operation="quote"
            )
            return f"{problem['text']} Nothing was booked."
        case _:
            why = f"{answers.why_silent(error)}, so there are no prices yet. Nothing was booked."
            return f"{why} Try again{_retry_words(error)}."


def _retry_words(error: Exception) -> str:
    """Return how long the carrier asks us to wait, if it does."""
    seconds = getattr(error, "retry_after", None)
    return f" in {math.ceil(seconds)} s" if seconds else ""
