"""The rows of the parcels list. Every word is worked out here: fifty rows of templates cost more than all the rest."""

import datetime as dt
import uuid
from collections.abc import Iterable
from typing import Any

from django.urls import reverse

from orders.meaning import reason, standing
from orders.models import Order
from orders.receivers import sees_contact, shown
from shipping_portal.accounts.models import Sender
from shipping_portal.accounts.templatetags.words import chip, local_date, money

# What a row is made of; an order's other columns, its texts for the carrier above all, stay in the database.
COLUMNS = (
    "uuid", "sender_id", "status", "progress", "progress_at", "booked_at", "used_after_cancel_at", "pickup",
    "cancel_refused_at", "problem", "first_mile", "carrier_pickup_date", "pickup_date", "quoted_pickup_date",
    "eta_to", "price", "charged_price", "currency",
    "carrier_reference", "customer_reference", "receiver_name", "receiver_suburb", "receiver_state",
    "receiver_postcode",
)  # fmt: skip
ANY = uuid.UUID(int=0)


def rows(orders: Iterable[Order], sender: Sender, role: str, now: dt.datetime) -> list[dict[str, Any]]:
    """One dictionary of words for each order, all of the one sender."""
    address = reverse("parcel", args=[ANY])
    return [_row(order, sender, role, now, address) for order in orders]


def _row(order: Order, sender: Sender, role: str, now: dt.datetime, address: str) -> dict[str, Any]:
    order.sender = sender  # read for its time zone; every row's sender is this one
    receiver, key = shown(order, role), str(order.uuid)
    return {
        "order": order,
        "key": key,
        "address": address.replace(str(ANY), key),
        "reference": order.carrier_reference or "Not booked",
        "is_referred": bool(order.carrier_reference),
        "theirs": order.customer_reference,
        "name": receiver.name,
        "place": receiver.place,
        "chip": chip(*standing(order, now)),
        "reason": reason(order) if sees_contact(role) else "",
        "pickup": _pickup(order, sender),
        "due": local_date(order.eta_to, sender) or "–",
        "price": money(order.total, order.currency),
    }


def _pickup(order: Order, sender: Sender) -> str:
    if order.first_mile == "drop-off":
        return "Drop-off"
    return local_date(order.expected_pickup(), sender) or "Next business day"
