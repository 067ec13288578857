"""What an address brings along to the new-parcel form: a quote, a parcel, a draft or a receiver."""

from dataclasses import dataclass, field
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404

from orders import drafting
from orders.entry import Entry
from orders.forms import typed_again
from orders.models import Draft, Order, Quote
from orders.models.statuses import Status
from orders.receiver_form import as_typed
from shipping_portal.accounts.access import MemberRequest
from shipping_portal.accounts.models import Receiver


@dataclass(frozen=True)
class Brought:
    """The form's first values. `is_whole` when they hold the parcel too, not only who receives it."""

    values: dict[str, Any] = field(default_factory=dict)
    draft: Draft | None = None
    refused: Order | None = None  # whose words of the carrier stand above the form
    is_whole: bool = True


def brought_along(request: MemberRequest) -> Brought:
    """`?quote=` edits that one, `?again=` sends another like it, `?draft=` goes on, `?receiver=` begins with a name.

    Raises Http404 for what isn't this account's.
    """
    if "quote" in request.GET:
        quote = get_object_or_404(
            Quote.objects.for_user(request.user), uuid=drafting.as_uuid(request.GET["quote"])
        )
        draft = draft_named(request)
        return Brought(typed_again(Entry.from_json(quote.entry), request.sender), draft)
    if "again" in request.GET:
        order = get_object_or_404(
            Order.objects.for_user(request.user), uuid=drafting.as_uuid(request.GET["again"])
        )
        refused = order if order.status == Status.REJECTED else None
        return Brought(typed_again(order.entry(), request.sender), refused=refused)
    if "draft" in request.GET:
        return _left_off(request)
    if "receiver" in request.GET:
        return _to_somebody_known(request)
    return Brought(is_whole=False)


def draft_named(request: MemberRequest) -> Draft | None:
    """The draft a form or an address carries with it, as long as it is there."""
    given = request.POST if request.method == "POST" else request.GET
    return drafting.find(request.user, given.get("draft", ""))


def _left_off(request: MemberRequest) -> Brought:
    draft = drafting.find(request.user, request.GET["draft"])
    if draft is None:
        raise Http404
    return Brought(draft.values, draft)


def _to_somebody_known(request: MemberRequest) -> Brought:
    receiver = get_object_or_404(
        Receiver.objects.for_user(request.user), uuid=drafting.as_uuid(request.GET["receiver"])
    )
    return Brought(as_typed(receiver.party()), is_whole=False)
