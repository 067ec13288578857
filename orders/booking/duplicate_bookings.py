"""Track duplicate bookings: a reply named a reference that isn't the order's.

The carrier may charge for both, and only the order's own booking can be printed or cancelled here.
The duplicate stays listed in the admin until an operator has had the unused booking voided.
"""

import datetime as dt
from typing import Any

from django.db import transaction
from django.db.models import Case, DateTimeField, Exists, OuterRef, Q, QuerySet, Value, When
from django.db.models.functions import Upper

from orders.models import BookingAttempt, Order
from shipping_portal.accounts.models import Audit
from shipping_portal.refused import Refused


def waiting_duplicates(order: Order) -> QuerySet[BookingAttempt]:
    """Return unresolved attempts that were answered with a reference other than the order's."""
    return order.attempts.filter(duplicate_booking_at__isnull=False).order_by("generation")


def note_answers(order: Order, *, at: dt.datetime, answered: BookingAttempt | None = None) -> None:
    """Compare the references in replies with the order's. The caller has locked the order."""
    is_own = Q(seen_reference__upper=(order.carrier_reference or "").upper())
    of_account = Order.objects.filter(account=order.account_id)
    # and charged there
    known = of_account.filter(carrier_reference__upper=Upper(OuterRef("seen_reference")))
    is_another = ~is_own & ~Q(seen_reference="") & ~Exists(known) & Q(duplicate_booking_at=None)
    if answered:
        is_another &= Q(pk=answered.pk)
    noted = Case(When(is_another, then=Value(at)), default=None, output_field=DateTimeField())
    order.attempts.filter(is_another | is_own & Q(duplicate_booking_at__isnull=False)).update(
        duplicate_booking_at=noted
    )


@transaction.atomic
def resolve_duplicate(order: Order, *, by: Any, reason: str, now: dt.datetime) -> None:
    """Resolve a duplicate once an operator has asked the carrier. Raises Refused."""
    references = [
        attempt.seen_reference for attempt in waiting_duplicates(order).select_for_update()
    ]
    if not waiting_duplicates(order).update(duplicate_booking_at=None):
        raise Refused("No second order waits any more.")
    named = ", ".join(references)
    Audit.write(
        "second order resolved",
        order,
        by=by,
        sender=order.sender,
        reason=f"{named}: {reason}",
        at=now,
    )
