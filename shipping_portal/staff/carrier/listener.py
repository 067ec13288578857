"""Show the webhook listener's address (interface §6) and secret, and test it."""

import base64
import json
import secrets
import ssl
import urllib.error
import urllib.request
import uuid
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from orders.calling import carrier_settings, gateway
from orders.calling.carrier_settings import CarrierSettings
from shipping_portal import VERSION
from shipping_portal.accounts.access import require_get_or_post
from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.models import Audit
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.writing import set_path
from tracking.models import WebhookDelivery, WebhookTally

# The scan is always the same: a second test is a duplicate, so testing leaves just one scan.
TEST_EVENT_ID = str(uuid.uuid5(uuid.NAMESPACE_URL, "shipping-portal/webhook-test"))
TEST_SCAN_TIME = "2024-01-01T00:00:00Z"


class NoSecret(Exception):
    """Raised when an account has no webhook secret, so the listener refuses all its deliveries."""


class TestFailed(Exception):
    """Raised when the listener didn't accept the test event. The text says what it answered."""

    __test__ = False  # pytest collects classes with this prefix


def listener_addresses(configured: CarrierSettings, *, shown: bool) -> list[str]:
    """Return the listener's addresses: with credentials before the host, then in the path.

    `shown` includes the secret; otherwise dots replace it, as on every page. Raises NoSecret.
    """
    user, secret = _newest_secret(configured)
    secret = quote(secret, safe="") if shown else "•••"
    place = urlsplit(settings.SITE_URL)
    with_user = place._replace(netloc=f"{user}:{secret}@{place.netloc}", path=reverse("webhook"))
    in_path = place._replace(path=f"{reverse('webhook')}{secret}/")
    return [urlunsplit(with_user), urlunsplit(in_path)]


def rotate_secret(configured: CarrierSettings) -> str:
    """Return a new value for the secrets' setting: a new secret, then the one in use."""
    fresh = f"carrier:{secrets.token_urlsafe(32)}"
    return ",".join([fresh, *configured.webhook_secrets[:1]])


def send_test_event(configured: CarrierSettings, *, authority: str = "") -> str:
    """Post one scan of a nonexistent reference to our listener, as this account's carrier would.

    `authority` is the file of a private authority that signed our own certificate. Returns the
    listener's reply. Raises NoSecret or TestFailed.
    """
    user, secret = _newest_secret(configured)
    body, client = _test_body(configured.contract), configured.client_class
    signature = client.sign_webhook(body, configured.webhook_key)
    signed = {client.signature_header: signature} if signature else {}
    credentials = base64.b64encode(f"{user}:{secret}".encode()).decode()
    request = urllib.request.Request(  # noqa: S310  (our own address, from the settings)
        settings.SITE_URL.rstrip("/") + reverse("webhook"),
        data=body,
        headers={
            "Content-Type": "application/json",
            "Authorization": f"Basic {credentials}",
            "User-Agent": f"ShippingPortal/{VERSION} (listener test)",
            **signed,
        },
    )
    try:
        trusted = ssl.create_default_context(cafile=authority or None)
    except OSError as error:
        # ssl.SSLError is a subclass of this.
        raise TestFailed(f"{authority} can't be read as an authority's certificate.") from error
    try:
        with urllib.request.urlopen(request, timeout=10, context=trusted) as answer:  # noqa: S310
            return f"{answer.status} {answer.read(200).decode(errors='replace')}".strip()
    except urllib.error.HTTPError as error:
        error.close()
        raise TestFailed(f"The listener answered {error.code}.") from error
    except OSError as error:
        raise TestFailed(f"Can't reach the listener at {settings.SITE_URL}: {error}.") from error


def _test_body(contract: Contract) -> bytes:
    """Return a scan in the carrier's own form, with its members where the contract puts them."""
    scan: dict[str, Any] = {}
    set_path(scan, contract.event_id, TEST_EVENT_ID)
    set_path(scan, contract.event_type, "Info")
    set_path(scan, contract.scan_time, TEST_SCAN_TIME)
    set_path(scan, contract.event_description, "Test of the listener by an operator")
    set_path(scan, contract.event_reference, contract.nobodys_reference)
    return json.dumps(scan).encode()


def _newest_secret(configured: CarrierSettings) -> tuple[str, str]:
    for pair in configured.webhook_secrets[:1]:
        user, _, secret = pair.partition(":")
        return user, secret
    raise NoSecret(f"{configured.secrets_setting} is empty. Set it first.")


@require_get_or_post
def page(request: HttpRequest) -> HttpResponse:
    """Show the listener; POST sends a test event. Only the command prints the secret address."""
    if not request.user.has_perm("tracking.view_webhookdelivery"):
        raise PermissionDenied
    if request.method == "POST":
        permissions.require_permission(request.user, "replay")
        _send(request)
        return redirect("admin:listener")
    context = {
        **admin.site.each_context(request),
        "title": "Webhook listener",
        "accounts": [
            (configured, _addresses(configured)) for configured in carrier_settings.all_settings()
        ],
        "may_test": permissions.may(request.user, "replay"),
        "last": (
            WebhookDelivery.objects.filter(polled_for="")
            .order_by("-received_at")
            .defer("body")
            .first()
        ),
        "refused": WebhookTally.objects.filter(day=timezone.now().date()).order_by("reason"),
    }
    return TemplateResponse(request, "admin/listener.html", context)


def _addresses(configured: CarrierSettings) -> list[str]:
    try:
        return listener_addresses(configured, shown=False)
    except NoSecret:
        return []


def _send(request: HttpRequest) -> None:
    """Send a test event as the chosen account's carrier."""
    every = carrier_settings.all_settings()
    configured = next(
        (configured for configured in every if configured.prefix == request.POST.get("account")),
        every[0],
    )
    try:
        answer = f"The listener accepted the test event: {send_test_event(configured)}."
        messages.success(request, answer)
    except (NoSecret, TestFailed) as error:
        answer = str(error)
        messages.error(request, answer)
    Audit.write(
        "listener tested",
        gateway.account_of(configured),
        by=request.user,
        reason=answer,
        at=timezone.now(),
    )
