"""Sizes: boxes with a name, in the sender's own order, one of them the default."""

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from orders.size_form import SizeForm
from orders.sizes import make_default, move
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience
from shipping_portal.accounts.models import ParcelSize

STEPS = {"up": -1, "down": 1}


@audience(*BOOKERS)
@require_GET
def sizes(request: MemberRequest) -> HttpResponse:
    return render(request, "orders/sizes.html")


@audience(*BOOKERS)
@require_http_methods(["GET", "POST"])
def add_size(request: MemberRequest) -> HttpResponse:
    return _form_page(request, SizeForm(request.POST or None, sender=request.sender))


@audience(*BOOKERS)
@require_http_methods(["GET", "POST"])
def edit_size(request: MemberRequest, size: uuid.UUID) -> HttpResponse:
    """Parcels entered with this size keep the measures they were entered with."""
    found = _mine(request, size)
    return _form_page(request, SizeForm(request.POST or None, sender=request.sender, size=found))


@audience(*BOOKERS)
@require_POST
def change_size(request: MemberRequest, size: uuid.UUID) -> HttpResponse:
    """`move` up or down one place, or make it the `default`; leads back to its row."""
    found = _mine(request, size)
    if request.POST.get("move") in STEPS:
        move(found, step=STEPS[request.POST["move"]])
    elif "default" in request.POST:
        make_default(found)
        messages.success(request, f"New parcels begin with {found.name}.")
    return redirect(f"{reverse('sizes')}#size-{found.uuid}")


@audience(*BOOKERS)
@require_POST
def delete_size(request: MemberRequest, size: uuid.UUID) -> HttpResponse:
    found = _mine(request, size)
    found.delete()
    messages.success(request, f"Deleted {found.name}. Parcels entered with it stay as they are.")
    return redirect("sizes")


def _mine(request: MemberRequest, size: uuid.UUID) -> ParcelSize:
    return get_object_or_404(ParcelSize.objects.for_user(request.user), uuid=size)


def _form_page(request: MemberRequest, form: SizeForm) -> HttpResponse:
    if request.method == "POST" and form.is_valid() and form.save():
        messages.success(request, f"Saved {form.size.name}.")
        return redirect("sizes")
    context = {"form": form, "size": form.size}
    return render(request, "orders/size.html", context, status=422 if form.errors else 200)
