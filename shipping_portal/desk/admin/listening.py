"""The operator's page about the webhook listener: its address without the secret, what came, and a test of it."""

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from shipping_portal.desk import listener
from tracking.models import WebhookDelivery, WebhookTally


@require_http_methods(["GET", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """GET shows; POST sends one test event. The address with its secret is printed by the command only."""
    right = "change" if request.method == "POST" else "view"
    if not request.user.has_perm(f"tracking.{right}_webhookdelivery"):
        raise PermissionDenied
    if request.method == "POST":
        _send(request)
        return redirect("admin:listener")
    context = {
        **admin.site.each_context(request),
        "title": "Webhook listener",
        "addresses": _addresses(),
        "last": WebhookDelivery.objects.order_by("-received_at").defer("body").first(),
        "refused": WebhookTally.objects.filter(day=timezone.now().date()).order_by("reason"),
    }
    return TemplateResponse(request, "admin/listener.html", context)


def _addresses() -> list[str]:
    try:
        return listener.addresses(shown=False)
    except listener.NoSecret:
        return []


def _send(request: HttpRequest) -> None:
    try:
        said = listener.send_test_event()
    except (listener.NoSecret, listener.TestFailed) as error:
        messages.error(request, str(error))
        return
    messages.success(request, f"The listener took the test event: {said}.")
