"""Closing an account: refused while anything of it is open, then it books nothing, and is erased by its term."""

import datetime as dt

from django.conf import settings
from django.db import transaction

from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.jobs import erasing

CLOSED = "Its owner closed it. Take your data with you: all of it is deleted in {days} days, but the bills."


class CannotClose(Exception):
    """Something of the account is open still; the text says what, and when to try again."""


def in_the_way(sender: Sender) -> list[str]:
    """Return what stands against closing, in sentences."""
    return list(erasing.objections({"sender": [sender.pk]}).values())


@transaction.atomic
def close(sender: Sender, *, by: User, reason: str = "", now: dt.datetime) -> None:
    """Close it as a suspension does, for good. Raises CannotClose. Until it is erased, Reinstate takes this back."""
    Sender.objects.select_for_update(no_key=True).get(pk=sender.pk)  # no booking of it is owed meanwhile
    if why := in_the_way(sender):
        raise CannotClose(" ".join(why))
    closed = Sender.objects.filter(pk=sender.pk, closed_at=None).update(
        closed_at=now, suspended_at=now, suspension=Sender.Suspension.CLOSED, suspension_note="",
        suspension_text=CLOSED.format(days=settings.CLOSED_ACCOUNT_DAYS),
    )  # fmt: skip
    if not closed:
        raise CannotClose("This account is already closed.")
    Audit.write("account closed", sender, by=by, sender=sender, reason=reason, at=now)
