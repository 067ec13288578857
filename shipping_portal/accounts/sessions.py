"""How long a log-in lasts, counted on the server: a copied cookie dies with it.

Senders: 12 hours, or 30 days when they asked to stay logged in. Operators: 8 hours, 60 minutes when idle.
"""

import time
from collections.abc import Callable
from typing import Any

from django.contrib.auth import SESSION_KEY, logout
from django.contrib.sessions.models import Session
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

STAFF_SECONDS = 8 * 3600
STAFF_IDLE_SECONDS = 3600
NOTE_EVERY_SECONDS = 60  # how exactly idleness is known; each note is a write


def end_old_sessions(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: logs out whoever's time is over, before any page sees the request."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated and _is_over(request, time.time()):
            logout(request)
        return get_response(request)

    return middleware


def end_all(user: Any) -> int:
    """Log this person out everywhere, and say of how many places. Reads every session: who owns one is inside it."""
    live = Session.objects.filter(expire_date__gt=timezone.now())
    theirs = [row.pk for row in live.iterator() if row.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=theirs).delete()
    return len(theirs)


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
