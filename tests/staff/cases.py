"""Orders that end up in the admin."""

from typing import Any

from django.utils import timezone

from orders.models import BookingAttempt, Order
from shipping_portal.accounts.models import Sender, User
from tests import factories

BODY = b'{"receiver": {"contact": {"name": "Noor Tamsin"}}}'


def unclear(of: Sender, by: User, *, status: str = "unconfirmed", **attempt_fields: Any) -> Order:
    """An order whose only attempt was sent and got no usable reply."""
    order = factories.order(of, by, status=status)
    attempt(order, **{"error": "the connection closed before the answer", **attempt_fields})
    return order


def attempt(of: Order, **fields: Any) -> BookingAttempt:
    now = timezone.now()
    values = {
        "generation": 1,
        "body": BODY,
        "body_sha256": "0" * 64,
        "state": "unknown",
        "lease_until": now,
        "sent_at": now,
        "done_at": now,
    }
    return BookingAttempt.objects.create(order=of, **{**values, **fields})
