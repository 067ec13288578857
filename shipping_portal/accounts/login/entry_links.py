"""Log a person in from the partner's own pages by a link that works once, within a minute.

The partner's server asks for it, and the person's browser follows it. It logs in only that person
and opens the page it was made for. Operators can't log in this way, and a second factor that the
person has set up here is requested as at any login.
"""

import datetime as dt
import secrets

from django.conf import settings
from django.urls import reverse

from shipping_portal.accounts.models import EntryLink, Membership, User
from shipping_portal.accounts.teams.team import token_hash
from shipping_portal.jobs.retention import delete, term
from shipping_portal.refused import Refused

LONGEST = dt.timedelta(seconds=60)
# kept this long after it ends, so the page can say why it no longer works
KEPT = dt.timedelta(days=1)


def create_link(user: User, purpose: EntryLink.Purpose, path: str, *, now: dt.datetime) -> str:
    """Return a link for this person to one of our pages. Only the caller ever sees its token."""
    is_member = Membership.objects.filter(user=user).exists()
    if not (user.is_active and is_member) or user.is_staff or user.is_superuser:
        raise Refused("Only an active member of a sender's team can be handed over.")
    if not path.startswith("/") or path.startswith("//"):
        raise Refused("A link leads to a page of the portal.")
    token = secrets.token_urlsafe(32)
    EntryLink.objects.create(
        token_hash=token_hash(token),
        user=user,
        purpose=purpose,
        path=path,
        created_at=now,
        expires_at=now + LONGEST,
    )
    return settings.SITE_URL + reverse("enter", args=[token])


def find_link(token: str, *, now: dt.datetime) -> EntryLink | None:
    """Return the link with this token if it can still be used."""
    usable = EntryLink.objects.filter(used_at=None, created_at__lte=now, expires_at__gt=now)
    return usable.select_related("user").filter(token_hash=token_hash(token)).first()


def use_link(link: EntryLink, *, now: dt.datetime) -> bool:
    """Use up the link. If two browsers try at the same time, only one gets True."""
    unused = EntryLink.objects.filter(pk=link.pk, used_at=None, expires_at__gt=now)
    return unused.update(used_at=now) == 1


@term("entry links")
def purge_entry_links(now: dt.datetime) -> int:
    """Delete links a day after they ended."""
    return delete(EntryLink.objects.filter(expires_at__lt=now - KEPT))


def link_to_settings(user: User, *, now: dt.datetime) -> str:
    return create_link(user, EntryLink.Purpose.SETTINGS, reverse("settings"), now=now)
