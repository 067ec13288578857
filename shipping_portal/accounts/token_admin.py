"""Make a partner's token: a page of the admin that shows it once."""

from typing import Any

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from shipping_portal.accounts import api_tokens
from shipping_portal.accounts.adminkit.facts import Context
from shipping_portal.accounts.login.shown_once import show_once, take_secret
from shipping_portal.accounts.token_forms import PartnerTokenForm


def new_token_page(request: Any, context: Context) -> HttpResponse:
    """Ask what the token is for and why. A POST makes it and shows it this once."""
    form = PartnerTokenForm(request.POST or None)
    if form.is_valid():
        _, text = api_tokens.make_token(**form.cleaned_data, by=request.user, now=timezone.now())
        return show_once(request, text, request.path)
    shown = {**context, "title": "New partner token", "form": form, "token": take_secret(request)}
    return TemplateResponse(
        request, "admin/new_token.html", shown, status=422 if form.errors else 200
    )
