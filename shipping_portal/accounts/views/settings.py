"""Settings: one page that shows everything, and one small form for each thing that can be changed."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from shipping_portal.accounts import limits, staff
from shipping_portal.accounts.access import BOOKERS, EVERY_MEMBER, OWNER, MemberRequest, audience
from shipping_portal.accounts.models import Audit, Sender
from shipping_portal.accounts.settings_forms import (
    AppearanceForm,
    BookingForm,
    BusinessForm,
    KeyboardForm,
    LabelsForm,
    OwnLimitsForm,
    ProfileForm,
    SettingsForm,
)


@audience(*EVERY_MEMBER)
@require_GET
def settings_overview(request: MemberRequest) -> HttpResponse:
    sender = request.sender
    addresses = list(sender.pickup_addresses.order_by("-is_default", "pk"))
    context = {
        "address": addresses[0] if addresses else None,
        "more_addresses": len(addresses) - 1,
        "has_second_factor": staff.has_second_factor(request.user),
        "is_owner": request.membership.role == OWNER,
        "default_size": sender.default_size,
        "usage": limits.usage(sender, timezone.now()),
        "members": sender.memberships.select_related("user").order_by("user__email"),
    }
    return render(request, "accounts/settings.html", context)


@audience(*EVERY_MEMBER)
@require_http_methods(["GET", "POST"])
def profile(request: MemberRequest) -> HttpResponse:
    return _panel(request, "profile", "Profile", ProfileForm(request.POST or None, instance=request.user))


@audience(*EVERY_MEMBER)
@require_http_methods(["GET", "POST"])
def appearance(request: MemberRequest) -> HttpResponse:
    form = AppearanceForm(request.POST or None, instance=request.user)
    return _panel(request, "appearance", "Appearance", form)


@audience(*EVERY_MEMBER)
@require_http_methods(["GET", "POST"])
def keyboard(request: MemberRequest) -> HttpResponse:
    form = KeyboardForm(_sent(request), instance=request.user)
    return _panel(request, "keyboard", "Keyboard", form)


@audience(OWNER)
@require_http_methods(["GET", "POST"])
def business(request: MemberRequest) -> HttpResponse:
    return _panel(
        request, "business", "Business", BusinessForm(request.POST or None, instance=request.sender)
    )


@audience(OWNER)
@require_http_methods(["GET", "POST"])
def booking_rules(request: MemberRequest) -> HttpResponse:
    form = BookingForm(request.POST or None, instance=request.sender)
    return _panel(request, "booking_rules", "Booking", form)


@audience(OWNER)
@require_http_methods(["GET", "POST"])
def own_limits(request: MemberRequest) -> HttpResponse:
    """The owner's own limits, beside the operator's: the lower ones hold."""
    usage = limits.usage(request.sender, timezone.now())
    form = OwnLimitsForm(request.POST or None, instance=request.sender)
    return _panel(request, "own_limits", "Limits", form, usage=usage)


@audience(*BOOKERS)
@require_http_methods(["GET", "POST"])
def label_size(request: MemberRequest) -> HttpResponse:
    form = LabelsForm(request.POST or None, instance=request.sender)
    return _panel(request, "label_size", "Labels", form, template="accounts/label_size.html")


@audience(OWNER)
@require_GET
def data(request: MemberRequest) -> HttpResponse:
    """What can be taken away, and how an account is closed: by a person, who is written to."""
    return render(request, "accounts/data.html", {"contact_email": settings.CONTACT_EMAIL})


def _sent(request: MemberRequest) -> Any:
    """The post itself: a form of one tick that is off sends nothing else."""
    return request.POST if request.method == "POST" else None


def _panel(
    request: MemberRequest,
    name: str,
    title: str,
    form: SettingsForm,
    *,
    template: str = "accounts/settings_form.html",
    **more: Any,
) -> HttpResponse:
    """Show one form; a good post is saved, noted where it is the account's, and leads back to Settings."""
    if request.method == "POST" and form.is_valid():
        form.store()
        if isinstance(form.instance, Sender):
            action = f"{title.lower()} settings saved"
            Audit.write(action, request.sender, by=request.user, sender=request.sender, at=timezone.now())
        messages.success(request, f"{title} saved.")
        return redirect("settings")
    context = {"form": form, "name": name, "title": title, **more}
    return render(request, template, context, status=422 if form.errors else 200)
