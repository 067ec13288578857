"""List parcels, fifty a page with the state in the address, and the views that people save."""

import datetime as dt
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.http import require_GET, require_POST

from orders.calling.contract import destinations
from orders.drafting import drafts
from orders.drafting.receivers import sees_contact, shown_receiver
from orders.labels.printing import MOST, TO_PRINT
from orders.list import listing, tabs
from orders.list.columns import chosen_columns, column_choices, stored_columns
from orders.list.system_views import VIEWS, SenderScope, View
from orders.models import Draft, Order, SavedView
from orders.models.statuses import MOVING, Progress
from orders.status.references import with_reference
from orders.status.status_labels import GROUPS, reason_to_look, status_label
from shipping_portal.accounts.access import BOOKERS, EVERY_MEMBER, MemberRequest, audience
from shipping_portal.accounts.address import countries
from shipping_portal.accounts.address.text import normalise_text, one_line
from shipping_portal.accounts.formatting import local_date, money, up_to_thousand, weight_words
from shipping_portal.accounts.models import Sender, User
from shipping_portal.accounts.templatetags.words import chip
from shipping_portal.db.keyset import count_rows

KEPT = ("view", "q", "sort", *listing.FILTERS)
MOST_SAVED = 40


@dataclass
class ListQuery:
    """The meaning of one address of the list for the user who opens it."""

    request: MemberRequest

    def __post_init__(self) -> None:
        role = self.request.membership.role
        self.scope = SenderScope.of(
            self.request.user, self.request.sender, timezone.now(), role=role
        )
        self.saved = list(SavedView.objects.for_user(self.request.user).order_by("name", "pk"))
        slug = self.request.GET.get("view", "")
        self.kept = next(
            (view for view in self.saved if view.slug == slug and slug not in VIEWS), None
        )
        self.query = self._query()
        self.q = listing.clean_search(self.query.get("q", ""))
        view = self.query.get("view", "")
        self.slug = view if view in VIEWS and view != "all" else ""
        self.sort = (
            self.query.get("sort", "") if self.query.get("sort", "") in listing.SORTS else "newest"
        )
        self.filters = listing.active_filters(self.query, self.scope)

    def _query(self) -> QueryDict:
        """Return the valid keys of the address.

        A saved view has its own keys; those in the address override them.
        """
        query = QueryDict(self.kept.query if self.kept else "", mutable=True)
        self.is_without_search = self._may_not_read_it() and bool(query.pop("q", None))
        own = self.request.GET
        for name in KEPT:
            if name in own and not (name == "view" and self.kept):
                query[name] = own[name]
        return query

    def _may_not_read_it(self) -> bool:
        """Return whether a colleague's saved search may contain a receiver's email or street."""
        is_anothers = self.kept is not None and self.kept.made_by_id != self.request.user.pk
        return is_anothers and not sees_contact(self.request.membership.role)

    @property
    def view(self) -> View:
        return VIEWS[self.slug or "all"]

    @cached_property
    def found(self) -> QuerySet[Order]:
        orders = self.scope.orders.filter(self.view.where(self.scope))
        orders = listing.search_orders(orders, self.q, self.request.membership.role)
        return listing.narrow_orders(orders, self.filters)

    @property
    def open_query(self) -> QueryDict:
        """Return the keys of this list's address, with its saved view."""
        query = self.query.copy()
        if self.kept:
            query["view"] = self.kept.slug
        return query

    def link(self, **changes: str | None) -> str:
        """Return this list's address with changes. None removes a key and closes the saved view."""
        query = self.query.copy() if None in changes.values() else self.open_query
        for name, value in changes.items():
            query.pop(name, None)
            if value is not None:
                query[name] = value
        return f"?{query.urlencode()}" if query else reverse("parcels")


