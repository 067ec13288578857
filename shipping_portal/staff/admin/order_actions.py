"""Act on one order: cancel it, resolve a cancellation, undo a decision, close a case."""

import datetime as dt
from functools import partial

from django.db import transaction
from django.utils import timezone

from orders.booking import duplicate_bookings
from orders.cancelling import cancel_outcomes, cancels
from orders.cancelling.cancel_rules import CANNOT_CANCEL, can_cancel
from orders.drafting.receivers import who_and_where
from orders.models import CancelAttempt, Order
from orders.models.statuses import Status
from shipping_portal.accounts.adminkit.actions import AdminAction
from shipping_portal.accounts.formatting import money_in
from shipping_portal.accounts.models import Audit, User
from shipping_portal.staff.resolution import deciding, undoing


@transaction.atomic
def _cancel(order: Order, *, reason: str, by: User, now: dt.datetime) -> None:
    cancels.ask_to_cancel(order, by=by, why=f"for the sender: {reason}", now=now)
    Audit.write(
        "cancelled for the sender", order, by=by, sender=order.sender, reason=reason, at=now
    )


def _is_unclear(order: Order) -> bool:
    unclear = order.cancels.filter(state=CancelAttempt.State.UNKNOWN)
    is_open = order.status in {Status.CANCEL_UNCONFIRMED, Status.CANCEL_ASKED}
    return is_open and unclear.exists()


def _changes(order: Order, *, status: str, charge: str) -> list[list[str]]:
    """Return which parcel it is and what the action changes, as its page's table."""
    return [
        [who_and_where(order), "Now", "After"],
        ["Status", order.get_status_display(), status],
        ["Charge", money_in(order.total, order.currency), charge],
    ]


def duplicate_booking_notice(order: Order) -> str:
    """Return what happened and what to do, for the top of the order's page, or ""."""
    named = [
        f"attempt {it.generation} named {it.seen_reference}"
        for it in duplicate_bookings.waiting_duplicates(order)
    ]
    if not named:
        return ""
    own = f"has {order.carrier_reference}" if order.carrier_reference else "has no reference"
    return (
        f"Second carrier order: this order {own}, but the carrier's answer to"
        f" {' and to '.join(named)}. The carrier may charge for both. Ask it to void the unused"
        " one, then press Second order resolved."
    )


act = partial(
    AdminAction,
    needs="resolve",
    refusals=CANNOT_CANCEL,
)
UNDO = AdminAction(
    name="undo-adoption",
    label="Undo the adoption",
    explains=(
        "The adopted reference belongs to another order, and no one has its label. This order"
        " becomes unclear again. The reference, its scans and its charges are released for the"
        " right order. The sender is told not to book it again."
    ),
    do=undoing.undo_adoption,
    needs="resolve",
    applies=lambda order: undoing.is_adopted(order) and not undoing.undo_obstacle(order),
)
CONTEST = AdminAction(
    name="contest-adoption",
    label="Contest the adoption",
    explains=(
        "The adopted reference belongs to another order, and someone has its label or has acted on"
        " its charges. This order becomes a conflict, and the sender is told not to use the label."
        " Its reference, scans and charges are released for the right order, except disputed or"
        " reversed charges: deal with those on their own pages. Then press Resolve, and ask the"
        " sender which label is on which parcel."
    ),
    do=undoing.contest_adoption,
    needs="resolve",
    applies=lambda order: undoing.is_adopted(order) and bool(undoing.undo_obstacle(order)),
)
OPEN_AGAIN = AdminAction(
    name="booked-after-all",
    label="It is booked after all",
    explains=(
        "Use this if a scan, a charge or the carrier shows that it has this parcel. The order"
        " becomes a conflict, and the sender is told not to book it again. Then press Resolve and"
        " adopt its reference."
    ),
    do=deciding.open_again,
    needs="resolve",
    applies=deciding.is_resolved_as_not_booked,
    refusals=(Order.WrongStatus,),
)
RESOLVED = AdminAction(
    name="second-order-resolved",
    label="Second order resolved",
    explains=(
        "Use this once the carrier has voided the unused order, or says there is none. Record what"
        " they said. This order doesn't change."
    ),
    do=duplicate_bookings.resolve_duplicate,
    needs="resolve",
    applies=lambda order: duplicate_bookings.waiting_duplicates(order).exists(),
)
CANCEL = act(
    name="cancel",
    label="Cancel for the sender",
    explains=(
        "Only before it is picked up. Never cancel after a missed or futile pickup: arrange another"
        " day with the carrier. The sender sees that it's being cancelled."
    ),
    do=_cancel,
    needs="cancel_for_sender",
    preview=partial(_changes, status="Being cancelled", charge="Credited later"),
    applies=lambda order: can_cancel(order, timezone.now()),
)
CONFIRMED = act(
    name="carrier-cancelled-it",
    label="The carrier cancelled it",
    explains=(
        "Only if the carrier confirms it. The sender sees “Cancelled”, and any replacement is"
        " booked now."
    ),
    do=partial(cancel_outcomes.resolve, is_cancelled=True),
    preview=partial(_changes, status="Cancelled", charge="Credited later"),
    applies=_is_unclear,
)
STILL_BOOKED = act(
    name="still-booked",
    label="It is still booked",
    explains=(
        "Only if the carrier confirms it. The sender can use the label again, or ask to cancel"
        " again."
    ),
    do=partial(cancel_outcomes.resolve, is_cancelled=False),
    preview=partial(_changes, status="Booked", charge="Stays"),
    applies=_is_unclear,
)
