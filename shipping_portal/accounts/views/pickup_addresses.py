"""Manage pickup addresses: one or several, one of them the default."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from shipping_portal.accounts.access import (
    OWNERS,
    MemberRequest,
    audience,
    require_get_or_post,
)
from shipping_portal.accounts.address import pickup_form
from shipping_portal.accounts.address.addresses import same_name
from shipping_portal.accounts.address.pickup_form import PickupAddressForm
from shipping_portal.accounts.models import PickupAddress
from shipping_portal.http.forms import render_form
from shipping_portal.refused import Refused


@audience(OWNERS)
@require_get_or_post
def pickup_address(request: MemberRequest) -> HttpResponse:
    """Show the default address, or a form for the first one. Existing orders keep their address."""
    address = request.sender.pickup_address()
    return _form_page(request, address, then="settings" if address else "start")


@audience(OWNERS)
@require_GET
def addresses(request: MemberRequest) -> HttpResponse:
    rows = request.sender.pickup_addresses.order_by("-is_default", "pk")
    return render(request, "accounts/pickup_addresses.html", {"addresses": rows})


@audience(OWNERS)
@require_get_or_post
def add_address(request: MemberRequest) -> HttpResponse:
    return _form_page(request, None, then="pickup_addresses")


@audience(OWNERS)
@require_get_or_post
def edit_address(request: MemberRequest, address: int) -> HttpResponse:
    return _form_page(request, _address_of(request, address), then="pickup_addresses")


@audience(OWNERS)
@require_POST
def change_address(request: MemberRequest, address: int) -> HttpResponse:
    """Make an address the `default`, or `delete` it; never the last one."""
    found, now = _address_of(request, address), timezone.now()
    try:
        if "default" in request.POST:
            pickup_form.make_default(found, by=request.user, at=now)
            messages.success(request, f"New parcels are picked up from {found}.")
        elif "delete" in request.POST:
            pickup_form.delete_address(found, by=request.user, at=now)
            messages.success(request, f"Deleted {found}. Parcels already booked keep it.")
    except Refused as error:
        messages.error(request, str(error))
    return redirect("pickup_addresses")


def _address_of(request: MemberRequest, address: int) -> PickupAddress:
    return get_object_or_404(PickupAddress, pk=address, sender=request.sender)


def _first_guess(request: MemberRequest) -> dict[str, str]:
    """Suggest the user as the contact of a new address, unless the business has the same name."""
    name = request.user.name
    return {"name": name} | ({"company": ""} if same_name(name, request.sender.name) else {})


def _form_page(request: MemberRequest, address: PickupAddress | None, *, then: str) -> HttpResponse:
    initial = {} if address else _first_guess(request)
    form = PickupAddressForm(
        request.POST or None, sender=request.sender, address=address, initial=initial
    )
    if form.is_valid():
        form.save(by=request.user, at=timezone.now())
        messages.success(request, "Pickup address saved.")
        for sentence in form.long_lines:
            messages.warning(request, sentence)
        return redirect(then)
    context = {"form": form, "address": address, "is_only": then != "pickup_addresses"}
    return render_form(request, "accounts/pickup_address.html", context)
