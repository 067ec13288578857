"""An operator sees a sender's own pages as they are seen there: for a reason, for half an hour, and changes nothing.

The operator stays who they are, so logs and audit name them. `membership` lends them a place in the account that is
never stored, and `refuse_all_but_reading` is asked before every page of a sender's: what is not named in PAGES is
closed, so no label, no signed link, no file and no one-time key is reached. Who may not reveal personal data sees it
masked, as a bookkeeper does. It ends with the log-in, and with the permission.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.utils import timezone

from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.models import Audit, Membership, Role, Sender

KEY = "seeing_as"  # of the session
TERM = dt.timedelta(minutes=30)
PAGES = {
    *("today", "parcels", "parcel", "parcel_by_reference", "watched", "watched_parcel", "more"),
    *("billing", "statement", "reports", "refunds", "import"),
}


class OnlyLooking(PermissionDenied):
    """A page, or a change, that is closed to whoever only looks."""


def begin(request: Any, sender: Sender, *, reason: str, now: dt.datetime) -> None:
    """Begin to see this sender's pages."""
    Audit.write("seen as the sender", sender, by=request.user, sender=sender, reason=reason, at=now)
    request.session[KEY] = {"sender": sender.pk, "until": (now + TERM).isoformat()}


def stop_looking(request: Any, *, now: dt.datetime) -> Sender | None:
    """End it, and return whose pages they were."""
    kept = request.session.pop(KEY, None)
    sender = Sender.objects.filter(pk=kept["sender"]).first() if kept else None
    if sender:
        Audit.write("no longer seen as the sender", sender, by=request.user, sender=sender, at=now)
    return sender


def membership(request: Any, is_at_the_desk: Callable[[Any], bool]) -> Membership | None:
    """Return the place that an operator is lent in the account they look at; None for whoever looks at none."""
    kept = request.session.get(KEY)
    if kept is None:
        return None
    until = dt.datetime.fromisoformat(kept["until"])
    sender = Sender.objects.filter(pk=kept["sender"]).first()
    if sender is None or until <= timezone.now() or not _may(request.user, is_at_the_desk):
        del request.session[KEY]
        return None
    request.user.sees_as, request.seen_until = sender.pk, until
    role = Role.OWNER if permissions.may(request.user, "reveal") else Role.BOOKKEEPER
    return Membership(user=request.user, sender=sender, role=role)


def _may(user: Any, is_at_the_desk: Callable[[Any], bool]) -> bool:
    return is_at_the_desk(user) and permissions.may(user, "see_as")


def refuse_all_but_reading(request: Any) -> None:
    """Raise OnlyLooking for all but reading one of PAGES, while an operator looks."""
    if getattr(request.user, "sees_as", None) is None:
        return
    if request.method not in {"GET", "HEAD"} or request.resolver_match.url_name not in PAGES:
        raise OnlyLooking
