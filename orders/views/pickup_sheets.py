"""Print the sheets of a pickup day: what to pack, a slip per box, what the driver collects.

None of them is a label.
"""

import datetime as dt
import uuid
from collections import Counter
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.views.decorators.http import require_GET

from orders.labels import printing
from orders.list.system_views import SenderScope
from orders.models import Order
from orders.views.bulk import chosen_parcels
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience, require_get_or_post

STILL_TO_PACK = Q(printed_at=None)


@audience(BOOKERS)
@require_GET
def pick_list(request: MemberRequest) -> HttpResponse:
    """Show the totals to fetch for the pickup on `day`, and what goes into each parcel."""
    context = _pickup_sheet(request, "Pick list")
    items: Counter[str] = Counter()
    for row in context["rows"]:
        for quantity, description in row["pack"]:
            items[description] += quantity
    return render(request, "orders/pick_list.html", context | {"items": sorted(items.items())})


@audience(BOOKERS)
@require_get_or_post
def packing_slips(request: MemberRequest) -> HttpResponse:
    """Show a slip for each box: of a pickup day, of `parcel`, or of the chosen parcels.

    It has no prices or values: the box may hold a present.
    """
    heading = "Packing slips"
    if request.method == "GET" and "parcel" not in request.GET:
        context = _pickup_sheet(request, heading)
    else:
        parcels = chosen_parcels(request) if request.method == "POST" else [_named_parcel(request)]
        context = {
            "heading": heading,
            "rows": [{"order": order, "pack": printing.pack_list(order)} for order in parcels],
        }
    return render(request, "orders/packing_slips.html", context)


def _named_parcel(request: MemberRequest) -> Order:
    """Return the user's parcel that the address names, or answer 404."""
    try:
        named = uuid.UUID(request.GET["parcel"])
    except ValueError:
        raise Http404 from None
    return get_object_or_404(Order.objects.for_user(request.user), uuid=named)


@audience(BOOKERS)
@require_GET
def handover(request: MemberRequest) -> HttpResponse:
    """Show the parcels that the driver collects on `day`, with a line to sign on."""
    context = _pickup_sheet(request, "Handover sheet", missed=Q())
    unprinted = sum(1 for row in context["rows"] if row["order"].printed_at is None)
    return render(request, "orders/handover.html", context | {"unprinted": unprinted})


def _pickup_sheet(
    request: MemberRequest, heading: str, *, missed: Q = STILL_TO_PACK
) -> dict[str, Any]:
    """Return the day, by default today, and its uncollected parcels, at most printing.MOST.

    Today's include those of earlier days that match `missed`: another driver may come for them.
    """
    scope = SenderScope.of(request.user, request.sender, timezone.now())
    day = _chosen_day(request) or scope.today
    listed = Q(day=day)
    if day == scope.today:
        listed |= missed & Q(day__lt=day, pk__in=[order.pk for order in scope.missed])
    that_day = scope.pickups.filter(listed).order_by("-day", "pk")
    found = list(that_day.filter(~printing.IS_WORTHLESS)[: printing.MOST + 1])
    orders = found[: printing.MOST]
    return {
        "heading": heading,
        "day": day,
        "rows": [{"order": order, "pack": printing.pack_list(order)} for order in orders],
        "missed": sum(order.day != day for order in orders),
        "worthless": that_day.filter(printing.IS_WORTHLESS)[: printing.MOST],
        "is_cut": len(found) > len(orders),
        "most": printing.MOST,
    }


def _chosen_day(request: HttpRequest) -> dt.date | None:
    try:
        return parse_date(request.GET.get("day", ""))
    except ValueError:  # such as 31 February
        return None
