"""Read the parcels list's address: view, search, filters, sort order and keyset page."""

import datetime as dt
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import CharField, Q, QuerySet, Value
from django.db.models.functions import Cast, Coalesce, NullIf
from django.http import QueryDict

from orders.calling import gateway
from orders.drafting.receivers import sees_contact
from orders.folding import fold
from orders.labels.printing import BY_DRIVER, PICKUP_DAY
from orders.list.system_views import SenderScope
from orders.models import Order, searches
from orders.models.order import DAY, NO_DAY
from orders.status.references import without_sign
from orders.status.status_labels import GROUPS
from shipping_portal.accounts.access import VIEWER
from shipping_portal.accounts.address import countries
from shipping_portal.accounts.address.text import one_line
from shipping_portal.accounts.formatting import local_date
from shipping_portal.accounts.models import Sender
from shipping_portal.db.keyset import Keyset, Page, newest

LONGEST_SEARCH = 200
NEWEST = 500  # orders whose services can be chosen
RETURNS = {"yes": "Returns only", "no": "Without returns"}
PRINTED = {"yes": "Printed", "no": "Not printed"}


@dataclass(frozen=True)
class Filter:
    """Define one filter.

    `where` returns None for an unknown value; `words` returns the text on its chip.

    Higher apps add their own to FILTERS.
    """

    label: str
    where: Callable[[str, SenderScope], Q | None]
    words: Callable[[str, "Choices"], str]


@dataclass(frozen=True)
class Choices:
    """The values this account can filter by, keyed by the value in the address."""

    sender: Sender
    services: dict[str, str]
    sizes: dict[str, str]
    people: dict[str, str]
    carriers: dict[str, str]  # none unless two accounts take new orders

    @classmethod
    def of(cls, scope: SenderScope) -> "Choices":
        rows = _choice_rows(scope)
        services = {value: words for kind, _, value, words in rows if kind == "service"}
        sizes = {str(uuid.UUID(value)): words for kind, _, value, words in rows if kind == "size"}
        people = {value: words for kind, _, value, words in rows if kind == "person"}
        carriers = {str(account): title for account, title in gateway.carrier_titles().items()}
        return cls(scope.sender, services, sizes, people, carriers)


def _choice_rows(scope: SenderScope) -> list[tuple[str, int, str, str]]:
    """Return the kind, place, value and words of each choice, in one query."""
    services = newest(scope.orders, NEWEST).values_list(
        Value("service"), Value(0), "product_code", "product_name"
    )
    sizes = scope.sender.sizes.values_list(Value("size"), "pk", Cast("uuid", CharField()), "name")
    name = Coalesce(NullIf("user__name", Value("")), "user__email", output_field=CharField())
    people = scope.sender.memberships.values_list(
        Value("person"), "pk", Cast("user_id", CharField()), name
    )
    return sorted(services.union(sizes, people))


def clean_search(text: str) -> str:
    return one_line(text).strip()[:LONGEST_SEARCH]


def search_orders(orders: QuerySet[Order], q: str, role: str) -> QuerySet[Order]:
    """Return the orders that contain every word.

    Roles without contact details can't search those.
    """
    for word in map(without_sign, fold(q).split()):
        if sees_contact(role):
            orders = orders.filter(searches.of_sender(word))
        else:
            # Only the first line, to its end, is the name.
            by_name = (
                Q(search__regex=rf"^[^\n]*{re.escape(word)}[^\n]*\n") if role == VIEWER else Q()
            )
            orders = orders.filter(
                by_name
                | Q(carrier_reference__icontains=word)
                | Q(customer_reference__icontains=word)
            )
    return orders


