"""An operator names a reference or an order id: the carrier is asked for it before it is kept."""

import datetime as dt
from typing import Any

from django.db import transaction

from orders import gateway
from orders.models import Label, Order
from shipping_portal.accounts.models import Audit
from shipping_portal.carrier.errors import CarrierError, OperationOff
from shipping_portal.carrier.messages import Booked
from shipping_portal.carrier.values import fold
from shipping_portal.jobs.registry import enqueue

UNCHECKED = "not checked: the carrier shows no tracking from here"


class NotConfirmed(Exception):
    """The carrier does not say so, or says something else; the text is for the operator."""


def confirm(order: Order, typed: str, carrier_order_id: str) -> str:
    """The reference, in the case the carrier uses, once its tracking knows it and it is free. Raises NotConfirmed.

    With an order id, which may be empty, the carrier must show that order under this reference too. Where the
    carrier shows no tracking, that is the only check.
    """
    reference = _as_told(order, typed.strip())
    if not reference:
        example = gateway.contract().reference_example
        raise NotConfirmed(f"This is no reference of the carrier's. One looks like {example}.")
    if Order.objects.filter(carrier_reference__iexact=reference).exclude(pk=order.pk).exists():
        raise NotConfirmed("Another order already has this reference.")
    try:
        gateway.carrier(order).track(reference)
    except OperationOff:
        pass  # see is_checked: who reads of it later is told that nobody checked
    except CarrierError as error:
        raise NotConfirmed(f"The carrier does not confirm this reference: {error}") from error
    return _viewed(order, reference, carrier_order_id).reference if carrier_order_id else reference


def is_checked(carrier_order_id: str = "") -> bool:
    """Can the carrier be asked about a reference at all, by its tracking or by this order id?"""
    return bool(carrier_order_id) or gateway.contract().operation("track") is not None


def _as_told(order: Order, typed: str) -> str:
    """In the case one of our replies named it; else as typed, in a case that a reference may have; "" if it is none."""
    told = (
        order.attempts.filter(seen_reference__iexact=typed).values_list("seen_reference", flat=True).first()
    )
    return told or gateway.contract().reference_typed(typed)


def _viewed(order: Order, reference: str, carrier_order_id: str) -> Booked:
    """The carrier's order with this id; it must be this very parcel's. Raises NotConfirmed."""
    try:
        viewed = gateway.carrier(order).view(carrier_order_id)
    except CarrierError as error:
        raise NotConfirmed(f"The carrier does not confirm this order id: {error}") from error
    if viewed.reference.casefold() != reference.casefold():
        raise NotConfirmed("That order id belongs to another reference.")
    if viewed.order_key and not viewed.order_key.startswith(str(order.uuid)):
        raise NotConfirmed("The carrier has that order under another order's name of ours.")
    if fold(viewed.state) == fold(gateway.contract().cancelled_word) and not order.is_held:
        raise NotConfirmed("The carrier says it is cancelled; adopting it would call it booked.")
    return viewed


def lacks_order_id(order: Order) -> bool:
    """Adopted by its reference alone: the label cannot be fetched, nor the order cancelled here."""
    return order.is_held and not order.carrier_order_id


def add_order_id(order: Order, carrier_order_id: str, *, by: Any, reason: str, now: dt.datetime) -> None:
    """Give an adopted order the carrier's id for it, and owe its labels anew. Raises NotConfirmed."""
    order_id = carrier_order_id.strip()
    _viewed(order, str(order.carrier_reference), order_id)
    with transaction.atomic():
        if not Order.objects.filter(pk=order.pk, carrier_order_id="").update(carrier_order_id=order_id):
            raise NotConfirmed("This order has one already.")
        owed = order.labels.exclude(state=Label.State.STORED)
        owed.update(state=Label.State.PENDING, due_at=now, problem="", **Label.AFRESH)
        enqueue("label", *order.labels.values_list("pk", flat=True))
        Audit.write(
            "carrier's order id added",
            order,
            by=by,
            sender=order.sender,
            reason=f"{order_id}: {reason}",
            at=now,
        )
