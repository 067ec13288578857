"""The operator's page about the webhook listener: its address without the secret, what came, and a test of it."""

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from orders import carrier_settings, gateway
from orders.carrier_settings import CarrierSettings
from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.models import Audit
from shipping_portal.staff import listener
from tracking.models import WebhookDelivery, WebhookTally


@require_http_methods(["GET", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """GET shows; POST sends one test event. The address with its secret is printed by the command only."""
    if not request.user.has_perm("tracking.view_webhookdelivery"):
        raise PermissionDenied
    if request.method == "POST":
        permissions.demand(request.user, "replay")
        _send(request)
        return redirect("admin:listener")
    context = {
        **admin.site.each_context(request),
        "title": "Webhook listener",
        "accounts": [(told, _addresses(told)) for told in carrier_settings.every()],
        "may_test": permissions.may(request.user, "replay"),
        "last": WebhookDelivery.objects.order_by("-received_at").defer("body").first(),
        "refused": WebhookTally.objects.filter(day=timezone.now().date()).order_by("reason"),
    }
    return TemplateResponse(request, "admin/listener.html", context)


def _addresses(told: CarrierSettings) -> list[str]:
    try:
        return listener.addresses(told, shown=False)
    except listener.NoSecret:
        return []


def _send(request: HttpRequest) -> None:
    """As the carrier of the account on whose button it was pressed."""
    every = carrier_settings.every()
    told = next((told for told in every if told.prefix == request.POST.get("account")), every[0])
    try:
        said = f"The listener took the test event: {listener.send_test_event(told)}."
        messages.success(request, said)
    except (listener.NoSecret, listener.TestFailed) as error:
        said = str(error)
        messages.error(request, said)
    Audit.write("listener tested", gateway.account_of(told), by=request.user, reason=said, at=timezone.now())
