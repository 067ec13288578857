"""Read which parcels a page of labels is for, and the address that leads back to it."""

import uuid

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render

from orders.labels import printing

LONGEST_QUERY = 3500  # an address length that every server accepts


def read_uuids(texts: list[str]) -> list[uuid.UUID]:
    """Return the valid UUIDs among these texts."""
    return [found for text in texts if (found := read_uuid(text))]


def read_uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def queue_query(query: QueryDict | str) -> str:
    """Return the address of this queue, or the plain queue if the chosen parcels don't fit."""
    given = QueryDict(query) if isinstance(query, str) else query
    kept = QueryDict(mutable=True)
    for name in ("order", "view", "sort"):
        kept.setlist(name, given.getlist(name))
    text = kept.urlencode()
    return text if len(text) < LONGEST_QUERY else ""


def too_many_labels(request: HttpRequest) -> HttpResponse:
    """Return a page that shows how many parcels fit on a page of labels."""
    return render(request, "orders/print_queue_too_many.html", {"most": printing.MOST}, status=422)
