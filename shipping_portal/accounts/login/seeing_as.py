"""Let an operator view a sender's own pages, read-only, for half an hour and with a reason.

The operator stays logged in as themselves, so the logs and the audit name them. `lent_membership`
gives them a membership that is never stored, and `refuse_all_but_reading` runs before every
sender's page. Pages that aren't in PAGES are closed, so operators can't reach a label, signed link,
file or one-time key. Without permission to reveal personal data, they see it masked, as a
bookkeeper does. Viewing ends when the login or the permission does.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.utils import timezone

from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.models import Audit, Membership, Role, Sender

KEY = "seeing_as"  # session key
TERM = dt.timedelta(minutes=30)
PAGES = {
    "today",
    "parcels",
    "parcel",
    "parcel_by_reference",
    "watched",
    "watched_parcel",
    "more",
    "billing",
    "statement",
    "reports",
    "refunds",
    "import",
}


class OnlyLooking(PermissionDenied):
    """Raised for a page or a change that is closed to an operator who is only viewing."""


def begin_seeing_as(request: Any, sender: Sender, *, reason: str, now: dt.datetime) -> None:
    """Begin viewing this sender's pages."""
    Audit.write("seen as the sender", sender, by=request.user, sender=sender, reason=reason, at=now)
    request.session[KEY] = {"sender": sender.pk, "until": (now + TERM).isoformat()}


def stop_seeing_as(request: Any, *, now: dt.datetime) -> Sender | None:
    """Stop viewing a sender's pages, and return the sender."""
    kept = request.session.pop(KEY, None)
    sender = Sender.objects.filter(pk=kept["sender"]).first() if kept else None
    if sender:
        Audit.write("no longer seen as the sender", sender, by=request.user, sender=sender, at=now)
    return sender


def lent_membership(request: Any, is_operator: Callable[[Any], bool]) -> Membership | None:
    """Return the membership lent to an operator for the account they are viewing, or None."""
    kept = request.session.get(KEY)
    if kept is None:
        return None
    until = dt.datetime.fromisoformat(kept["until"])
    sender = Sender.objects.filter(pk=kept["sender"]).first()
    if sender is None or until <= timezone.now() or not _may_see_as(request.user, is_operator):
        del request.session[KEY]
        return None
    request.user.sees_as, request.seen_until = sender.pk, until
    role = Role.OWNER if permissions.may(request.user, "reveal") else Role.BOOKKEEPER
    return Membership(user=request.user, sender=sender, role=role)


def _may_see_as(user: Any, is_operator: Callable[[Any], bool]) -> bool:
    return is_operator(user) and permissions.may(user, "see_as")


def refuse_all_but_reading(request: Any) -> None:
    """Raise OnlyLooking for anything except reading PAGES while an operator is viewing."""
    if getattr(request.user, "sees_as", None) is None:
        return
    if request.method not in {"GET", "HEAD"} or request.resolver_match.url_name not in PAGES:
        raise OnlyLooking
