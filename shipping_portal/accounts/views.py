"""The pages around logging in: first steps, settings, help and health."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_safe

from shipping_portal.accounts import places, staff
from shipping_portal.accounts.access import BOOKERS, EVERY_MEMBER, OWNER, audience, public
from shipping_portal.accounts.adapter import landing_page
from shipping_portal.accounts.models import Audit, Sender
from shipping_portal.accounts.pickup_form import PickupAddressForm


class LabelSizeForm(forms.ModelForm):
    class Meta:
        model = Sender
        fields = ["label_size"]
        widgets = {"label_size": forms.RadioSelect}


@public
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return redirect(landing_page(request.user) if request.user.is_authenticated else "account_login")


@audience(*BOOKERS)
@require_GET
def start(request: Any) -> HttpResponse:
    """The first steps, each with whether it is done; they can be left and taken up at any time."""
    tasks = {
        "has_address": request.sender.pickup_address() is not None,
        "has_second_factor": staff.has_second_factor(request.user),
    }
    return render(request, "accounts/start.html", tasks)


@audience(*EVERY_MEMBER)
@require_GET
def settings_overview(request: Any) -> HttpResponse:
    context = {
        "address": request.sender.pickup_address(),
        "has_second_factor": staff.has_second_factor(request.user),
        "may_edit_address": request.membership.role == OWNER,
        "members": request.sender.memberships.select_related("user").order_by("user__email"),
    }
    return render(request, "accounts/settings.html", context)


@audience(OWNER)
@require_http_methods(["GET", "POST"])
def pickup_address(request: Any) -> HttpResponse:
    """Where parcels start. Orders already made keep the address they were made with."""
    is_first = request.sender.pickup_address() is None
    form = PickupAddressForm(request.POST or None, sender=request.sender)
    if request.method == "POST" and form.is_valid():
        form.save(by=request.user, at=timezone.now())
        messages.success(request, "Pickup address saved.")
        for sentence in form.long_lines:
            messages.warning(request, sentence)
        return redirect("start" if is_first else "settings")
    return render(request, "accounts/pickup_address.html", {"form": form}, status=422 if form.errors else 200)


@audience(*BOOKERS)
@require_http_methods(["GET", "POST"])
def label_size(request: Any) -> HttpResponse:
    form = LabelSizeForm(request.POST or None, instance=request.sender)
    if request.method == "POST" and form.is_valid():
        Sender.objects.filter(pk=request.sender.pk).update(label_size=form.cleaned_data["label_size"])
        Audit.write(
            "label size chosen", request.sender, by=request.user, sender=request.sender, at=timezone.now()
        )
        messages.success(request, "Label size saved.")
        return redirect("settings")
    return render(request, "accounts/label_size.html", {"form": form}, status=422 if form.errors else 200)


@audience(*EVERY_MEMBER)
@require_GET
def suggest_localities(request: Any) -> HttpResponse:
    """Places that begin with what is being typed, for a combobox."""
    country = request.GET.get("country", request.sender.country).upper()
    found = places.suggest(country, request.GET.get("q", ""))
    return JsonResponse(
        [{"suburb": place.suburb, "state": place.state, "postcode": place.postcode} for place in found],
        safe=False,
    )


@public
@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """200 while the database answers. Says nothing else to strangers."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (OperationalError, InterfaceError):
        return HttpResponse(
            "the database does not answer", status=503, content_type="text/plain; charset=utf-8"
        )
    return HttpResponse("ok", content_type="text/plain; charset=utf-8")


@public
@require_safe
def help_page(request: HttpRequest, page: str) -> HttpResponse:
    return render(request, f"help/{page}.html", {"contact_email": settings.CONTACT_EMAIL})
