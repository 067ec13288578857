"""Compare-and-swaps on a row that changed since it was read."""

from collections.abc import Callable
from typing import Any

from django.db.models import Model

from orders.models import Order
from shipping_portal.billing.reports.posting import NotReady
from shipping_portal.refused import Refused

SAID_NO = (Order.WrongStatus, Refused, NotReady)


def row(of: Model) -> dict[str, Any]:
    """Return the row as it is in the database."""
    return type(of)._default_manager.filter(pk=of.pk).values().get()  # type: ignore[attr-defined]


def stays(of: Model, differs: dict[str, Any], change: Callable[[], Any]) -> Any:
    """Change the row after it was read, try the swap, and assert that it wrote nothing. Return its result."""
    type(of)._default_manager.filter(pk=of.pk).update(**differs)  # type: ignore[attr-defined]
    before = row(of)
    try:
        answer = change()
    except SAID_NO:
        answer = False
    assert row(of) == before
    return answer
