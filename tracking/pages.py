"""Show parcels by reference: those followed for others, and the link to change a pickup."""

import datetime as dt
import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from orders.calling import gateway, waiting
from orders.calling.contract import current_contract
from orders.models import Order
from orders.models.statuses import Progress, Status
from orders.views.responses import suspended_page
from shipping_portal.accounts.access import (
    BOOKERS,
    BOOKKEEPER,
    EVERY_MEMBER,
    MemberRequest,
    audience,
    require_get_or_post,
    same_origin,
)
from shipping_portal.accounts.address.addresses import LineField
from shipping_portal.accounts.models import Audit, User, belongs_to
from shipping_portal.carrier.errors import CarrierError, LinkOff
from shipping_portal.http.forms import render_form
from shipping_portal.refused import Refused
from tracking import watching
from tracking.models import Watch


class WatchForm(forms.Form):
    reference = forms.CharField(
        label="Carrier reference",
        max_length=500,
        help_text="You can also paste the address of its tracking page.",
        error_messages={
            "required": "Enter the reference, such as {example}.",
            "max_length": "Enter the reference alone, such as {example}.",
        },
    )
    name = LineField(label="Your own name for it", max_length=80, required=False)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        messages = self.fields["reference"].error_messages
        for problem in ("required", "max_length"):
            messages[problem] = messages[problem].format(
                example=current_contract().reference_example
            )


@audience(EVERY_MEMBER)
@require_get_or_post
def watched(request: MemberRequest) -> HttpResponse:
    """Show parcels booked elsewhere that this account follows; bookers add to them."""
    may_watch = request.membership.role in BOOKERS
    form = WatchForm(request.POST if request.method == "POST" and may_watch else None)
    if request.method == "POST":
        if not may_watch:
            raise Http404
        if request.sender.is_suspended:
            return render(request, "orders/suspended.html", status=403)
        watch = _watch_from_form(request, form)
        if watch:
            return redirect("watched_parcel", watch.uuid)
    context = {"form": form, "rows": _watches_of(request).order_by("-pk")[: watching.MOST_WATCHES]}
    return render_form(request, "tracking/watched.html", context)


def _watch_from_form(request: MemberRequest, form: WatchForm) -> Watch | None:
    if not form.is_valid():
        return None
    typed = form.cleaned_data
    try:
        return watching.follow_reference(
            request.sender,
            typed["reference"],
            name=typed["name"],
            by=request.user,
            now=timezone.now(),
        )
    except watching.NotAReference:
        form.add_error(
            "reference",
            f"This holds no reference. One looks like {current_contract().reference_example}.",
        )
    except (Refused, waiting.Full) as error:
        form.add_error("reference", str(error))
    return None


def _watches_of(request: MemberRequest) -> QuerySet[Watch]:
    return Watch.objects.filter(belongs_to(request.user)).select_related(
        "parcel__order", "parcel__account"
    )


@audience(EVERY_MEMBER)
@require_GET
def watched_parcel(request: MemberRequest, watch: uuid.UUID) -> HttpResponse:
    """Show what is known about a followed parcel.

    It has no label, price or pickup tools: it isn't ours.
    """
    found = get_object_or_404(_watches_of(request), uuid=watch)
    state = f"{found.parcel.progress}.{found.parcel.subscription}.{found.parcel.events.count()}"
    if request.GET.get("seen") == state:
        return HttpResponse(status=204)
    context = {
        "watch": found,
        "parcel": found.parcel,
        "carrier": gateway.carrier_titles().get(found.parcel.account_id, ""),
        "state": state,
        "masks_details": request.membership.role == BOOKKEEPER or _is_booked_elsewhere(found),
        "is_over": found.parcel.progress in {Progress.DELIVERED, Progress.LOST, Progress.EXPIRED},
    }
    template = (
        "tracking/_watched_parcel.html" if "seen" in request.GET else "tracking/watched_parcel.html"
    )
    return render(request, template, context)


def _is_booked_elsewhere(watch: Watch) -> bool:
    """Return whether another account here booked it, as the carrier's texts aren't for this one."""
    order = watch.parcel.order
    return order is not None and order.sender_id != watch.sender_id


@audience(BOOKERS)
@require_POST
def stop_watching(request: MemberRequest, watch: uuid.UUID) -> HttpResponse:
    found = get_object_or_404(_watches_of(request), uuid=watch)
    watching.stop_following(found)
    messages.success(request, f"Stopped watching {found.parcel.reference}.")
    return redirect("watched")


@audience(BOOKERS)
@same_origin
@require_GET
def tracking_page(request: MemberRequest, order: uuid.UUID) -> HttpResponse:
    """Show owners and shippers a fresh signed link (interface §5), which no other page has."""
    mine = Order.objects.for_user(request.user).select_related("sender", "account")
    found = get_object_or_404(mine, uuid=order, status=Status.BOOKED, erased_at=None)
    if found.is_stopped(request.sender):
        return suspended_page(request, status=403)
    context: dict[str, object] = {"order": found}
    try:
        context["link"] = tracking_page_link(found, by=request.user, now=timezone.now())
    except Refused as error:
        context["problem"] = str(error)
    response = render(request, "tracking/tracking_page.html", context)
    # never compressed: docs/decisions/0010
    response["Cache-Control"] = "private, no-store, no-transform"
    response["Referrer-Policy"] = "no-referrer"
    return response


def tracking_page_link(order: Order, *, by: User, now: dt.datetime) -> str:
    """Return a fresh link in the sender's role, never stored and always audited. Raises Refused."""
    if not order.is_booked:
        raise Refused("This page opens only while the parcel is booked.")
    if not gateway.is_reachable(order.account):
        raise Refused(
            "It was booked on another carrier account, so its page can't be opened from here."
            " Contact us."
        )
    try:
        with waiting.at_a_page(by):
            link = gateway.carrier_of(order, is_person=True).tracking_page_link(
                order.carrier_order_id, order.carrier_reference or "", now=now
            )
    except waiting.Full as error:
        raise Refused(f"{error} Your parcel is not affected.") from error
    except LinkOff as error:
        raise Refused("The carrier gives us no link to its own page for this parcel.") from error
    except CarrierError as error:
        raise Refused(
            "The carrier didn't give us the link just now. Your parcel is not affected; open this"
            " page again."
        ) from error
    Audit.write("link shown", order, by=by, sender=order.sender, at=now)
    return link
