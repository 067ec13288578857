"""Show the address book: receivers added by hand or remembered from a booking."""

import uuid
from itertools import chain
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from orders.drafting.forms import after_presses
from orders.drafting.receiver_form import ReceiverForm, initial_of, line
from orders.list.listing import clean_search
from orders.views.responses import show_remarks
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience, require_get_or_post
from shipping_portal.accounts.address import receivers
from shipping_portal.accounts.models import PickupAddress, Receiver, Sender
from shipping_portal.db.keyset import Keyset
from shipping_portal.http.forms import refusals_at, render_form

NEWEST_FIRST = Keyset(is_descending=True)


@audience(BOOKERS)
@require_GET
def addresses(request: MemberRequest) -> HttpResponse:
    """Search, filter and page through receivers; the address holds the whole state."""
    query = {name: clean_search(request.GET.get(name, "")) for name in ("q", "group", "before")}
    off_list = request.GET.get("off_list") == "yes"
    found = receivers.list_receivers(
        request.sender, q=query["q"], group=query["group"], off_list=off_list
    )
    page = NEWEST_FIRST.page(found, on=query["before"])
    context = {
        **query,
        "search": query["q"],  # `q` is also the search box for parcels at the top
        "q": "",
        "off_list": off_list,
        "rows": page.rows,
        "older": page.on,
        "groups": receivers.groups_of(request.sender),
        "off_count": request.sender.receivers.filter(is_off_list=True).count(),
        "is_filtered": any(query.values()) or off_list,
    }
    return render(request, "orders/addresses.html", context)


@audience(BOOKERS)
@require_get_or_post
def add_receiver(request: MemberRequest) -> HttpResponse:
    return _form_page(request, None)


@audience(BOOKERS)
@require_get_or_post
def edit_receiver(request: MemberRequest, receiver: uuid.UUID) -> HttpResponse:
    return _form_page(request, receiver_of(request, receiver))


@audience(BOOKERS)
@require_POST
def delete_receiver(request: MemberRequest, receiver: uuid.UUID) -> HttpResponse:
    found = receiver_of(request, receiver)
    found.delete()
    messages.success(request, f"Deleted {found.name}. Parcels sent to them stay as they are.")
    return redirect("addresses")


@audience(BOOKERS)
@require_get_or_post
def merge_receivers(request: MemberRequest) -> HttpResponse:
    """Show receivers with the same name and postcode; posting `keep` leaves one of those shown."""
    sets = receivers.find_duplicates(request.sender)
    if request.method == "GET":
        return render(request, "orders/merge_receivers.html", {"sets": sets})
    rows = {str(row.uuid): row for row in chain.from_iterable(sets)}
    kept = rows.get(request.POST.get("keep", ""))
    # Use only those that were shown, because another member may have added one since.
    shown = {rows[key] for key in request.POST.getlist("row") if key in rows}
    others = [row for same in sets if kept in same for row in same if row in shown and row != kept]
    if kept and others:
        receivers.merge_receivers(kept, others)
        messages.success(request, f"{kept.name} is there once now.")
    else:
        messages.info(request, "These addresses have changed since, so nothing was merged.")
    return redirect("merge_receivers" if receivers.find_duplicates(request.sender) else "addresses")


def receiver_of(request: MemberRequest, receiver: uuid.UUID) -> Receiver:
    return get_object_or_404(Receiver.objects.for_user(request.user), uuid=receiver)


def _form_page(request: MemberRequest, receiver: Receiver | None) -> HttpResponse:
    typed = after_presses(request.POST) if request.method == "POST" else None
    form = AddressForm(typed, sender=request.sender, receiver=receiver)
    if typed is not None and form.is_valid() and form.save():
        messages.success(request, f"Saved {form.known.name}.")
        show_remarks(request, form)
        return redirect("addresses")
    return render_form(request, "orders/address.html", {"form": form, "receiver": receiver})


class AddressForm(ReceiverForm):
    """Edit a receiver. Without a pickup address the rules of the sender's country apply."""

    def __init__(
        self, *args: Any, sender: Sender, receiver: Receiver | None = None, **options: Any
    ) -> None:
        self.known = receiver or Receiver(sender=sender)
        if receiver:
            options["initial"] = initial_of(receiver.party()) | {"group": receiver.group}
        start = sender.pickup_address() or PickupAddress(sender=sender, country=sender.country)
        super().__init__(*args, sender=sender, address=start, **options)
        self.fields["group"] = line(
            "Group", longest=40, help_text="One word or two to find them by, such as “Markets”."
        )

    def save(self) -> bool:
        """Save the receiver. Return False, with the reason, if the same one exists."""
        with refusals_at(self, "receiver_name"):
            receivers.store_receiver(
                self.known,
                self.receiver(),
                group=self.cleaned_data["group"],
                is_saved=True,
                is_off_list=False,
            )
        return not self.errors
