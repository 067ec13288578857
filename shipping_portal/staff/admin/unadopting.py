"""What an operator does about an adoption that was a mistake."""

import datetime as dt
from typing import Any

from orders.models import Order
from shipping_portal.accounts.models import User
from shipping_portal.staff.admin.acts import Act
from shipping_portal.staff.resolution import undoing


def _undo(order: Order, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    undoing.undo(order, by=by, reason=cleaned["reason"], now=now)


def _contest(order: Order, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    undoing.contest(order, by=by, reason=cleaned["reason"], now=now)


UNDO = Act(
    name="undo-adoption",
    label="Undo the adoption",
    explains="The adopted reference is another order's. This order becomes unclear again, and the reference, its scans "
    "and what is charged for it are free for the order they belong to. The sender is told not to book it again. "
    "Nobody has been given a label of it.",
    do=_undo,
    needs="resolve",
    applies=lambda order: undoing.stands(order) and not undoing.obstacle(order),
    refusals=(undoing.CannotUndo,),
)
CONTEST = Act(
    name="contest-adoption",
    label="Contest the adoption",
    explains="The adopted reference is another order's, and somebody has a label of it or has acted on its charges. "
    "This order becomes a conflict: the sender is told not to use the label. Its reference and scans are free for the "
    "order they belong to, and so are its charges, unless one was disputed or reversed: settle those on their own "
    "pages. Then press Resolve, and ask the sender which label is on which parcel.",
    do=_contest,
    needs="resolve",
    applies=lambda order: undoing.stands(order) and bool(undoing.obstacle(order)),
    refusals=(undoing.CannotUndo,),
)
