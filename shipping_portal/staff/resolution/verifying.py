"""Verify a reference or order id from an operator with the carrier before it is stored."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max, Min, Q, QuerySet

from orders.calling import gateway, waiting
from orders.calling.contract import contract_of
from orders.models import BookingAttempt, Label, Order
from orders.models.restores import OLDER
from orders.models.statuses import Status
from orders.status.references import is_same
from shipping_portal.accounts.models import Audit
from shipping_portal.billing.models import Charge
from shipping_portal.carrier.errors import CarrierError, OperationOff
from shipping_portal.carrier.naming import Names, names_in
from shipping_portal.carrier.reading import read_cancel_state
from shipping_portal.carrier.values import normalise_word
from shipping_portal.formats import admin_time
from shipping_portal.jobs.registry import enqueue
from shipping_portal.refused import Refused

UNCHECKED = "not checked: the carrier shows no tracking from here"
UNCOMPARED = "not compared: the carrier shows no orders from here"
NAMELESS = (
    "not compared: the carrier's order tells neither our order key nor our customer reference"
)
WHERE_THE_ID_IS = (
    "Open the order with this reference in the carrier's dashboard: the ID is on its page or in the"
    " page's address. Or send the support text, which asks for it."
)
NEEDS_ID = (
    "Enter the carrier's order ID too: only the carrier's order shows whose reference this is."
    f" {WHERE_THE_ID_IS}"
)
CLOCKS = dt.timedelta(seconds=5)  # how far our own machines' clocks may differ
MAY_HAVE_ARRIVED = sorted(
    {*BookingAttempt.State} - {BookingAttempt.State.NOT_SENT, BookingAttempt.State.REJECTED}
)


@dataclass(frozen=True)
class Confirmed:
    """What may be adopted.

    It has the reference as the carrier spells it, its id if known, and what wasn't compared.
    """

    reference: str
    order_id: str = ""
    doubt: str = ""

    def __str__(self) -> str:
        return f"{self.reference}, order id {self.order_id}" if self.order_id else self.reference


def confirm_reference(
    order: Order, typed: str, order_id: str = "", *, heard_at: dt.datetime | None = None
) -> Confirmed:
    """Ask the carrier whether this reference is this order's. Raises Refused.

    The carrier's tracking must know the reference, and its order must have our order key or
    customer reference, as far as the contract has ways to ask. `heard_at` is when anything first
    named the reference here, by our own clock.
    """
    reference = _as_spelled(order, typed.strip())
    if not reference:
        example = contract_of(order.account).reference_example
        raise Refused(f"This isn't a carrier reference. One looks like {example}.")
    _refuse_another_orders(order, reference)
    _refuse_heard_before(order, reference, heard_at)
    is_named, doubt = _check_tracking(order, reference)
    order_id = order_id or known_order_id(order, reference)
    if not can_view(order):
        return Confirmed(reference, order_id, doubt or UNCOMPARED)
    if order_id:
        return _check_order(order, reference, order_id)
    if is_named:
        return Confirmed(reference)
    raise Refused(NEEDS_ID)


def can_view(order: Order) -> bool:
    """Return whether the carrier shows its orders, so that references can be compared."""
    return contract_of(order.account).operation("view") is not None


def _as_spelled(order: Order, typed: str) -> str:
    """Return a reference as a reply to us spelled it, or else as typed, in a case that fits.

    Returns "" if this can't be a reference.
    """
    parts = (
        order.attempts.filter(seen_reference__upper=typed.upper())
        .values_list("seen_reference", flat=True)
        .first()
    )
    return parts or contract_of(order.account).reference_typed(typed)


def _refuse_another_orders(order: Order, reference: str) -> None:
    same = Order.objects.filter(
        account=order.account_id, carrier_reference__upper=reference.upper()
    )
    other = same.exclude(pk=order.pk).first()
    if other:
        raise Refused(
            f"Another order already has this reference: order {other.pk}. If it was adopted there"
            " by mistake, undo that adoption first, then adopt it here."
        )


def _refuse_heard_before(order: Order, reference: str, heard_at: dt.datetime | None) -> None:
    """Refuse a reference that the carrier named before this order existed.

    It belongs to another parcel.
    """
    unmatched = Charge.objects.unmatched()
    billed = unmatched.filter(account=order.account_id, reference__upper=reference.upper())
    charged_at = billed.aggregate(at=Min("report__uploaded_at"))["at"]
    heard = min((at for at in (heard_at, charged_at) if at), default=None)
    sent = sent_between(order)[0]
    if heard and heard < sent - CLOCKS:
        raise Refused(
            "It belongs to another parcel: we first saw this reference at"
            f" {admin_time(heard, seconds=True)}, before this order could have reached the carrier"
            f" ({admin_time(sent, seconds=True)}). Use another reference, or send the support text,"
            " which asks for the right one."
        )


def _reason_of(error: CarrierError) -> str:
    return str(error).rstrip(".")


def _check_tracking(order: Order, reference: str) -> tuple[bool, str]:
    """Return whether the carrier's tracking confirms it, and what couldn't be checked."""
    try:
        tracked = gateway.carrier_of(order, is_person=True).track(reference)
    except OperationOff:
        return False, UNCHECKED
    except CarrierError as error:
        raise Refused(
            f"The carrier doesn't confirm this reference: {_reason_of(error)}. Check the spelling,"
            " or try again in a minute."
        ) from error
    names = names_in(tracked.body, contract_of(order.account))
    _refuse_another_name(order, names)
    return is_its_name(order, names) is True, ""


def _check_order(order: Order, reference: str, order_id: str) -> Confirmed:
    """Return the carrier's order with this id, if it is this very parcel's. Raises Refused."""
    try:
        viewed = gateway.carrier_of(order, is_person=True).view(order_id)
    except CarrierError as error:
        raise Refused(
            f"The carrier doesn't confirm this order ID: {_reason_of(error)}. Check it, or try"
            " again in a minute."
        ) from error
    if not is_same(viewed.reference, reference):
        raise Refused(
            f"That order ID belongs to another reference, {viewed.reference}. {WHERE_THE_ID_IS}"
        )
    names = names_in(viewed.body, contract_of(order.account))
    names = Names(
        order_key=viewed.order_key or names.order_key, customer_reference=names.customer_reference
    )
    _refuse_another_name(order, names)
    meaning = read_cancel_state(viewed.state, contract_of(order.account))
    if meaning in ("cancelled", "asked") and not order.is_held:
        raise Refused(
            "The carrier says it is cancelled, so it can't be adopted as booked. If the carrier has"
            " no other order for this parcel, resolve it as not booked."
        )
    doubt = NAMELESS if is_its_name(order, names) is None else ""
    return Confirmed(viewed.reference, order_id, doubt)


def _refuse_another_name(order: Order, names: Names) -> None:
    if is_its_name(order, names) is False:
        name = (
            f"order key {names.order_key}"
            if names.order_key
            else f"customer reference {names.customer_reference}"
        )
        raise Refused(
            f"The carrier has that parcel under another of our orders: {name}. Find that order and"
            " resolve it there. For this order, send the support text to the carrier."
        )


def lacks_order_id(order: Order) -> bool:
    """Return whether the carrier's id of an order is unknown.

    Without it the label can't be fetched, nor the order cancelled.
    """
    return order.is_held and not order.carrier_order_id


def add_order_id(
    order: Order, carrier_order_id: str, *, by: Any, reason: str, now: dt.datetime
) -> None:
    """Give an adopted order the carrier's id, and make its labels due.

    Raises Refused or waiting.Full.
    """
    order_id, doubt = carrier_order_id.strip(), UNCOMPARED
    if can_view(order):
        with waiting.at_a_page(by):
            doubt = _check_order(order, str(order.carrier_reference), order_id).doubt
    with transaction.atomic():
        as_checked = Order.objects.filter(
            pk=order.pk, carrier_order_id="", carrier_reference=order.carrier_reference
        )
        if not as_checked.update(carrier_order_id=order_id):
            raise Refused("This order already has one, or its adoption was undone.")
        due = order.labels.exclude(state=Label.State.STORED)
        due.update(state=Label.State.PENDING, due_at=now, problem="", **Label.AFRESH)
        enqueue("label", *order.labels.values_list("pk", flat=True))
        Audit.write(
            "carrier's order id added",
            order,
            by=by,
            sender=order.sender,
            reason=f"{order_id}: {with_doubt(reason, doubt)}",
            at=now,
        )


def with_doubt(reason: str, doubt: str) -> str:
    """Return the operator's reason, with what wasn't compared, for later readers."""
    return f"{reason} ({doubt})" if doubt else reason


def sent_between(order: Order) -> tuple[dt.datetime, dt.datetime]:
    """Return the first and last time at which the carrier can have heard of this order.

    If no attempt reached it, that is the time it was made. Pending work of a restored backup may
    have been sent at any time up to the restore, by attempts that are missing here.
    """
    return time_of_sending(with_sendings(Order.objects.filter(pk=order.pk)).get())


def with_sendings(orders: QuerySet[Order]) -> QuerySet[Any]:
    """Annotate each order with what `time_of_sending` needs."""
    fenced = Q(changes__new=Status.UNCONFIRMED, changes__reason=OLDER)
    arrived = Q(attempts__state__in=MAY_HAVE_ARRIVED)
    return orders.annotate(
        fenced_at=Max("changes__at", filter=fenced),
        first_sent_at=Min("attempts__sent_at", filter=arrived),
        last_sent_at=Max("attempts__sent_at", filter=arrived),
    )


def time_of_sending(order: Any) -> tuple[dt.datetime, dt.datetime]:
    """Return the same as `sent_between`, for an order that `with_sendings` read."""
    if order.fenced_at:
        return order.created_at, order.fenced_at
    return order.first_sent_at or order.created_at, order.last_sent_at or order.created_at


def known_order_id(order: Order, reference: str) -> str:
    """Return the carrier's id for an order, if the reply with this reference had one."""
    parts = (
        order.attempts.exclude(seen_reference="")
        .filter(seen_reference__upper=reference.upper())
        .order_by("pk")
        .last()
    )
    return names_in(bytes(parts.response), contract_of(order.account)).order_id if parts else ""


def is_its_name(order: Order, names: Names) -> bool | None:
    """Return whether these identifiers are this order's, or None if nothing can be compared.

    Our key is unique, so it decides; the customer reference is compared if there is no key.
    """
    if names.order_key:
        return names.order_key.startswith(str(order.uuid))  # of any generation
    if names.customer_reference and order.customer_reference:
        return normalise_word(names.customer_reference) == normalise_word(order.customer_reference)
    return None
