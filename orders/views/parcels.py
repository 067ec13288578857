"""The list of parcels: newest first, fifty a page, its whole state in the address."""

from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET

from orders.meaning import GROUPS, standing
from orders.models import Order
from orders.receivers import sees_contact, shown
from shipping_portal.accounts.access import EVERY_MEMBER, VIEWER, MemberRequest, audience

PAGE = 50
LONGEST_SEARCH = 200


@audience(*EVERY_MEMBER)
@require_GET
def parcels(request: MemberRequest) -> HttpResponse:
    """Search, filter and page; a search for one's own reference opens that parcel."""
    q = "".join(c for c in request.GET.get("q", "") if c.isprintable()).strip()[:LONGEST_SEARCH]
    group = request.GET.get("status", "")
    mine = Order.objects.for_user(request.user)
    if q and (exact := mine.filter(carrier_reference=q.upper()).first()):
        return redirect("parcel", exact.uuid)
    found = _search(mine, q, request.membership.role)
    if group in GROUPS:
        found = found.filter(GROUPS[group][1])
    rows, older = _page(found, request.GET.get("before", ""))
    context = {
        "q": q,
        "group": group if group in GROUPS else "",
        "group_words": GROUPS[group][0] if group in GROUPS else "",
        "groups": {name: words for name, (words, _) in GROUPS.items()},
        "count": found.count(),
        "rows": [_row(request, order) for order in rows],
        "older": older,
        "before": request.GET.get("before", ""),
    }
    return render(request, "orders/parcels.html", context)


def _search(orders: QuerySet[Order], q: str, role: str) -> QuerySet[Order]:
    """Every word must occur. Who may not see contact details cannot find parcels by them either."""
    for word in q.lower().split():
        if sees_contact(role):
            orders = orders.filter(search__contains=word)
        else:
            by_name = Q(receiver_name__icontains=word) if role == VIEWER else Q()
            orders = orders.filter(
                by_name | Q(carrier_reference__icontains=word) | Q(customer_reference__icontains=word)
            )
    return orders


def _page(orders: QuerySet[Order], before: str) -> tuple[list[Order], int | None]:
    """One page by key, and the key to go on from, if there is more."""
    if before.isascii() and before.isdigit() and len(before) < 19:
        orders = orders.filter(pk__lt=int(before))
    rows = list(orders.order_by("-pk")[: PAGE + 1])
    return rows[:PAGE], rows[PAGE - 1].pk if len(rows) > PAGE else None


def _row(request: MemberRequest, order: Order) -> dict[str, Any]:
    order.sender = request.sender  # read for its time zone; every row's sender is this one
    return {
        "order": order,
        "receiver": shown(order, request.membership.role),
        "standing": standing(order, timezone.now()),
        "pickup": None if order.first_mile == "drop-off" else order.expected_pickup(),
    }
