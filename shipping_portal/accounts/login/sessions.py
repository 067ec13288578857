"""Limit how long a login lasts, on the server: a copied cookie expires with it.

Senders: 12 hours, or 30 days if they asked to stay logged in. Operators: 8 hours, 60 minutes when
idle.
"""

import datetime as dt
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import logout
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from shipping_portal.accounts.login.session_store import key_digest
from shipping_portal.accounts.models import Session
from shipping_portal.jobs.retention import delete, term

STAFF_SECONDS = 8 * 3600
STAFF_IDLE_SECONDS = 3600
MOST_SHOWN = 100
NAME_LENGTH = 20
NOTE_EVERY_SECONDS = 60  # precision of the idle time; each update is a write


@dataclass(frozen=True)
class Live:
    """One place where a person is logged in. `name` is the start of its key's digest."""

    name: str
    device: str
    began_at: dt.datetime
    expires_at: dt.datetime
    is_this: bool


def end_old_sessions(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Log out expired sessions before the request reaches a page (middleware)."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated and _is_over(request, time.time()):
            logout(request)
        elif request.user.is_authenticated:
            request.session.setdefault("device", device_name(request.headers.get("User-Agent", "")))
        return get_response(request)

    return middleware


def end_all(user: Any) -> int:
    """Log this person out everywhere; return the number of places."""
    return _end_sessions(_sessions_of(user))


def live_sessions(user: Any, *, this_key: str | None) -> list[Live]:
    """Return where this person is logged in: this place first, then the newest.

    There are at most a hundred.
    """
    found, here = [], key_digest(this_key)
    for row in _sessions_of(user).order_by("-expire_date")[:MOST_SHOWN]:
        inside = row.get_decoded()
        found.append(
            Live(
                name=row.pk[:NAME_LENGTH],
                device=inside.get("device", "Unknown device"),
                began_at=dt.datetime.fromtimestamp(inside.get("began_at", 0), dt.UTC),
                expires_at=row.expire_date,
                is_this=row.pk == here,
            )
        )
    return sorted(found, key=lambda one: (not one.is_this, -one.began_at.timestamp()))


def end_session(user: Any, name: str, *, this_key: str | None) -> int:
    """Log this person out of the named place, unless it is this one; return how many ended."""
    if len(name) != NAME_LENGTH:
        return 0
    return _end_sessions(
        _sessions_of(user).exclude(pk=key_digest(this_key)).filter(pk__startswith=name)
    )


def end_others(user: Any, *, this_key: str | None) -> int:
    """Log this person out everywhere but here; return the number of places."""
    return _end_sessions(_sessions_of(user).exclude(pk=key_digest(this_key)))


def device_name(user_agent: str) -> str:
    """Return a browser's kind of device, enough to tell your own phone from a stranger's."""
    if re.search("iPad|Tablet", user_agent) or (
        "Android" in user_agent and "Mobile" not in user_agent
    ):
        return "Tablet"
    if re.search(r"Mobi|iPhone", user_agent):
        return "Phone"
    return (
        "Computer"
        if re.search(r"Windows|Macintosh|Linux|X11|CrOS", user_agent)
        else "Unknown device"
    )


def _sessions_of(user: Any) -> QuerySet[Session]:
    return Session.objects.filter(whose=user.pk, expire_date__gt=timezone.now())


def _end_sessions(places: QuerySet[Session]) -> int:
    count, _ = places.delete()
    return count


def _is_over(request: Any, now: float) -> bool:
    session, is_staff = request.session, request.user.is_staff
    began = session.setdefault("began_at", now)
    limit = STAFF_SECONDS if is_staff else session.get_expiry_age()
    seen = session.get("seen_at", now)
    if now - began > limit or (is_staff and now - seen > STAFF_IDLE_SECONDS):
        return True
    if is_staff and ("seen_at" not in session or now - seen > NOTE_EVERY_SECONDS):
        session["seen_at"] = now
    return False


@term("sessions")
def purge_sessions(now: dt.datetime) -> int:
    """Delete logins that have ended."""
    return delete(Session.objects.filter(expire_date__lt=now))
