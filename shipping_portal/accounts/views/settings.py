"""Show settings: an overview, one small form per setting, usage, and email opt-outs by link."""

from copy import copy
from typing import Any

from allauth.account.decorators import reauthentication_required
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET

from shipping_portal.accounts import access
from shipping_portal.accounts.access import (
    BOOKERS,
    EVERY_MEMBER,
    OWNERS,
    SEE_MONEY,
    MemberRequest,
    audience,
    public,
    require_get_or_post,
)
from shipping_portal.accounts.login import sessions
from shipping_portal.accounts.mail import mailing, outbox
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.accounts.settings_forms import (
    AppearanceForm,
    BookingForm,
    BusinessForm,
    CloseForm,
    KeyboardForm,
    LabelsForm,
    OwnLimitsForm,
    ProfileForm,
    SettingsForm,
    carrier_names,
)
from shipping_portal.accounts.teams import closing
from shipping_portal.http.forms import posted_data, refusals_at, render_form


@audience(EVERY_MEMBER)
@require_GET
def settings_overview(request: MemberRequest) -> HttpResponse:
    sender = request.sender
    addresses = list(sender.pickup_addresses.order_by("-is_default", "pk"))
    context = {
        "address": addresses[0] if addresses else None,
        "more_addresses": len(addresses) - 1,
        "has_second_factor": access.has_second_factor(request.user),
        "default_size": sender.default_size,
        "carriers": carrier_names(),
        "members": sender.memberships.select_related("user").order_by("user__email"),
    }
    return render(request, "accounts/settings.html", context)


@audience(EVERY_MEMBER)
@require_get_or_post
def profile(request: MemberRequest) -> HttpResponse:
    return _settings_panel(request, "profile", "Profile", ProfileForm, request.user)


@audience(EVERY_MEMBER)
@require_get_or_post
def appearance(request: MemberRequest) -> HttpResponse:
    return _settings_panel(request, "appearance", "Appearance", AppearanceForm, request.user)


@audience(EVERY_MEMBER)
@require_get_or_post
def keyboard(request: MemberRequest) -> HttpResponse:
    return _settings_panel(request, "keyboard", "Keyboard", KeyboardForm, request.user)


@audience(OWNERS)
@require_get_or_post
def business(request: MemberRequest) -> HttpResponse:
    return _settings_panel(request, "business", "Business", BusinessForm, request.sender)


@audience(OWNERS)
@require_get_or_post
def booking_rules(request: MemberRequest) -> HttpResponse:
    return _settings_panel(request, "booking_rules", "Booking", BookingForm, request.sender)


@audience(OWNERS)
@require_get_or_post
@reauthentication_required(allow_get=True)
def own_limits(request: MemberRequest) -> HttpResponse:
    """Show the owner's own limits next to the operator's. The lower ones apply."""
    # A copy, because the page shows the stored values next to the form.
    return _settings_panel(request, "own_limits", "Limits", OwnLimitsForm, copy(request.sender))


@audience(BOOKERS)
@require_get_or_post
def label_size(request: MemberRequest) -> HttpResponse:
    return _settings_panel(
        request,
        "label_size",
        "Labels",
        LabelsForm,
        request.sender,
        template="accounts/label_size.html",
    )


@audience(OWNERS)
@require_GET
def data(request: MemberRequest) -> HttpResponse:
    """Show what can be exported, and how to close the account."""
    return render(request, "accounts/data.html")


@audience(OWNERS)
@reauthentication_required
@require_get_or_post
def close_account(request: MemberRequest) -> HttpResponse:
    """Close the account once its owner has given the password again and typed its number."""
    form = CloseForm(request.POST or None, sender=request.sender)
    if form.is_valid():
        with refusals_at(form):
            closing.close_account(request.sender, by=request.user, now=timezone.now())
            return redirect("close_account")
    why_not = [] if request.sender.closed_at else closing.closing_obstacles(request.sender)
    context = {"form": form, "why_not": why_not, "days": settings.CLOSED_ACCOUNT_DAYS}
    return render_form(request, "accounts/close.html", context)


def _settings_panel(
    request: MemberRequest,
    name: str,
    title: str,
    form_class: type[SettingsForm],
    instance: User | Sender,
    *,
    template: str = "accounts/settings_form.html",
) -> HttpResponse:
    """Show one form.

    A valid POST is saved, audited if it concerns the account, and redirected to Settings.
    """
    form = form_class(posted_data(request), instance=instance)
    if form.is_valid():
        form.store()
        if isinstance(instance, Sender):
            action = f"{title.lower()} settings saved"
            Audit.write(
                action, request.sender, by=request.user, sender=request.sender, at=timezone.now()
            )
        messages.success(request, f"{title} saved.")
        return redirect("settings")
    return render_form(request, template, {"form": form, "name": name, "title": title})


@audience(EVERY_MEMBER)
@require_get_or_post
def security(request: MemberRequest) -> HttpResponse:
    """Show the user's sessions. `end` ends one; `end_others` ends all but this one."""
    this_key = request.session.session_key
    if request.method == "POST":
        if "end_others" in request.POST:
            ended = sessions.end_others(request.user, this_key=this_key)
        else:
            ended = sessions.end_session(
                request.user, request.POST.get("end", ""), this_key=this_key
            )
        messages.success(request, f"Logged out of {ended} {'place' if ended == 1 else 'places'}.")
        return redirect("security")
    places = sessions.live_sessions(request.user, this_key=this_key)
    context = {"places": places, "has_second_factor": access.has_second_factor(request.user)}
    return render(request, "accounts/security.html", context)


@audience(BOOKERS | SEE_MONEY)
@require_get_or_post
def notifications(request: MemberRequest) -> HttpResponse:
    kinds = outbox.kinds_for(request.membership.role)
    sent = {name: request.POST[name] for name in kinds if name in request.POST}
    wrong = [name for name, when in sent.items() if when not in kinds[name].choices]
    if sent and not wrong:
        for name, when in sent.items():
            outbox.choose_when(request.user, name, when, now=timezone.now())
        messages.success(request, "Saved.")
        return redirect("notifications")
    if request.method == "POST":
        messages.error(request, "Nothing was saved. Choose one of the times shown, then save.")
    chosen = outbox.choices_of(request.user) | sent
    rows = [
        (name, kind, chosen[name], [(when, when in kind.choices) for when in outbox.When])
        for name, kind in kinds.items()
    ]
    context = {"rows": rows, "whens": list(outbox.When), "wrong": wrong}
    status = 422 if request.method == "POST" else 200
    return render(request, "accounts/notifications.html", context, status=status)


@public
@csrf_exempt  # A mail program posts this for the person, and has only the link.
@require_get_or_post
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """Show a button, because mail scanners follow links; POST turns off that email's kinds."""
    found = mailing.read_token(token)
    user: Any = User.objects.filter(pk=found[0]).first() if found else None
    if found is None or user is None:
        raise Http404
    if request.method == "POST":
        for kind in found[1]:
            outbox.choose_when(user, kind, outbox.When.OFF, now=timezone.now())
    context = {
        "kinds": [outbox.KINDS[kind] for kind in found[1]],
        "is_done": request.method == "POST",
    }
    return render(request, "accounts/unsubscribe.html", context)
