"""What the new-parcel form's script asks for while somebody types: known receivers, a pasted address taken apart."""

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_POST, require_safe

from orders.drafting import pasting
from orders.drafting.receiver_form import initial_of
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience
from shipping_portal.accounts.address import receivers


@audience(*BOOKERS)
@require_safe
def suggest_receivers(request: MemberRequest) -> HttpResponse:
    """Answer with receivers found by the start of a name, company, email, phone or postcode, as the form's values."""
    found = receivers.find(request.sender, request.GET.get("q", "")[:120])
    places = ([one.company, one.line1, f"{one.suburb} {one.postcode}"] for one in found)
    return JsonResponse(
        [
            {"name": one.name, "place": ", ".join(filter(None, place)), "values": initial_of(one.party())}
            for one, place in zip(found, places, strict=True)
        ],
        safe=False,
    )


@audience(*BOOKERS)
@require_POST
def unpaste(request: MemberRequest) -> HttpResponse:
    """Show a pasted address as the form's values, and what of it none of them used."""
    start = request.sender.pickup_address()
    home = start.country if start else request.sender.country
    pasted = pasting.read(request.POST.get("text", ""), home)
    return JsonResponse({"values": pasted.initial(), "left": pasted.left})
