"""Write the parcels export, limited to what a role sees: no signed link, label or raw reply."""

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

from django.db import models
from django.db.models import QuerySet

from orders.calling import gateway
from orders.drafting.receivers import masked_name, sees_contact
from orders.models import Order
from orders.status.status_labels import status_label
from shipping_portal.accounts.access import BOOKKEEPER
from shipping_portal.accounts.models import ParcelSize, Sender, User

Cell = Callable[[Order, dt.datetime], object]
# List the columns that a row and its status need, in the model's order: `from_db` requires it.
COLUMNS = (
    "id",
    "receiver_name",
    "receiver_company",
    "receiver_email",
    "receiver_phone",
    "receiver_line1",
    "receiver_line2",
    "receiver_suburb",
    "receiver_state",
    "receiver_postcode",
    "receiver_country",
    "pickup",
    "weight_kg",
    "length_cm",
    "width_cm",
    "height_cm",
    "customer_reference",
    "pickup_date",
    "size_id",
    "product_name",
    "first_mile",
    "price",
    "currency",
    "quoted_pickup_date",
    "eta_from",
    "eta_to",
    "carrier_reference",
    "carrier_pickup_date",
    "charged_price",
    "public_tracking_url",
    "account_id",
    "made_by_id",
    "returns_id",
    "parcel_number",
    "parcel_count",
    "status",
    "progress",
    "progress_at",
    "booked_at",
    "cancelled_at",
    "used_after_cancel_at",
    "cancel_refused_at",
    "erased_at",
    "note",
    "printed_at",
)
AT_ONCE = 500


def read_orders(orders: QuerySet[Order], sender: Sender) -> Iterator[Order]:
    """Yield one sender's orders with the columns that rows show; read each user once.

    `defer` would cost more time than it saves.
    """
    given = frozenset(COLUMNS)
    people, sizes = _Once(User), _Once(ParcelSize)
    for values in orders.values_list(*COLUMNS).iterator(chunk_size=AT_ONCE):
        order = Order.from_db("default", given, values)
        order.sender, order.made_by = sender, people[order.made_by_id]
        order.size = sizes[order.size_id] if order.size_id else None
        yield order


class _Once(dict[int, Any]):
    """Cache a model's rows by key, each read on first use."""

    def __init__(self, model: type[models.Model]) -> None:
        super().__init__()
        self.rows: Any = model._default_manager

    def __missing__(self, key: int) -> Any:
        # A size may be deleted while the file is written.
        return self.setdefault(key, self.rows.filter(pk=key).first())


def export_columns(
    role: str, sender: Sender
) -> tuple[list[str], Callable[[Order, dt.datetime], list[object]]]:
    """Return the headings, and a function from order to row. Times are in the sender's zone.

    The carrier's name comes last, if two carriers take new orders.
    """
    chosen = {**_COMMON, **_receiver_columns(role), **_MONEY}

    def moment(at: dt.datetime | None) -> str:
        return f"{at.astimezone(sender.tzinfo):%Y-%m-%d %H:%M}" if at else ""

    chosen["Booked"] = lambda order, now: moment(order.booked_at)
    chosen["Cancelled"] = lambda order, now: moment(order.cancelled_at)
    if sees_contact(role):
        chosen["Label printed"] = lambda order, now: moment(order.printed_at)
        chosen["Note"] = lambda order, now: order.note
        chosen["Public tracking page"] = lambda order, now: order.public_tracking_url
    if titles := gateway.carrier_titles():
        chosen["Carrier"] = lambda order, now: titles.get(order.account_id, "")
    return list(chosen), lambda order, now: [cell(order, now) for cell in chosen.values()]


def _receiver_columns(role: str) -> dict[str, Cell]:
    if role == BOOKKEEPER:
        return {
            "To": lambda order, now: masked_name(order.receiver_name),
            "Postcode": _attribute_column("receiver_postcode"),
            "Country": _attribute_column("receiver_country"),
        }
    fields = {"To": "name", "Company": "company", "Suburb": "suburb", "State": "state"}
    if sees_contact(role):
        fields |= {
            "E-mail": "email",
            "Phone": "phone",
            "Address": "line1",
            "Address line 2": "line2",
        }
    fields |= {"Postcode": "postcode", "Country": "country"}
    return {head: _attribute_column(f"receiver_{name}") for head, name in fields.items()}


def _attribute_column(name: str) -> Cell:
    return lambda order, now: getattr(order, name)


def _pickup_cell(order: Order, now: dt.datetime) -> object:
    return "Drop-off" if order.first_mile == "drop-off" else order.expected_pickup()


def _person_cell(order: Order, now: dt.datetime) -> Any:
    return order.made_by.get_full_name()


_COMMON: dict[str, Cell] = {
    "Reference": _attribute_column("carrier_reference"),
    "Your order number": _attribute_column("customer_reference"),
    "Status": lambda order, now: status_label(order, now)[1],
    "Return": lambda order, now: "yes" if order.returns_id else "",
    "Parcel of order": _attribute_column("place_in_order"),
}
_MONEY: dict[str, Cell] = {
    "Service": _attribute_column("product_name"),
    "Size": lambda order, now: order.size.name if order.size else "",
    "Weight, kg": _attribute_column("weight_kg"),
    "Length, cm": _attribute_column("length_cm"),
    "Width, cm": _attribute_column("width_cm"),
    "Height, cm": _attribute_column("height_cm"),
    "Pickup": _pickup_cell,
    "Due from": _attribute_column("eta_from"),
    "Due by": _attribute_column("eta_to"),
    "Price": _attribute_column("total"),
    "Currency": _attribute_column("currency"),
    "Made by": _person_cell,
}
