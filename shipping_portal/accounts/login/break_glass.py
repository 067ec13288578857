"""Let a superuser log in by a link made on the server, if passwords aren't used.

The link works for ten minutes, and until its first login is complete. A second factor is still
asked for.
"""

import datetime as dt

from django.conf import settings
from django.core import signing
from django.urls import reverse
from django.utils import timezone

from shipping_portal.accounts.models import Audit, User

SALT = "break glass"
GOOD_FOR = dt.timedelta(minutes=10)


def make_link(person: User) -> str:
    """Return a link for this superuser, and record it."""
    Audit.write("break-glass link made", person, by=None, at=timezone.now())
    token = signing.dumps([person.pk, _last_login(person)], salt=SALT)
    return settings.SITE_URL + reverse("break_glass", args=[token])


def find_superuser(token: str) -> User | None:
    """Return the superuser whose link this is, while it works."""
    try:
        key, last_login = signing.loads(token, salt=SALT, max_age=GOOD_FOR)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    person = User.objects.filter(pk=key, is_superuser=True, is_active=True).first()
    return person if person and _last_login(person) == last_login else None


def _last_login(person: User) -> str:
    return person.last_login.isoformat() if person.last_login else ""
