"""Manage sizes: named boxes in the sender's own order, one of them the default."""

import uuid
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from orders.drafting.form_fields import measure_fields
from orders.drafting.forms import SIZES, UNITS
from orders.drafting.receiver_form import line
from orders.drafting.sizes import append_size, make_default, move_size
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience, require_get_or_post
from shipping_portal.accounts.address.addresses import OnceOnly
from shipping_portal.accounts.formatting import plain
from shipping_portal.accounts.models import ParcelSize, Sender
from shipping_portal.http.forms import render_form
from shipping_portal.refused import Refused


class SizeForm(OnceOnly):
    name = line("Name", longest=60, needed="Name the size, such as “Mug box”.")
    description = line(
        "What's usually inside", help_text="Filled in for you; you can change it each time."
    )

    def __init__(
        self, *args: Any, sender: Sender, size: ParcelSize | None = None, **options: Any
    ) -> None:
        self.sender, self.size = sender, size or ParcelSize(sender=sender)
        options["initial"] = _typed_values(self.size) if size else {}
        super().__init__(*args, **options)
        of_country = UNITS[sender.country]
        self.units = (
            self.size.weight_units or of_country[0],
            self.size.dimension_units or of_country[1],
        )
        controls = measure_fields(*self.units)
        self.measures = dict(zip(("weight", *SIZES), controls, strict=True))
        self.fields |= {name: controls[control] for name, control in self.measures.items()}
        self.order_fields(["name", *self.measures])

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if self.sender.sizes.exclude(pk=self.size.pk).filter(name__iexact=name).exists():
            raise ValidationError(f"There is a size named “{name}” already.", code="name")
        return name

    def save(self) -> bool:
        """Save the size as entered.

        Return False, with the reason at its control, if it can't be.
        """
        for name in ("name", "description", *self.measures):
            setattr(self.size, name, self.cleaned_data[name])
        self.size.weight_units, self.size.dimension_units = self.units
        try:
            with transaction.atomic():
                self.size.save() if self.size.pk else append_size(self.sender, self.size)
        except IntegrityError:
            # Somebody took the name between the check and now.
            self.add_error("name", f"There is a size named “{self.size.name}” already.")
        except Refused as error:
            self.add_error(None, str(error))
        return not self.errors


def _typed_values(size: ParcelSize) -> dict[str, Any]:
    measures = {name: plain(getattr(size, name)) for name in ("weight", *SIZES)}
    return {"name": size.name, "description": size.description, **measures}


STEPS = {"up": -1, "down": 1}


@audience(BOOKERS)
@require_GET
def sizes(request: MemberRequest) -> HttpResponse:
    return render(request, "orders/sizes.html")


@audience(BOOKERS)
@require_get_or_post
def add_size(request: MemberRequest) -> HttpResponse:
    return _form_page(request, SizeForm(request.POST or None, sender=request.sender))


@audience(BOOKERS)
@require_get_or_post
def edit_size(request: MemberRequest, size: uuid.UUID) -> HttpResponse:
    """Show and change a saved size. Parcels entered with it keep their measures."""
    found = _size_of(request, size)
    return _form_page(request, SizeForm(request.POST or None, sender=request.sender, size=found))


@audience(BOOKERS)
@require_POST
def change_size(request: MemberRequest, size: uuid.UUID) -> HttpResponse:
    """Move a size up or down one place, or make it the `default`; go back to its row."""
    found = _size_of(request, size)
    if request.POST.get("move") in STEPS:
        move_size(found, step=STEPS[request.POST["move"]])
    elif "default" in request.POST:
        make_default(found)
        messages.success(request, f"New parcels begin with {found.name}.")
    return redirect(f"{reverse('sizes')}#size-{found.uuid}")


@audience(BOOKERS)
@require_POST
def delete_size(request: MemberRequest, size: uuid.UUID) -> HttpResponse:
    found = _size_of(request, size)
    found.delete()
    messages.success(request, f"Deleted {found.name}. Parcels entered with it stay as they are.")
    return redirect("sizes")


def _size_of(request: MemberRequest, size: uuid.UUID) -> ParcelSize:
    return get_object_or_404(ParcelSize.objects.for_user(request.user), uuid=size)


def _form_page(request: MemberRequest, form: SizeForm) -> HttpResponse:
    if form.is_valid() and form.save():
        messages.success(request, f"Saved {form.size.name}.")
        return redirect("sizes")
    return render_form(request, "orders/size.html", {"form": form, "size": form.size})
