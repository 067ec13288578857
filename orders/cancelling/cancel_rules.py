"""Check whether an order may be cancelled (interface §3).

It must be booked and not collected, with no missed pickup and no objection by the carrier.
"""

import datetime as dt

from orders.calling.contract import another_day, contract_of
from orders.models import Order
from orders.models.statuses import BEFORE_COLLECTION, STILL_AT_SENDER, Progress
from orders.status.status_sentences import missed_pickup_sentence

# What forbids a cancellation.
CANNOT_CANCEL = (Order.WrongStatus, Order.PickupProblem, Order.AlreadyCollected)
NO_WAY = "The carrier takes no cancellations from here. Contact us; we'll ask it."


def refuse_cancel_unless_allowed(order: Order, now: dt.datetime) -> None:
    """Raise one of CANNOT_CANCEL unless the order may be cancelled now."""
    if not order.is_booked:
        raise Order.WrongStatus(f"{order} is {order.get_status_display().lower()}")
    if contract_of(order.account).operation("cancel") is None:
        raise Order.WrongStatus(NO_WAY)
    if not order.carrier_order_id:
        raise Order.WrongStatus(
            "The carrier's number of it isn't known here. Contact us; we'll ask the carrier."
        )
    progress = order.shown_progress(now)
    if progress in {Progress.PICKUP_MISSED, Progress.PICKUP_FUTILE}:
        raise Order.PickupProblem(progress)
    if progress not in BEFORE_COLLECTION:
        raise Order.AlreadyCollected(progress)
    if order.is_cancellable is False:
        raise Order.WrongStatus("The carrier says that it can't be cancelled any more.")


def can_cancel(order: Order, now: dt.datetime) -> bool:
    """Return whether the order may be cancelled now."""
    try:
        refuse_cancel_unless_allowed(order, now)
    except CANNOT_CANCEL:
        return False
    return True


def why_not_cancelled_now(
    order: Order, progress: str, at: dt.datetime | None, *, now: dt.datetime
) -> str:
    """Return why a parcel with this progress can't be cancelled, for its sender, or ""."""
    if progress == Progress.PICKUP_MISSED:
        return missed_pickup_sentence(order, at, now)
    if progress == Progress.PICKUP_FUTILE:
        return (
            "The driver came but couldn't collect it. Don't cancel:"
            f" {another_day(account=order.account)}."
        )
    if progress not in STILL_AT_SENDER:
        where = "with the carrier" if order.first_mile == "drop-off" else "been picked up"
        return f"It's already {where}, so it can't be cancelled."
    return ""