@audience(EVERY_MEMBER)
@require_GET
def parcels(request: MemberRequest) -> HttpResponse:
    """Search, filter and page.

    A search by reference, or in the box at the top of the page, opens the parcel if it finds just
    one.
    """
    list_query = ListQuery(request)
    if opened := _find_single_match(list_query):
        return redirect("parcel", opened.uuid)
    before, after = request.GET.get("before", ""), request.GET.get("after", "")
    found = list_query.found.only(*COLUMNS)
    page = listing.list_page(found, listing.SORTS[list_query.sort], before=before, after=after)
    half_typed = _listed_drafts(list_query)
    every = tabs.tabs_of(list_query.scope, half_typed=len(half_typed))
    count = _count_listed(list_query, every)
    shown = [tab for tab in every.values() if tab.count or tab.slug in {tabs.ALL, list_query.slug}]
    in_line = [tab for tab in shown if tab in shown[:TABS] or tab.slug == list_query.slug]
    choices = listing.Choices.of(list_query.scope)
    context = {
        "list_query": list_query,
        "q": list_query.q,
        "count": count,
        "counted": up_to_thousand(count),
        "rows": parcel_rows(
            page.rows, request.sender, request.membership.role, list_query.scope.now
        ),
        "tabs": in_line,
        "hidden_tabs": [tab for tab in shown if tab not in in_line],
        "unprinted": every[TO_PRINT].count,
        "chips": _filter_chips(list_query, choices),
        "choices": choices,
        "groups": {name: words for name, (words, _) in GROUPS.items()},
        "countries": countries.country_choices(Sender.Country.values, only=destinations()),
        "printed": listing.PRINTED,
        "returns": listing.RETURNS,
        "sorts": {name: sort.words for name, sort in listing.SORTS.items()},
        "back": page.back and list_query.link(after=page.back),
        "on": page.on and list_query.link(before=page.on),
        "sorted": listing.SORTS[list_query.sort].words,
        "links": {name: list_query.link(**changes) for name, changes in LINKS.items()},
        "paged": bool(before or after),
        "drafts": half_typed if list_query.slug == tabs.DRAFTS else [],
        "draft_days": drafts.DAYS,
        "most": MOST,
        "shown": chosen_columns(request.user.list_columns),
        "columns": column_choices(request.user.list_columns),
    }
    return render(
        request, "orders/parcels.html", context | _ticked_boxes(list_query, page.rows, count)
    )


def _count_listed(list_query: ListQuery, every: dict[str, tabs.Tab]) -> int:
    """Return how many parcels the list holds. For a plain tab they are counted already."""
    tab = None if list_query.q or list_query.filters else every.get(list_query.slug or tabs.ALL)
    return count_rows(list_query.found) if tab is None or tab.listed is None else tab.listed


LINKS: dict[str, dict[str, str | None]] = {
    "all": {"select": "all"},
    "none": {},
    "unfiltered": dict.fromkeys(("q", *listing.FILTERS)),
    **{sort: {"sort": sort} for sort in listing.SORTS},
}


def _find_single_match(list_query: ListQuery) -> Order | None:
    """Return the one parcel that was searched for: by its whole reference, or the only result."""
    if not list_query.q:
        return None
    exact = with_reference(list_query.scope.orders, list_query.q).first()
    if exact or "open" not in list_query.request.GET:
        return exact
    two = list(list_query.found.order_by("-pk")[:2])
    return two[0] if len(two) == 1 else None


def _filter_chips(list_query: ListQuery, choices: listing.Choices) -> list[tuple[str, str, str]]:
    """Return each filter as (label, value in words, address without it)."""
    chips = [
        (
            one.label,
            one.words(str(list_query.query[name]), choices),
            list_query.link(**{name: None}),
        )
        for name, one in listing.FILTERS.items()
        if name in list_query.filters
    ]
    return [*([("Search", list_query.q, list_query.link(q=None))] if list_query.q else []), *chips]


def _ticked_boxes(list_query: ListQuery, rows: list[Order], count: int) -> dict[str, Any]:
    """Return which boxes are ticked, and the chosen parcels on other pages."""
    if list_query.request.GET.get("select") != "all" or count > MOST:
        return {"is_all": False, "elsewhere": []}
    here = {order.uuid for order in rows}
    uuids = list_query.found.order_by("-pk").values_list("uuid", flat=True)
    return {"is_all": True, "elsewhere": [one for one in uuids if one not in here]}


def _listed_drafts(list_query: ListQuery) -> list[Draft]:
    """Return the drafts, for users who may book."""
    if list_query.request.membership.role not in BOOKERS:
        return []
    return list(drafts.listed(list_query.request.user).select_related("made_by"))


@audience(EVERY_MEMBER)
@require_POST
def save_view(request: MemberRequest) -> HttpResponse:
    """Save the list under a name, privately or for the team, replacing their own view of it."""
    name = " ".join(normalise_text(request.POST.get("name", "")).split())[:60]
    query = _kept_query(request.POST.get("query", ""))
    if not name or not name.isprintable():
        messages.warning(request, "Give the view a name. Nothing was saved.")
        return redirect(f"{reverse('parcels')}?{query}")
    slug = _save_view(request, name, query=query, is_shared=request.POST.get("shared") == "yes")
    if not slug:
        messages.warning(request, f"You keep {MOST_SAVED} views already. Delete one first.")
        return redirect(f"{reverse('parcels')}?{query}")
    messages.success(request, f"Saved the view “{name}”.")
    return redirect(f"{reverse('parcels')}?view={slug}")


@transaction.atomic
def _save_view(request: MemberRequest, name: str, **values: Any) -> str:
    """Return the slug of the saved view, or "" at MOST_SAVED. Requests run one at a time."""
    Sender.locked(request.sender.pk)
    mine = SavedView.objects.filter(sender=request.sender, made_by=request.user)
    if found := mine.filter(name=name).first():
        mine.filter(pk=found.pk).update(**values)
        return found.slug
    if mine.count() >= MOST_SAVED:
        return ""
    slug = _free_slug(request, name)
    mine.create(sender=request.sender, made_by=request.user, name=name, slug=slug, **values)
    return slug


