"""Whose a reference is: what our own rows, and the names in a document of the carrier's, tell without asking."""

import datetime as dt

from django.db.models import Max, Min

from orders.contract import contract_of
from orders.models import BookingAttempt, Order
from orders.models.restores import OLDER
from orders.models.statuses import Status
from shipping_portal.carrier.naming import Names, names_in
from shipping_portal.carrier.values import fold

CLOCKS = dt.timedelta(seconds=5)  # by which the clocks of our own machines may differ
NEVER_ARRIVED = {BookingAttempt.State.NOT_SENT, BookingAttempt.State.REJECTED}


def sent_between(order: Order) -> tuple[dt.datetime, dt.datetime]:
    """The first and the last moment at which the carrier can have heard of this order.

    Without an attempt that reached it, the moment the order was made. What a restored backup owed may have been sent at
    any time up to the restore, by attempts that it knows nothing of.
    """
    fenced = order.changes.filter(new=Status.UNCONFIRMED, reason=OLDER).aggregate(at=Max("at"))["at"]
    if fenced:
        return order.created_at, fenced
    arrived = order.attempts.exclude(state__in=NEVER_ARRIVED)
    sent = arrived.aggregate(first=Min("sent_at"), last=Max("sent_at"))
    return sent["first"] or order.created_at, sent["last"] or order.created_at


def known_order_id(order: Order, reference: str) -> str:
    """The carrier's id for it, if the reply that named this reference told that too."""
    told = (
        order.attempts.exclude(seen_reference="")
        .filter(seen_reference__upper=reference.upper())
        .order_by("pk")
        .last()
    )
    return names_in(bytes(told.response), contract_of(order.account)).order_id if told else ""


def is_its_name(order: Order, said: Names) -> bool | None:
    """Do these names say that it is this order? None where they tell nothing that can be compared.

    Our key is unique, so it decides; a customer reference is compared where there is no key.
    """
    if said.order_key:
        return said.order_key.startswith(str(order.uuid))  # of any generation
    if said.customer_reference and order.customer_reference:
        return fold(said.customer_reference) == fold(order.customer_reference)
    return None
