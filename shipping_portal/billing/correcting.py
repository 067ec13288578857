"""The operator's own lines: credits, and lines that reverse another one. A posted line itself never changes."""

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction

from orders import gateway
from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing import notifications, week_sums
from shipping_portal.billing.models import Charge, ChargeKind, week_of


class NotReversible(Exception):
    """The line is not posted, has no owner, reverses another one, or was reversed before."""


def credit(
    sender: Sender,
    amount: Decimal,
    currency: str,
    *,
    by: User,
    now: dt.datetime,
    reason: str,
    order: Order | None = None,
) -> Charge:
    """Give a sender so much (more than 0) on this week's statement. Raises ValueError for another sender's order."""
    if amount <= 0 or (order and order.sender_id != sender.pk):
        raise ValueError(f"{amount} for {sender}")
    return _post(
        **_ours(sender, by, now, reason), account=order.account if order else gateway.account(), order=order,
        kind=ChargeKind.CREDIT, stated=amount, amount=-amount, currency=currency,
        reference=(order.carrier_reference or "") if order else "",
    )  # fmt: skip


def reverse(charge: Charge, *, by: User, now: dt.datetime, reason: str) -> Charge:
    """Take a posted line back by one of the same kind and the opposite amount. Raises NotReversible."""
    if charge.posted_at is None or charge.sender is None or charge.reverses_id:
        raise NotReversible
    try:
        with transaction.atomic():
            notifications.taken_back(charge)
            return _post(
                **_ours(charge.sender, by, now, reason), account=charge.account, order=charge.order,
                kind=charge.kind, stated=-charge.amount, amount=-charge.amount, currency=charge.currency,
                reference=charge.reference, reverses=charge,
            )  # fmt: skip
    except IntegrityError:
        raise NotReversible from None


@transaction.atomic
def _post(*, sender: Sender, week: dt.date, **line: Any) -> Charge:
    made = Charge.objects.create(sender=sender, week=week, **line)
    week_sums.add_up([(sender.pk, week)])
    return made


def _ours(sender: Sender, by: User, now: dt.datetime, reason: str) -> dict[str, Any]:
    """Return what every line of ours has; it is posted at once, in the week it is where the sender is."""
    day = now.astimezone(sender.tzinfo).date()
    return {
        "sender": sender, "key": uuid.uuid4().hex, "by": by, "reason": reason[:500], "posted_at": now,
        "day": day, "week": week_of(day),
    }  # fmt: skip