def _kept_query(text: str) -> str:
    """Return the valid part of a query, cut to what a row holds."""
    given, kept = QueryDict(text[:2000]), QueryDict(mutable=True)
    for name in KEPT:
        value = one_line(given.get(name, ""))
        if value:
            kept[name] = value
            if len(kept.urlencode()) > 500:
                del kept[name]
    return kept.urlencode()


def _free_slug(request: MemberRequest, name: str) -> str:
    """Return the name as a slug that no built-in view and no colleague uses."""
    taken = {
        *VIEWS,
        *SavedView.objects.filter(sender=request.sender).values_list("slug", flat=True),
    }
    plain = slugify(name)[:60] or "view"
    numbered = (f"{plain}-{number}" for number in range(2, len(taken) + 3))
    return plain if plain not in taken else next(slug for slug in numbered if slug not in taken)


@audience(EVERY_MEMBER)
@require_POST
def choose_columns(request: MemberRequest) -> HttpResponse:
    """Store the columns that this user wants in every list of parcels."""
    stored = stored_columns(request.POST.getlist("column"))
    User.objects.filter(pk=request.user.pk).update(list_columns=stored)
    return redirect(f"{reverse('parcels')}?{_kept_query(request.POST.get('query', ''))}")


@audience(EVERY_MEMBER)
@require_POST
def delete_view(request: MemberRequest, view: str) -> HttpResponse:
    """Delete a view; only its maker may."""
    found = get_object_or_404(
        SavedView.objects.for_user(request.user).filter(Q(made_by=request.user)), slug=view
    )
    found.delete()
    messages.success(request, f"Deleted the view “{found.name}”. The parcels in it are untouched.")
    return redirect("parcels")


# Columns that a row shows. The others, mainly texts for the carrier, aren't read.
COLUMNS = (
    "uuid",
    "sender_id",
    "status",
    "progress",
    "progress_at",
    "booked_at",
    "used_after_cancel_at",
    "pickup",
    "cancel_refused_at",
    "erased_at",
    "problem",
    "first_mile",
    "carrier_pickup_date",
    "pickup_date",
    "quoted_pickup_date",
    "eta_to",
    "price",
    "charged_price",
    "currency",
    "product_name",
    "weight_kg",
    "carrier_reference",
    "customer_reference",
    "receiver_name",
    "receiver_suburb",
    "receiver_state",
    "receiver_postcode",
    "returns_id",
    "parcel_number",
    "parcel_count",
)
ANY = uuid.UUID(int=0)
TABS = 6  # shown in one line; the others are under More


def parcel_rows(
    orders: Iterable[Order], sender: Sender, role: str, now: dt.datetime
) -> list[dict[str, Any]]:
    """Return one dictionary of words for each order, all of the one sender."""
    address = reverse("parcel", args=[ANY])
    return [_parcel_row(order, sender, role, now, address) for order in orders]


def _parcel_row(
    order: Order, sender: Sender, role: str, now: dt.datetime, address: str
) -> dict[str, Any]:
    # Read for the time zone; every row has this sender.
    order.sender = sender
    receiver, key = shown_receiver(order, role), str(order.uuid)
    return {
        "order": order,
        "key": key,
        "address": address.replace(str(ANY), key),
        "reference": order.carrier_reference,
        "theirs": order.customer_reference,
        "name": receiver.name,
        "place": f"{_before_town(order)}{receiver.town}",
        "chip": chip(*status_label(order, now)),
        "progress": order.shown_progress(now),
        "reason": reason_to_look(order) if sees_contact(role) else "",
        "pickup": _pickup_words(order, sender),
        "due": local_date(order.eta_to, sender) if order.is_booked else "",
        "arrived": local_date(order.progress_at, sender) if _has_arrived(order) else "",
        "days_late": _days_late(order, sender, now),
        "price": money(order.total, order.currency),
        "service": order.product_name,
        "weight": weight_words(order.weight_kg, sender),
        "booked": local_date(order.booked_at, sender),
    }


def _before_town(order: Order) -> str:
    if order.returns_id:
        return "Return · "
    return f"{order.place_in_order} · " if order.parcel_count else ""


def _has_arrived(order: Order) -> bool:
    return order.is_booked and order.progress == Progress.DELIVERED


def _days_late(order: Order, sender: Sender, now: dt.datetime) -> int:
    """Return how many days a moving parcel is past the carrier's expected day."""
    if not order.is_booked or order.progress not in MOVING or order.eta_to is None:
        return 0
    return max((sender.day_of(now) - order.eta_to).days, 0)


def _pickup_words(order: Order, sender: Sender) -> str:
    if order.first_mile == "drop-off":
        return "Drop-off"
    return local_date(order.expected_pickup(), sender) or "Next business day"
