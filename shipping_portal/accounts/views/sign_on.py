"""Show the pages of sign-on: going and returning, logout, proving again, break-glass login."""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.account import urls as allauth_account
from allauth.account import views as allauth_views
from allauth.account.internal.flows import login as flow
from allauth.account.internal.flows.reauthentication import did_recently_reauthenticate
from allauth.account.utils import get_next_redirect_url, perform_login
from allauth.core.ratelimit import consume_or_429
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_safe

from shipping_portal.accounts.access import require_get_or_post
from shipping_portal.accounts.login import (
    break_glass,
    entry_links,
    openid,
    proofs,
    security_events,
    signing_on,
)
from shipping_portal.accounts.login.adapter import landing_page
from shipping_portal.accounts.login.issuer_adapter import OneIssuerAdapter

View = Callable[..., HttpResponseBase]


def _when_on(view: View) -> View:
    """Answer 404 without an issuer, and 429 to an address that asks too often."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not openid.is_on():
            raise Http404
        limited: HttpResponse | None = consume_or_429(request, action="login", limit_get=True)
        return limited or view(request, *args, **kwargs)

    return guarded


def _provider(request: HttpRequest) -> openid.OpenId:
    return OneIssuerAdapter(request).get_provider(request, openid.PROVIDER)


@login_not_required
@require_GET
@_when_on
def sign_on(request: HttpRequest) -> HttpResponse:
    """Redirect to the issuer. A link leads here, not a form: CSP would check a form's redirects."""
    if request.user.is_authenticated:
        return redirect(get_next_redirect_url(request) or landing_page(request.user))
    return _begin(request)


@require_GET
@_when_on
def sign_on_again(request: HttpRequest) -> HttpResponse:
    """Let the issuer ask again who the person is, before they change an account."""
    if not proofs.is_signed_on(request):
        raise Http404
    return _begin(request, again=time.time())


def _begin(request: HttpRequest, *, again: float | None = None) -> HttpResponse:
    try:
        return _provider(request).begin(request, get_next_redirect_url(request), again=again)
    except OAuth2Error as error:
        return signing_on.fail(request, error=None, exception=error)


@login_not_required
@require_GET
@_when_on
def callback(request: HttpRequest) -> HttpResponse:
    """Process the issuer's answer."""
    view = OAuth2CallbackView.adapter_view(openid.OpenIdExchange(request))
    try:
        response: HttpResponse = view(request)
    except OAuth2Error as error:
        return signing_on.fail(request, error=None, exception=error)
    return response


@login_not_required
@require_safe
@_when_on
def leaving(request: HttpRequest) -> HttpResponse:
    """Go on to the issuer's own logout, once the person is logged out here."""
    try:
        address = openid.logout_address()
    except openid.IssuerAway:
        address = ""
    if not address:
        return redirect(reverse("sign_on_ended") + "?here=1")
    return render(request, "account/sign_on_leaving.html", {"address": address})


@login_not_required
@require_safe
def ended(request: HttpRequest) -> HttpResponse:
    """Say that the person is logged out, or only `here` if the issuer has no logout."""
    return render(request, "account/sign_on_ended.html", {"only_here": "here" in request.GET})


# -- allauth's own pages, where the issuer replaces them -----------------------------------------


@login_not_required
def log_in(request: HttpRequest) -> HttpResponseBase:
    """Show allauth's login or, without local passwords, only the way to the issuer."""
    if settings.LOCAL_PASSWORDS:
        return allauth_views.login(request)
    if request.user.is_authenticated:
        return redirect(landing_page(request.user))
    address = openid.page_address("sign_on", get_next_redirect_url(request))
    status = 200 if request.method in {"GET", "HEAD"} else 403
    return render(request, "account/sign_on.html", {"address": address}, status=status)