def _parse_day(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None


def _of_group(value: str, scope: SenderScope) -> Q | None:
    return GROUPS[value][1] if value in GROUPS else None


def _of_pickup_day(value: str, scope: SenderScope) -> Q | None:
    day = _parse_day(value)
    return BY_DRIVER & Q(pickup_day=day) & ~scope.failed_today if day else None


def _booked_from(value: str, scope: SenderScope) -> Q | None:
    day = _parse_day(value)
    return Q(booked_at__gte=_start_of_day(day, scope)) if day else None


def _booked_to(value: str, scope: SenderScope) -> Q | None:
    day = _parse_day(value)
    return (
        Q(booked_at__lt=_start_of_day(day + dt.timedelta(days=1), scope))
        if day and day < NO_DAY
        else None
    )


def _start_of_day(day: dt.date, scope: SenderScope) -> dt.datetime:
    """Return the start of that day in the sender's zone."""
    day = max(day, dt.date(1970, 1, 1))
    return dt.datetime.combine(day, dt.time(), scope.sender.tzinfo).astimezone(dt.UTC)


def _of_country(value: str, scope: SenderScope) -> Q | None:
    return Q(receiver_country=value) if value in countries.country_names() else None


def _of_printed(value: str, scope: SenderScope) -> Q | None:
    return Q(printed_at__isnull=value == "no") if value in PRINTED else None


def _of_returns(value: str, scope: SenderScope) -> Q | None:
    return Q(returns__isnull=value == "no") if value in RETURNS else None


def _by_uuid(path: str) -> Callable[[str, SenderScope], Q | None]:
    def where(value: str, scope: SenderScope) -> Q | None:
        try:
            return Q(**{path: uuid.UUID(value)})
        except ValueError:
            return None

    return where


def _by_number(path: str) -> Callable[[str, SenderScope], Q | None]:
    def where(value: str, scope: SenderScope) -> Q | None:
        is_key = value.isascii() and value.isdigit() and len(value) < 19
        return Q(**{path: int(value)}) if is_key else None

    return where


def _of_service(value: str, scope: SenderScope) -> Q | None:
    return Q(product_code=value) if value.isprintable() else None


def _date_words(value: str, choices: Choices) -> str:
    return local_date(_parse_day(value), choices.sender)


FILTERS: dict[str, Filter] = {
    "status": Filter("Status", _of_group, lambda value, choices: GROUPS[value][0]),
    "pickup": Filter("Pickup", _of_pickup_day, _date_words),
    "booked_from": Filter("Booked from", _booked_from, _date_words),
    "booked_to": Filter("Booked to", _booked_to, _date_words),
    "service": Filter(
        "Service", _of_service, lambda value, choices: choices.services.get(value, value)
    ),
    "carrier": Filter(
        "Carrier",
        _by_number("account"),
        lambda value, choices: choices.carriers.get(value, "another one"),
    ),
    "size": Filter(
        "Size",
        _by_uuid("size__uuid"),
        lambda value, choices: choices.sizes.get(value, "one that is gone"),
    ),
    "country": Filter("Country", _of_country, lambda value, choices: countries.country_name(value)),
    "returns": Filter("Returns", _of_returns, lambda value, choices: RETURNS[value]),
    "printed": Filter("Label", _of_printed, lambda value, choices: PRINTED[value]),
    "by": Filter(
        "Made by",
        _by_number("made_by"),
        lambda value, choices: choices.people.get(value, "somebody who left"),
    ),
    "import": Filter(
        "Import", _by_uuid("import_row__file__uuid"), lambda value, choices: "one file"
    ),
}


def active_filters(query: QueryDict, scope: SenderScope) -> dict[str, Q]:
    """Return the valid filters by name. Unknown values are ignored."""
    found = {
        name: one.where(query.get(name, "")[:200], scope)
        for name, one in FILTERS.items()
        if query.get(name)
    }
    return {name: where for name, where in found.items() if where is not None}


def narrow_orders(orders: QuerySet[Order], filters: dict[str, Q]) -> QuerySet[Order]:
    if "pickup" in filters:
        orders = orders.annotate(pickup_day=PICKUP_DAY)
    for where in filters.values():
        orders = orders.filter(where)
    return orders


class Sort(NamedTuple):
    """Define a sort order, in words and as keys."""

    words: str
    keys: Keyset


SORTS = {
    "newest": Sort("Newest first", Keyset(is_descending=True)),
    "oldest": Sort("Oldest first", Keyset()),
    "pickup": Sort("By pickup day", Keyset("day", dt.date.fromisoformat)),
}


def list_page(orders: QuerySet[Order], sort: Sort, *, before: str, after: str = "") -> Page:
    """Return fifty parcels: those after the key `before`, or those ahead of the key `after`."""
    if sort.keys.column == "day":
        orders = orders.annotate(day=DAY)
    return sort.keys.page(orders, on=before, back=after)
