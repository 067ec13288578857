"""Show a parcel to its receiver, and let its sender share that page or stop."""

import re
import uuid
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from allauth.account.adapter import get_adapter
from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_safe

from orders.models import Order
from shipping_portal.accounts.access import (
    BOOKERS,
    MemberRequest,
    audience,
    public,
    require_get_or_post,
    same_origin,
)
from shipping_portal.accounts.address.addresses import OnceOnly
from shipping_portal.accounts.login import guesses
from shipping_portal.refused import Refused
from tracking import receiver_pages, receiver_words

GUESSES = "receiver's page"  # its name in the throttle
HEADERS = {
    "Cache-Control": "private, no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}
NOTHING = ("default-src", "form-action", "base-uri", "frame-ancestors")
POLICY = {
    **{name: ["'none'"] for name in NOTHING},
    "style-src": ["'self'"],
    "img-src": ["'self'"],
    "report-uri": "/csp-reports/",
}
PHONE = re.compile(r"\+?\(?[0-9][0-9 ()-]{4,28}")


@public
@require_safe
def follow(request: HttpRequest, token: str) -> HttpResponse:
    """Show where a parcel is, to anybody who has the address. It has no session."""
    now = timezone.now()
    return guarded(
        request,
        GUESSES,
        lambda: receiver_pages.find_page(token, now),
        lambda page: render_without_request(
            "tracking/follow.html", facts=receiver_words.page_facts(page, now)
        ),
        nothing="tracking/follow_nothing.html",
    )


def guarded(
    request: HttpRequest,
    kind: str,
    find: Callable[[], Any],
    show: Callable[[Any], HttpResponse],
    nothing: str,
) -> HttpResponse:
    """Show what a link leads to, or the page `nothing`. Limit the number of guesses."""
    if not settings.RECEIVER_PAGES:
        raise Http404
    address = get_adapter().get_client_ip(request)
    if not guesses.may_guess(kind, address):
        return render_without_request(
            "tracking/follow_later.html", HTTPStatus.TOO_MANY_REQUESTS, retry_after="60"
        )
    found = find()
    if found is None:
        guesses.count_guess(kind, address)
        return render_without_request(nothing, HTTPStatus.NOT_FOUND)
    return show(found)


def render_without_request(
    template: str,
    status: int = HTTPStatus.OK,
    *,
    retry_after: str = "",
    facts: dict[str, Any] | None = None,
    policy: dict[str, Any] = POLICY,
) -> HttpResponse:
    """Return a page that is rendered without the request."""
    more = {"Retry-After": retry_after} if retry_after else {}
    content = render_to_string(template, facts)
    response = HttpResponse(content, status=status, headers=HEADERS | more)
    response._csp_config = policy  # type: ignore[attr-defined]  # as its own decorator does
    return response


class ShareForm(OnceOnly):
    contact = forms.CharField(
        label="Contact for the receiver",
        max_length=254,
        required=False,
        help_text="Your public email or phone number. Everybody who has the link can read it.",
    )

    def clean_contact(self) -> str:
        return clean_contact(self.cleaned_data["contact"])


def clean_contact(text: str) -> str:
    """Return an email or a phone number. Raises ValidationError for anything else."""
    stated = text.strip()
    try:
        if stated and not PHONE.fullmatch(stated):
            validate_email(stated)
    except ValidationError as error:
        raise ValidationError("Enter an email or a phone number.") from error
    return stated


@audience(BOOKERS)
@same_origin
@require_get_or_post
def receiver_page(request: MemberRequest, order: uuid.UUID) -> HttpResponse:
    """Share a parcel with its receiver, show the address, or stop."""
    mine = Order.objects.for_user(request.user).select_related("sender")
    found, now = get_object_or_404(mine, uuid=order), timezone.now()
    if not settings.RECEIVER_PAGES:
        raise Http404
    form = ShareForm(request.POST if request.POST.get("need") == "share" else None)
    if request.method == "POST":
        answer = _act(request, found, form)
        if answer:
            return answer
    page = receiver_pages.open_page_of(found, now)
    form.initial["contact"] = page.contact if page else receiver_pages.last_contact(request.sender)
    context = {
        "order": found,
        "form": form,
        "page": page,
        "link": receiver_pages.link_of(page) if page else "",
        "why_not": receiver_pages.why_not_shared(found),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    response = render(request, "tracking/receiver_page.html", context, status=status)
    # never compressed: docs/decisions/0010
    response["Cache-Control"] = "private, no-store, no-transform"
    response["Referrer-Policy"] = "same-origin"
    return response


def _act(request: MemberRequest, order: Order, form: ShareForm) -> HttpResponse | None:
    """Share or stop, and return the redirect back, or None if the input is invalid."""
    now = timezone.now()
    if request.POST.get("need") == "stop":
        receiver_pages.stop_sharing(order, by=request.user, now=now)
        messages.success(request, "Stopped. The link opens nothing any more.")
    elif form.is_valid():
        stated = form.cleaned_data["contact"]
        try:
            receiver_pages.share_page(order, by=request.user, now=now, contact=stated)
        except Refused as error:
            messages.error(request, str(error))
    else:
        return None
    return redirect("receiver_page", order.uuid)
