"""Recognise browsers that a person has used, by signed cookie: guessing elsewhere can't block them.

The cookie doesn't log anybody in. A thief gets as many guesses from one address as before, and no
more.
"""

from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac

SALT = "known browser"
SECONDS = 180 * 24 * 3600
MOST = 8  # people who share a packing bench


def is_known(request: HttpRequest, email: str) -> bool:
    """Return whether somebody has logged in to this account with this browser."""
    return _account_name(email) in _read_names(request)


def remember_browser(request: HttpRequest, response: HttpResponse, user: Any) -> None:
    name = _account_name(user.email)
    names = [name, *(other for other in _read_names(request) if other != name)][:MOST]
    response.set_cookie(
        settings.KNOWN_BROWSER_COOKIE,
        signing.dumps(names, salt=SALT),
        max_age=SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _read_names(request: HttpRequest) -> list[str]:
    try:
        found = signing.loads(
            request.COOKIES.get(settings.KNOWN_BROWSER_COOKIE, ""), salt=SALT, max_age=SECONDS
        )
    except signing.BadSignature:
        return []
    return [str(name) for name in found]


def _account_name(email: str) -> str:
    """Return a hashed name for an account: the cookie must reveal no address."""
    return salted_hmac(SALT, email.lower()).hexdigest()[:20]
