"""Pausing the carrier for everybody, and what follows the carrier's own stop."""

import datetime as dt
from collections.abc import Mapping

from django.db import transaction

from orders.models import CarrierAccount
from shipping_portal.accounts.models import Audit, User


class AlreadySo(Exception):
    """Somebody else was faster; the text is for the operator."""


def pause(account: CarrierAccount, *, text: str, by: User, reason: str, now: dt.datetime) -> None:
    """No new booking is sent for anybody; the text is shown to senders. What was sent is still settled."""
    changes = {"paused_at": now, "pause_text": text}
    _change(
        account,
        {"paused_at": None},
        changes,
        "carrier paused",
        "Bookings are paused already.",
        by,
        reason,
        now,
    )


def resume(account: CarrierAccount, *, by: User, reason: str, now: dt.datetime) -> None:
    where = {"paused_at__isnull": False}
    changes = {"paused_at": None, "pause_text": ""}
    _change(account, where, changes, "carrier resumed", "Bookings are on already.", by, reason, now)


def try_now(account: CarrierAccount, *, by: User, reason: str, now: dt.datetime) -> None:
    """The carrier had refused the account: the next booking asks it again at once instead of in five minutes."""
    where = {"stopped_at__isnull": False}
    _change(
        account,
        where,
        {"probe_due_at": now},
        "account probed",
        "The account is not stopped.",
        by,
        reason,
        now,
    )


def _change(
    account: CarrierAccount,
    where: Mapping[str, object],
    changes: Mapping[str, object],
    action: str,
    otherwise: str,
    by: User,
    reason: str,
    now: dt.datetime,
) -> None:
    with transaction.atomic():
        if not CarrierAccount.objects.filter(pk=account.pk, **where).update(**changes):
            raise AlreadySo(otherwise)
        Audit.write(action, account, by=by, reason=reason, at=now)
