"""Prices and drafts: a parcel before it is booked, through the same entry points as the pages."""

import datetime as dt
import uuid
from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone

from orders.booking import answers, booking_rules
from orders.drafting import drafts, returning
from orders.drafting.forms import ParcelForm
from orders.models import Draft, Order, Quote
from orders.quoting import offers
from orders.views.responses import NO_PRICES, get_draft
from shipping_portal.accounts.access import MemberRequest
from shipping_portal.api import rates, schemas, shown
from shipping_portal.api.operations import api_operation
from shipping_portal.api.problems import ApiProblem, refuse_invalid
from shipping_portal.api.sent import (
    refuse_unless_may_begin,
    refuse_unused,
    refuse_wrong,
    sent_form,
)
from shipping_portal.carrier.errors import Rejected

BOOKED = "This draft is booked."
NO_SUCH_SIZE = ["There is no such size."]
OTHER_MEASURES = ["Its measures are others. Send the size or the measures."]


@api_operation("POST", "/quotes", scope="parcels:book", answer=schemas.QuoteOut, status=201)
def make_quote(request: MemberRequest, response: HttpResponse, parcel: schemas.ParcelIn) -> Any:
    """Ask for the prices of a parcel.

    The fields, and the messages about them, are those of the portal's form. Nothing is booked.
    """
    refuse_unless_may_begin(request.sender)
    sent, now = sent_form(parcel.dict()), timezone.now()
    form = drafts.parcel_form(request.sender, sent)
    size = str(sent.get("size", "")).strip()
    if size and form.sizes and not form.size_of(size):
        raise ApiProblem("invalid", errors={"size": NO_SUCH_SIZE})
    refuse_wrong(sent, form)
    if size and not form.details().size:
        raise ApiProblem("invalid", errors={"size": OTHER_MEASURES})
    draft = drafts.begin(
        request.sender, request.user, sent.dict(), now=now, source=Draft.Source.TYPED
    )
    return _priced(request, response, draft, form)


@api_operation(
    "POST",
    "/parcels/{id:parcel}/return",
    scope="parcels:book",
    answer=schemas.QuoteOut,
    status=201,
)
def return_parcel(request: MemberRequest, response: HttpResponse, parcel: uuid.UUID) -> Any:
    """Ask for the prices of sending a parcel back, from its receiver to the account.

    The parcel must be delivered or on its way back. Book an offer like any other; a second return
    of the same parcel must be confirmed.
    """
    refuse_unless_may_begin(request.sender)
    order = get_object_or_404(Order.objects.for_user(request.user), uuid=parcel)
    if why := returning.why_not_sent_back(order):
        raise ApiProblem("state", why)
    details = returning.return_of(order, request.sender)
    draft = drafts.begin(request.sender, request.user, details, now=timezone.now())
    form = drafts.parcel_form(request.sender, sent_form(draft.values), draft=draft)
    refuse_invalid(form)
    return _priced(request, response, draft, form)


@api_operation("GET", "/drafts", scope="parcels:book", answer=schemas.DraftsOut)
def list_drafts(request: MemberRequest) -> Any:
    """List the account's drafts, most recently changed first. There are at most fifty."""
    found = drafts.listed(request.user).select_related("quote", "origin")
    return {"drafts": [shown.draft_facts(draft) for draft in found]}


@api_operation("POST", "/drafts", scope="parcels:book", answer=schemas.DraftOut, status=201)
def create_draft(request: MemberRequest, parcel: schemas.ParcelIn) -> Any:
    """Save a parcel that needn't be complete. Nothing is checked or booked."""
    return _save(request, Draft(sender=request.sender, made_by=request.user), parcel)


@api_operation("GET", "/drafts/{id:draft}", scope="parcels:book", answer=schemas.DraftOut)
def read_draft(request: MemberRequest, draft: uuid.UUID) -> Any:
    """Show a draft as any member of the account last saved it."""
    return shown.draft_facts(get_draft(request, draft))


@api_operation("PUT", "/drafts/{id:draft}", scope="parcels:book", answer=schemas.DraftOut)
def replace_draft(request: MemberRequest, draft: uuid.UUID, parcel: schemas.ParcelIn) -> Any:
    """Replace a draft's entire content."""
    return _save(request, _open_draft(request, draft), parcel)


@api_operation("DELETE", "/drafts/{id:draft}", scope="parcels:book", status=204)
def remove_draft(request: MemberRequest, draft: uuid.UUID) -> Any:
    """Delete a draft. A parcel booked from it stays."""
    get_draft(request, draft).delete()


@api_operation(
    "POST",
    "/drafts/{id:draft}/quotes",
    scope="parcels:book",
    answer=schemas.QuoteOut,
    status=201,
)
def price_draft(request: MemberRequest, response: HttpResponse, draft: uuid.UUID) -> Any:
    """Ask for the prices of a draft. Problems are reported as for any parcel.

    Booking one of the offers ends the draft.
    """
    found = _open_draft(request, draft)
    form = drafts.parcel_form(
        request.sender, sent_form(shown.parcel_values(found.values)), draft=found
    )
    refuse_invalid(form)
    return _priced(request, response, found, form)


def _open_draft(request: MemberRequest, key: uuid.UUID) -> Draft:
    refuse_unless_may_begin(request.sender)
    found = get_draft(request, key)
    if found.order:
        raise ApiProblem("state", BOOKED, parcel=found.order.uuid)
    return found


def _save(request: MemberRequest, draft: Draft, parcel: Any) -> dict[str, Any]:
    refuse_unless_may_begin(request.sender)
    sent = sent_form(parcel.dict())
    refuse_unused(sent, drafts.parcel_form(request.sender, draft=draft))
    return shown.draft_facts(drafts.save(draft, sent.dict(), now=timezone.now()))


def _priced(
    request: MemberRequest, response: HttpResponse, draft: Draft, form: ParcelForm
) -> dict[str, Any]:
    """Return the prices for a valid form, with the rate limit in the headers."""
    now = timezone.now()
    quote = _ask_prices(request, draft, form, now)
    for name, value in rates.quote_headers(request.sender, now).items():
        response[name] = value
    return shown.quote_facts(quote, draft, form, offers.for_page(quote, now=now))


def _ask_prices(request: MemberRequest, draft: Draft, form: ParcelForm, now: dt.datetime) -> Quote:
    try:
        return drafts.ask_prices(draft, form.details(), by=request.user, now=now)
    except Rejected as error:
        answers.add_price_rejection(form, error)
        refuse_invalid(form)
        raise
    except booking_rules.Suspended as error:
        raise ApiProblem("suspended", str(error)) from error
    except NO_PRICES as error:
        raise rates.unavailable_problem(error, request.sender, now) from error
