"""Close an account that has nothing open. It can't book, and is erased after a retention period."""

import datetime as dt

from django.conf import settings
from django.db import transaction

from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.jobs import erasing
from shipping_portal.refused import Refused

CLOSED = (
    "Its owner closed it. Take your data with you: all of it is deleted in {days} days, but the"
    " bills."
)


def closing_obstacles(sender: Sender) -> list[str]:
    """Return what prevents closing, in sentences."""
    return list(erasing.objections({"sender": [sender.pk]}).values())


@transaction.atomic
def close_account(sender: Sender, *, by: User, reason: str = "", now: dt.datetime) -> None:
    """Close an account by suspending it. Until it is erased, Reinstate undoes that.

    Raises Refused.
    """
    # No booking of this account becomes due until the transaction ends.
    Sender.locked(sender.pk)
    if why := closing_obstacles(sender):
        raise Refused(" ".join(why))
    closed = Sender.objects.filter(pk=sender.pk, closed_at=None).update(
        closed_at=now,
        suspended_at=now,
        suspension=Sender.Suspension.CLOSED,
        suspension_note="",
        suspension_text=CLOSED.format(days=settings.CLOSED_ACCOUNT_DAYS),
    )
    if not closed:
        raise Refused("This account is already closed.")
    Audit.write("account closed", sender, by=by, sender=sender, reason=reason, at=now)
