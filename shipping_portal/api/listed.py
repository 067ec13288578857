"""Read a list's query parameters. Those that the page would ignore are refused here.

A person would see that a filter wasn't applied; a program would act on every parcel.
"""

from typing import Any

from django.http import QueryDict
from django.utils import timezone

from orders.list import listing
from orders.list.system_views import SenderScope
from shipping_portal.accounts.access import MemberRequest
from shipping_portal.api.problems import ApiProblem
from shipping_portal.db.keyset import Keyset, Page

UNKNOWN = ["This isn't known here."]
TWICE = ["This was sent twice. Send it once."]


def page_of_parcels(request: MemberRequest, query: dict[str, str]) -> Page:
    """Return the page of parcels for a query. Raises ApiProblem for anything invalid in it."""
    role = request.membership.role
    scope = SenderScope.of(request.user, request.sender, timezone.now(), role=role)
    given = QueryDict(mutable=True)
    given.update({name: value for name, value in query.items() if value})
    filters = listing.active_filters(given, scope)
    sort = listing.SORTS.get(query["sort"], listing.SORTS["newest"])
    wrong = [name for name in listing.FILTERS if query[name] and name not in filters]
    wrong += [] if query["sort"] in listing.SORTS else ["sort"]
    if wrong:
        raise ApiProblem("invalid", errors=dict.fromkeys(wrong, UNKNOWN))
    refuse_cursor(query["cursor"], sort.keys)
    orders = scope.orders.select_related("account").prefetch_related("labels")
    found = listing.search_orders(orders, listing.clean_search(query["q"]), role)
    page = listing.list_page(listing.narrow_orders(found, filters), sort, before=query["cursor"])
    for order in page.rows:
        order.sender = request.sender
    return page


def refuse_names(request: Any, known: set[str]) -> None:
    """Raise a problem for unknown parameters, and for parameters sent twice."""
    names = [name for name in request.GET if name not in known]
    twice = [name for name, values in request.GET.lists() if len(values) > 1]
    if errors := dict.fromkeys(names, UNKNOWN) | dict.fromkeys(twice, TWICE):
        raise ApiProblem("invalid", errors=errors)


def refuse_cursor(cursor: str, keys: Keyset) -> None:
    """Raise a problem for a cursor that didn't come from a page."""
    if cursor and keys.key(cursor) is None:
        raise ApiProblem("invalid", errors={"cursor": UNKNOWN})
