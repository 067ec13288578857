"""What an operator reads and does where the carrier may have made two orders of one."""

import datetime as dt
from typing import Any

from orders import second_orders
from orders.models import Order
from shipping_portal.accounts.models import User
from shipping_portal.staff.admin.acts import Act


def notice(order: Order) -> str:
    """What happened and what to do, for the top of the order's page; "" where nothing waits."""
    told = [f"attempt {it.generation} named {it.seen_reference}" for it in second_orders.waiting(order)]
    if not told:
        return ""
    own = f"has {order.carrier_reference}" if order.carrier_reference else "has no reference"
    return (
        f"Second carrier order: this order {own}, but the carrier's answer to {' and to '.join(told)}. "
        "The carrier may charge for both. Ask them to void the one not used, then press Second order settled."
    )


def _settle(order: Order, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    second_orders.settle(order, by=by, reason=cleaned["reason"], now=now)


SETTLED = Act(
    name="second-order-settled",
    label="Second order settled",
    explains="Once the carrier has voided the order that is not used, or says that there is none: write down what "
    "they said. This order itself stays as it is.",
    do=_settle,
    needs="resolve",
    applies=lambda order: second_orders.waiting(order).exists(),
    refusals=(second_orders.NothingWaits,),
)
