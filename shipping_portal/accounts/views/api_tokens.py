"""Settings, API tokens: make a token, which is shown once, or revoke one."""

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from shipping_portal.accounts.access import (
    EVERY_MEMBER,
    OWNER,
    MemberRequest,
    audience,
    require_get_or_post,
)
from shipping_portal.accounts.api_tokens import make_token, revoke_token
from shipping_portal.accounts.login.shown_once import show_once, take_secret
from shipping_portal.accounts.models import ApiToken
from shipping_portal.accounts.token_forms import TokenForm
from shipping_portal.http.forms import refusals_at, render_form


@audience(EVERY_MEMBER)
@require_get_or_post
@reauthentication_required(allow_get=True)
def api_tokens(request: MemberRequest) -> HttpResponse:
    """Show members their own tokens, and owners everybody's. A POST makes one for yourself."""
    form = TokenForm(request.POST or None, role=request.membership.role)
    if form.is_valid():
        with refusals_at(form):
            _, text = make_token(
                **form.cleaned_data,
                by=request.user,
                member=request.membership,
                now=timezone.now(),
            )
            return show_once(request, text, "api_tokens")
    now = timezone.now()
    rows = [(token, token.why_ended(now)) for token in _tokens_seen_by(request)]
    context = {"form": form, "rows": rows, "token": take_secret(request)}
    return render_form(request, "accounts/api_tokens.html", context)


@audience(EVERY_MEMBER)
@require_POST
@reauthentication_required
def change_token(request: MemberRequest, token: int) -> HttpResponse:
    """Revoke a token."""
    found = get_object_or_404(_tokens_seen_by(request), pk=token)
    revoke_token(found, by=request.user, now=timezone.now())
    messages.success(request, f"{found.name} is revoked. Programs that use it are refused now.")
    return redirect("api_tokens")


def _tokens_seen_by(request: MemberRequest) -> QuerySet[ApiToken]:
    tokens = ApiToken.objects.for_user(request.user).select_related("user").order_by("-pk")
    return tokens if request.membership.role == OWNER else tokens.filter(user=request.user)
