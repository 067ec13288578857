"""What an operator does about cancellations: one for a sender who cannot, and the end of one that stayed unclear."""

import datetime as dt
from typing import Any

from django.db import transaction
from django.utils import timezone

from orders import cancelling
from orders.models import CancelAttempt, Order
from orders.models.statuses import Status
from shipping_portal.accounts.models import Audit, User
from shipping_portal.staff.admin.acts import Act


def _cancel(order: Order, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    with transaction.atomic():
        cancelling.ask(order, by=by, why=f"for the sender: {cleaned['reason']}", now=now)
        Audit.write(
            "cancelled for the sender", order, by=by, sender=order.sender, reason=cleaned["reason"], at=now
        )


def _confirmed(order: Order, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    cancelling.settle(order, is_cancelled=True, by=by, reason=cleaned["reason"], now=now)


def _still_booked(order: Order, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    cancelling.settle(order, is_cancelled=False, by=by, reason=cleaned["reason"], now=now)


def _is_unclear(order: Order) -> bool:
    unclear = order.cancels.filter(state=CancelAttempt.State.UNKNOWN)
    return order.status == Status.CANCEL_UNCONFIRMED and unclear.exists()


REFUSALS = (Order.WrongStatus, Order.PickupProblem, Order.AlreadyCollected)
CANCEL = Act(
    name="cancel",
    label="Cancel for the sender",
    explains="Only while nobody has collected it. After a missed or futile pickup never cancel: another day is agreed "
    "with the carrier. The sender reads that it is being cancelled.",
    do=_cancel,
    needs="cancel_for_sender",
    applies=lambda order: order.can_cancel(timezone.now()),
    refusals=REFUSALS,
)
CONFIRMED = Act(
    name="carrier-cancelled-it",
    label="The carrier cancelled it",
    explains="Only when the carrier says so. The sender reads “Cancelled”, and what was to replace it is booked now.",
    do=_confirmed,
    needs="resolve",
    applies=_is_unclear,
    refusals=REFUSALS,
)
STILL_BOOKED = Act(
    name="still-booked",
    label="It is still booked",
    explains="Only when the carrier says so. The sender may use the label again, or ask once more to cancel.",
    do=_still_booked,
    needs="resolve",
    applies=_is_unclear,
    refusals=REFUSALS,
)
