"""Which news one gets by e-mail; and the link in each that turns its kinds off."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from shipping_portal.accounts import mailing, notices
from shipping_portal.accounts.access import BOOKERS, SEE_MONEY, MemberRequest, audience, public
from shipping_portal.accounts.models import User


@audience(*BOOKERS, *SEE_MONEY)
@require_http_methods(["GET", "POST"])
def notifications(request: MemberRequest) -> HttpResponse:
    kinds = notices.kinds_for(request.membership.role)
    if request.method == "POST":
        for kind in kinds:
            if request.POST.get(kind) in kinds[kind].choices:
                notices.choose(request.user, kind, request.POST[kind], now=timezone.now())
        messages.success(request, "Saved.")
        return redirect("notifications")
    chosen = notices.choices_of(request.user)
    rows = [(name, kind, chosen[name]) for name, kind in kinds.items()]
    return render(request, "accounts/notifications.html", {"rows": rows})


@public
@csrf_exempt  # a mail program presses it for the person, and has only the link
@require_http_methods(["GET", "POST"])
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """GET shows a button, as mail scanners follow links; POST turns the kinds of that mail off."""
    found = mailing.read_token(token)
    user: Any = User.objects.filter(pk=found[0]).first() if found else None
    if found is None or user is None:
        raise Http404
    if request.method == "POST":
        for kind in found[1]:
            notices.choose(user, kind, notices.When.OFF, now=timezone.now())
    context = {"kinds": [notices.KINDS[kind] for kind in found[1]], "is_done": request.method == "POST"}
    return render(request, "accounts/unsubscribe.html", context)
