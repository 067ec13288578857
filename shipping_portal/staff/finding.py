"""One search for whatever a caller says: parcels, senders and people by it. What was looked for is written nowhere."""

import re
import uuid
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from orders.listing import clean_search
from orders.masking import without_emails
from orders.models import Order
from shipping_portal.accounts.models import Membership, PickupAddress, Sender, User
from shipping_portal.accounts.phones import spellings

MOST = 20
MOST_WORDS = 8
# A phone number is one word however it is spaced.
WORD = re.compile(r"[+(]?\d[\d ().-]{5,}\d|\S+")


def words(term: str) -> list[str]:
    """Return the words of a search, a spaced phone number as one of them."""
    return WORD.findall(term)[:MOST_WORDS]


def orders_by(word: str) -> Q:
    """Return what one word may be of an order: its text, a phone however spelled, a reference, a number, a sender."""
    found = Q(carrier_reference__upper=word.upper())
    for text in {word.lower(), *spellings(word)}:
        found |= Q(search__contains=text)
    # As a list of keys: a subquery beside the other conditions would read the whole table.
    found |= Q(sender__in=list(Sender.objects.filter(_named(word)).values_list("pk", flat=True)[:MOST]))
    if word.isdecimal() and len(word) < 10:
        found |= Q(pk=int(word))
    key = _uuid(word)
    return found | Q(uuid=key) if key else found


def senders_by(term: str) -> Q:
    """Return what may name a sender: its name or number, a person of it, a pickup place's phone, person or suburb."""
    people = Membership.objects.filter(user__name__icontains=term)
    places = Q(phone__in=[term, *spellings(term)]) | Q(name__icontains=term)
    places |= Q(suburb__iexact=term) | Q(postcode__iexact=term)
    found = Q(pk__in=people.values("sender")) | Q(pk__in=PickupAddress.objects.filter(places).values("sender"))
    return _named(term) | found


def _named(term: str) -> Q:
    """Return what names one sender and no other: its name, its number, the log-in of a member."""
    members = Membership.objects.filter(user__email=term.lower())
    return Q(name__icontains=term) | Q(pk=Sender.pk_of(term)) | Q(pk__in=members.values("sender"))


def exact(term: str) -> Order | None:
    """Return the one order whose carrier reference or own key this is."""
    key = _uuid(term)
    rule = Q(uuid=key) if key else Q(carrier_reference__upper=term.upper())
    found = list(Order.objects.filter(rule)[:2])
    return found[0] if len(found) == 1 else None


def find(request: HttpRequest) -> HttpResponse:
    """Answer what a caller's words lead to; a whole reference leads to its parcel at once."""
    from django.contrib import admin  # noqa: PLC0415  (the site imports this page)

    user: Any = request.user
    term = clean_search(request.GET.get("q", ""))
    if term and user.has_perm("orders.view_order") and (order := exact(term)):
        return redirect("admin:orders_order_change", order.pk)
    found = _groups(user, term) if term else {}
    context = {**admin.site.each_context(request), "title": "Find", "q": term, "most": MOST, **found}
    return TemplateResponse(request, "admin/find.html", context)


def _groups(user: Any, term: str) -> dict[str, Any]:
    """Return the first few of each group that this operator may see, one more than is shown."""
    found: dict[str, Any] = {}
    if user.has_perm("orders.view_order"):
        orders = Order.objects.select_related("sender").order_by("-pk")
        for word in words(term):
            orders = orders.filter(orders_by(word))
        found["orders"] = list(orders[: MOST + 1])
    if user.has_perm("accounts.view_sender"):
        found["senders"] = list(Sender.objects.filter(senders_by(term)).order_by("name", "pk")[: MOST + 1])
    if user.has_perm("accounts.view_user"):
        people = User.objects.filter(Q(email=term.lower()) | Q(name__icontains=term)).select_related(
            "membership__sender"
        )
        found["people"] = [(person, without_emails(person.email)) for person in people.order_by("pk")[: MOST + 1]]
    return found


def _uuid(word: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(word)
    except ValueError:
        return None
