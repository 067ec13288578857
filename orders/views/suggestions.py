"""Suggest known receivers to the new-parcel form's script while somebody types."""

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from orders.drafting.receiver_form import initial_of
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience
from shipping_portal.accounts.address import receivers


@audience(BOOKERS)
@require_safe
def suggest_receivers(request: MemberRequest) -> HttpResponse:
    """Return receivers found by the start of a word, as the form's values."""
    found = receivers.suggest_receivers(request.sender, request.GET.get("q", "")[:120])
    places = ([one.company, one.line1, f"{one.suburb} {one.postcode}"] for one in found)
    return JsonResponse(
        [
            {
                "name": one.name,
                "place": ", ".join(filter(None, place)),
                "values": initial_of(one.party()),
            }
            for one, place in zip(found, places, strict=True)
        ],
        safe=False,
    )
