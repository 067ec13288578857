"""Settings, webhooks: endpoints, their secrets (shown once), and the log of what was sent."""

from typing import Any

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from shipping_portal.accounts.access import (
    OWNERS,
    MemberRequest,
    audience,
    require_get_or_post,
)
from shipping_portal.accounts.login.shown_once import show_once, take_secret
from shipping_portal.accounts.models import WebhookEndpoint
from shipping_portal.accounts.webhooks import endpoints, switching
from shipping_portal.accounts.webhooks.forms import EndpointForm, SinceForm
from shipping_portal.db.keyset import Keyset, whole_number
from shipping_portal.http.forms import refusals_at, render_form
from shipping_portal.refused import Refused

NEWEST = Keyset(is_descending=True)
DONE = {
    "pause": "Paused. Events wait until you resume it.",
    "resume": "Resumed. What has waited is sent now.",
    "test": "A test event is on its way.",
    "again": "It is sent again.",
    "remove": "Removed, with its secret and its log.",
}
NOTHING = "There is nothing to send again since then."
WAITS = "It waits until you resume the endpoint."


@audience(OWNERS)
@require_get_or_post
@reauthentication_required(allow_get=True)
def webhooks(request: MemberRequest) -> HttpResponse:
    """Show a business's endpoints. A POST adds one."""
    form, now = EndpointForm(request.POST or None), timezone.now()
    if form.is_valid():
        with refusals_at(form):
            _, secret = endpoints.add_endpoint(
                request.sender, **form.cleaned_data, by=request.user, now=now
            )
            return show_once(request, secret, "webhooks")
    own = WebhookEndpoint.objects.for_user(request.user).order_by("pk")
    rows = [(endpoint, endpoint.state(now)) for endpoint in own]
    context = {"form": form, "rows": rows, "secret": take_secret(request)}
    return render_form(request, "accounts/webhooks.html", context)


@audience(OWNERS)
@require_get_or_post
def webhook_endpoint(request: MemberRequest, endpoint: int) -> HttpResponse:
    """Show one endpoint with its log. A POST sends everything since a given time again."""
    found = _endpoint_of(request, endpoint)
    form = SinceForm(request.POST or None, sender=request.sender)
    if form.is_valid():
        since = form.cleaned_data["since"]
        count = endpoints.repeat(found, now=timezone.now(), happened_at__gte=since)
        when = " when you resume the endpoint" if found.paused_at else ""
        messages.success(request, f"Sent again{when}: {count}." if count else NOTHING)
        return redirect("webhook_endpoint", found.pk)
    return _page(request, found, form=form)


@audience(OWNERS)
@require_POST
@reauthentication_required
def rotate_webhook(request: MemberRequest, endpoint: int) -> HttpResponse:
    """Give an endpoint a new secret, which its page shows once."""
    found, known = _endpoint_of(request, endpoint), request.POST.get("known")
    try:
        secret = endpoints.rotate(found, by=request.user, now=timezone.now(), known=known)
    except Refused as refusal:
        messages.warning(request, str(refusal))
        return redirect("webhook_endpoint", found.pk)
    return show_once(request, secret, "webhook_endpoint", found.pk)


@audience(OWNERS)
@require_POST
@reauthentication_required
def change_webhook(request: MemberRequest, endpoint: int) -> HttpResponse:
    """Pause, resume or remove an endpoint, send a test, or repeat an event, as the button says."""
    found, now = _endpoint_of(request, endpoint), timezone.now()
    pressed = next((name for name in DONE if name in request.POST), "")
    match pressed:
        case "pause":
            switching.pause_endpoint(found, by=request.user, now=now)
        case "resume":
            switching.resume_endpoint(found, by=request.user, now=now)
        case "test":
            endpoints.send_test(found, now=now)
        case "again":
            endpoints.repeat(found, now=now, pk=_number(request.POST["again"]))
        case "remove":
            endpoints.remove_endpoint(found, by=request.user, now=now)
    if pressed:
        waits = pressed in {"test", "again"} and found.paused_at
        messages.success(request, WAITS if waits else DONE[pressed])
    return redirect("webhooks") if pressed == "remove" else redirect("webhook_endpoint", found.pk)


def _number(text: str) -> int:
    try:
        return whole_number(text)
    except ValueError:
        return 0


def _endpoint_of(request: MemberRequest, endpoint: int) -> WebhookEndpoint:
    own = WebhookEndpoint.objects.for_user(request.user).select_related("sender")
    return get_object_or_404(own, pk=endpoint)


def _page(request: MemberRequest, endpoint: WebhookEndpoint, **more: Any) -> HttpResponse:
    now = timezone.now()
    page = NEWEST.page(
        endpoint.events.all(),
        on=request.GET.get("before", ""),
        back=request.GET.get("after", ""),
    )
    rotating = endpoint.old_secret_ends_at
    context = {
        "endpoint": endpoint,
        "state": endpoint.state(now),
        "kinds": endpoint.kinds,
        "old_secret_ends_at": rotating if rotating and rotating > now else None,
        "page": page,
        "secret": take_secret(request),
        **more,
    }
    return render_form(request, "accounts/webhook_endpoint.html", context)
