"""Change an order's state: its status by the table MOVES, and its progress from tracking."""

import datetime as dt
from functools import partial
from typing import Any

import structlog
from django.db import transaction
from django.db.models import BigIntegerField, UUIDField
from django.utils import timezone

from orders.booking import limits
from orders.models import Order, OrderChange
from orders.models.statuses import MOVES, STILL_AT_SENDER, Progress, Status
from orders.notices import notifications, parcel_events
from shipping_portal.accounts.address import receivers
from shipping_portal.accounts.mail import outbox
from shipping_portal.db.planned_statements import Given, PlannedSelect, insert_row, update_row

OF_FORM = PlannedSelect(
    Order.objects.filter(
        sender=Given("sender", BigIntegerField()), form_token=Given("token", UUIDField())
    )
)
logger = structlog.get_logger(__name__)


@transaction.atomic(savepoint=False)
def create_due(
    order: Order, *, by: Any, reason: str, at: dt.datetime, is_another: bool = False
) -> None:
    """Save a new, due order together with its limits, its change row and its receiver's use.

    Raises LimitReached, Order.SameForm if another submission of its form was faster, and
    Order.Duplicate for another return of the same parcel, unless `is_another`.
    """
    due = {"status": Status.BOOKING, "submitted_at": at, "due_at": at}
    # this locks the sender, so simultaneous presses are handled one at a time
    with limits.counting(order, Status.BOOKING, {}, at) as counted:
        if order.returns_id and not is_another and order.other_returns().exists():
            raise Order.Duplicate
        for name, value in {**due, **counted}.items():
            setattr(order, name, value)
        # This isn't left to the constraint's error, because the database's log would quote the
        # receiver.
        if not insert_row(order, conflict="ON CONFLICT (sender_id, form_token) DO NOTHING"):
            raise Order.SameForm
        change = OrderChange(
            order=order, old=Status.DRAFT, new=Status.BOOKING, by=by, reason=reason, at=at
        )
        insert_row(change)
        _log_change(change)
        if order.returns_id is None:  # a return goes to the sender
            receivers.count_use(order.sender, order.details().receiver, at=at)


@transaction.atomic(savepoint=False)
def move_to(
    order: Order, new: str, *, by: Any = None, reason: str, at: dt.datetime, **changes: Any
) -> None:
    """Change a saved order's status: compare-and-swap, limits, change row and notice together.

    `changes` are other fields written with it. Raises WrongStatus, leaving the row alone, if the
    change isn't in MOVES or another process changed the order since it was read; for `booking` also
    LimitReached. All that the caller's transaction wrote is then rolled back with it.
    """
    old = order.status
    changes = {**Order.NOTHING_WENT_WRONG, "dismissed_at": None, **changes}
    if new not in MOVES[old]:
        raise Order.WrongStatus(f"{order} is {old}, which cannot become {new}")
    if new == Status.BOOKING:
        changes["submitted_at"] = at
    # the sender's row before the order's, as everywhere
    with limits.counting(order, new, changes, at) as counted:
        changes |= counted
        # The same status can come back with a later booking, which this move knows nothing about.
        seen = {"status": old, "generation": order.generation}
        change = OrderChange(order=order, old=old, new=new, by=by, reason=reason[:500], at=at)
        if not update_row(order, seen, {"status": new, **changes}, change):
            raise Order.WrongStatus(f"{order} is no longer {old}")
        # The start of a booking causes no notification.
        if old != Status.BOOKING:
            # Following a stale "Book it now" after the parcel was booked would charge for it twice.
            outbox.retract_events(f"change:{order.pk}")
        for name, value in {"status": new, **changes}.items():
            setattr(order, name, value)
        notifications.notify_move(change)
        parcel_events.note_move(change)
        _log_change(change)


def _log_change(change: OrderChange) -> None:
    fields = change.order.log_fields()
    transaction.on_commit(
        partial(logger.info, "order_moved", old=change.old, new=str(change.new), **fields)
    )


@transaction.atomic(savepoint=False)
def advance(order: Order, progress: str, *, at: dt.datetime | None) -> None:
    """Store a parcel's progress with its notice and event, and note a cancelled label's use (§2.5).

    The caller has locked the order. Unchanged progress isn't written. `at` is the time of the scan
    with this progress, or of the last scan if there is none.
    """
    changes: dict[str, Any] = {"progress": progress, "progress_at": at}
    is_new = (order.progress, order.progress_at) != (progress, at)
    moved = progress not in STILL_AT_SENDER
    if (
        moved
        and order.cancelled_at
        and at
        and at > order.cancelled_at
        and not order.used_after_cancel_at
    ):
        changes["used_after_cancel_at"] = at
    if moved or progress == Progress.EXPIRED:
        changes["cancel_refused_at"] = None
    if is_new:
        changes["dismissed_at"] = None
    changes = {name: value for name, value in changes.items() if getattr(order, name) != value}
    if changes:
        Order.objects.filter(pk=order.pk).update(**changes)
    for name, value in changes.items():
        setattr(order, name, value)
    if is_new:
        notifications.notify_progress(order)
        parcel_events.note_progress(order, timezone.now())