def prove_again(request: HttpRequest) -> HttpResponseBase:
    """Let the issuer ask again if it logged the person in; otherwise ask for a password."""
    if not proofs.is_signed_on(request):
        if settings.LOCAL_PASSWORDS or did_recently_reauthenticate(request):
            return allauth_views.reauthenticate(request)
        return render(request, "account/sign_on_again.html", status=403)
    address = openid.page_address("sign_on_again", get_next_redirect_url(request))
    return render(request, "account/sign_on_again.html", {"address": address})


def _with_local_passwords(view: View) -> View:
    """Answer 404 where passwords aren't used."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not settings.LOCAL_PASSWORDS:
            raise Http404
        return view(request, *args, **kwargs)

    return guarded


REPLACED: dict[str, View] = {"account_login": log_in, "account_reauthenticate": prove_again}
OF_PASSWORDS = {
    *("account_change_password", "account_set_password", "account_reset_password"),
    *("account_reset_password_done", "account_reset_password_from_key"),
    "account_reset_password_from_key_done",
}


def _as_ours(entry: URLPattern) -> URLPattern:
    view = REPLACED.get(str(entry.name), entry.callback)
    if entry.name in OF_PASSWORDS:
        view = _with_local_passwords(view)
    return URLPattern(entry.pattern, view, entry.default_args, entry.name)


# -- The login of a superuser while the issuer is away -------------------------------------------


@login_not_required
@require_get_or_post
def break_the_glass(request: HttpRequest, token: str) -> HttpResponse:
    """Log in a superuser by a link from `manage.py break_glass`, once they press the button."""
    limited: HttpResponse | None = consume_or_429(request, action="login", limit_get=True)
    person = break_glass.find_superuser(token)
    if limited or person is None:
        return limited or render(request, "account/break_glass.html", status=410)
    if request.method == "GET":
        return render(request, "account/break_glass.html", {"person": person})
    security_events.record_event("break-glass login", request, user=person)
    flow.record_authentication(request, person, "break glass", reauthenticated=True)
    return perform_login(request, person)


# -- Handed over from the partner's pages ---------------------------------------------------------


@login_not_required
@require_GET
def enter(request: HttpRequest, token: str) -> HttpResponse:
    """Log in the person of an entry link, once, and redirect to its page.

    The redirect keeps the address out of the browser's history, and its header out of referrers.
    """
    limited: HttpResponse | None = consume_or_429(request, action="login", limit_get=True)
    response = limited or _enter(request, token)
    response["Referrer-Policy"] = "strict-origin"
    return response


def _enter(request: HttpRequest, token: str) -> HttpResponse:
    now = timezone.now()
    link = entry_links.find_link(token, now=now) if _is_navigation(request) else None
    if link is None:
        return render(request, "account/entry_link.html", status=410)
    if request.user.is_authenticated and request.user.pk != link.user_id:
        return render(request, "account/entry_link.html", {"is_other": True}, status=409)
    if not entry_links.use_link(link, now=now):
        return render(request, "account/entry_link.html", status=410)
    security_events.record_event(
        "entry link used", request, user=link.user, detail=link.get_purpose_display()
    )
    if request.user.is_authenticated:
        return redirect(link.path)
    return perform_login(request, link.user, redirect_url=link.path)


def _is_navigation(request: HttpRequest) -> bool:
    """Return whether a person is navigating: not a frame, image, script or prefetch."""
    headers = request.headers
    return (
        headers.get("Sec-Fetch-Mode", "navigate") == "navigate"
        and headers.get("Sec-Fetch-Dest", "document") == "document"
        and "prefetch" not in headers.get("Sec-Purpose", "")
    )


urlpatterns = [
    path("enter/<str:token>/", enter, name="enter"),
    path("sso/login/", sign_on, name="sign_on"),
    path("sso/again/", sign_on_again, name="sign_on_again"),
    path("sso/callback/", callback, name="sign_on_callback"),
    path("sso/leaving/", leaving, name="sign_on_leaving"),
    path("sso/logged-out/", ended, name="sign_on_ended"),
    path("break-glass/<str:token>/", break_the_glass, name="break_glass"),
    *map(_as_ours, allauth_account.urlpatterns),
]
