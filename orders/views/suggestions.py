"""What the new-parcel form asks for while it is filled: known receivers, and a pasted address taken apart."""

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_POST, require_safe

from orders import pasting
from orders.receiver_form import as_typed
from shipping_portal.accounts import receivers
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience


@audience(*BOOKERS)
@require_safe
def suggest_receivers(request: MemberRequest) -> HttpResponse:
    """Receivers found by the start of a name, company, e-mail, phone or postcode, each as the form's values."""
    found = receivers.find(request.sender, request.GET.get("q", "")[:120])
    return JsonResponse(
        [
            {
                "name": receiver.name,
                "place": ", ".join(
                    filter(None, [receiver.company, f"{receiver.suburb} {receiver.postcode}"])
                ),
                "values": as_typed(receiver.party()),
            }
            for receiver in found
        ],
        safe=False,
    )


@audience(*BOOKERS)
@require_POST
def unpaste(request: MemberRequest) -> HttpResponse:
    """A pasted address as the form's values, and what of it none of them used."""
    start = request.sender.pickup_address()
    home = start.country if start else request.sender.country
    pasted = pasting.read(request.POST.get("text", ""), home)
    return JsonResponse({"values": pasted.as_typed(), "left": pasted.left})
