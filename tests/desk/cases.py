"""Orders that end up at the desk."""

from typing import Any

from django.utils import timezone

from orders.models import BookingAttempt, Order
from shipping_portal.accounts.models import Sender, User
from tests import factories

BODY = b'{"receiver": {"contact": {"name": "Noor Tamsin"}}}'


def unclear(of: Sender, by: User, *, status: str = "unconfirmed", **attempt: Any) -> Order:
    """An order whose one attempt went out and brought no usable answer back."""
    order = factories.order(of, by, status=status)
    now = timezone.now()
    values = {
        "generation": 1,
        "body": BODY,
        "body_sha256": "0" * 64,
        "state": "unknown",
        "lease_until": now,
        "sent_at": now,
        "done_at": now,
        "error": "the connection closed before the answer",
    }
    BookingAttempt.objects.create(order=order, **{**values, **attempt})
    return order
