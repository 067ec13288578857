"""Give a return's label to the person who sends it back, and let its sender make that link."""

import logging
import uuid
from http import HTTPStatus

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from orders.labels import return_links
from orders.models import Label, LabelBytes, Order, ReturnLink
from shipping_portal.accounts.access import (
    BOOKERS,
    MemberRequest,
    audience,
    public,
    require_get_or_post,
    same_origin,
)
from shipping_portal.accounts.login.shown_once import show_once, take_secret
from shipping_portal.db.bucket import OutOfReach
from shipping_portal.refused import Refused
from tracking.receiver_views import HEADERS, POLICY, guarded, render_without_request

log = logging.getLogger(__name__)
GUESSES = "return label"  # its name in the throttle
NOTHING = "tracking/return_label_nothing.html"
WITH_BUTTON = POLICY | {"form-action": ["'self'"]}


@public
@csrf_exempt  # It has no session: the link is all that's needed.
@require_http_methods(["GET", "HEAD", "POST"])
def return_label(request: HttpRequest, token: str) -> HttpResponse:
    """Show one button, which returns the label once. Opening the page doesn't use up the link."""
    return guarded(
        request,
        GUESSES,
        lambda: return_links.find_return_link(token, timezone.now()),
        _take if request.method == "POST" else _show,
        nothing=NOTHING,
    )


def _show(link: ReturnLink) -> HttpResponse:
    facts = {"order": link.order, "sender": link.order.sender, "link": link}
    return render_without_request("tracking/return_label.html", facts=facts, policy=WITH_BUTTON)


def _take(link: ReturnLink) -> HttpResponse:
    """Send the carrier's bytes, and use up the link."""
    try:
        content = return_links.use_return_link(link, timezone.now())
    except (LabelBytes.DoesNotExist, OutOfReach, Label.Damaged) as error:
        log.error("the label of return %s can't be read: %s", link.order_id, type(error).__name__)
        return render_without_request(
            "tracking/return_label_later.html", HTTPStatus.SERVICE_UNAVAILABLE
        )
    if content is None:
        return render_without_request(NOTHING, HTTPStatus.NOT_FOUND)
    headers = HEADERS | {
        "Content-Disposition": f'attachment; filename="return-{link.order.carrier_reference}.pdf"',
        "Content-Security-Policy": "default-src 'none'",
    }
    return HttpResponse(content, content_type="application/pdf", headers=headers)


@audience(BOOKERS)
@same_origin
@require_get_or_post
def return_link(request: MemberRequest, order: uuid.UUID) -> HttpResponse:
    """Make the link to a return's label, or withdraw it. A link is shown only once."""
    found = get_object_or_404(
        Order.objects.for_user(request.user).select_related("sender"), uuid=order
    )
    now = timezone.now()
    if request.method == "POST" and request.POST.get("need") == "withdraw":
        return_links.withdraw_link(found, by=request.user, now=now)
        messages.success(request, "Withdrawn. The link opens nothing any more.")
        return redirect("return_link", found.uuid)
    if request.method == "POST":
        try:
            made = return_links.make_return_link(found, by=request.user, now=now)
        except Refused as error:
            messages.error(request, str(error))
            return redirect("return_link", found.uuid)
        return show_once(request, made, "return_link", found.uuid)
    context = {
        "order": found,
        "made": take_secret(request),
        "link": ReturnLink.objects.filter(order=found).first(),
        "now": now,
        "why_not": return_links.why_no_link(found),
        "days": return_links.LASTS.days,
    }
    response = render(request, "tracking/return_link.html", context)
    # never compressed: docs/decisions/0010
    response["Cache-Control"] = "private, no-store, no-transform"
    response["Referrer-Policy"] = "same-origin"
    return response
