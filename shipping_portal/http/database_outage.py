"""Detect that the database is down, and answer 503 instead of 500."""

import sys
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.signals import got_request_exception
from django.db import Error, InterfaceError, OperationalError, connection
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils.html import escape

AWAY = (OperationalError, InterfaceError)
RETRY_AFTER_SECONDS = 5

PAGE = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Back in a moment | {escape(settings.BRAND_NAME)}</title>
</head>
<body>
<main>
<p>{escape(settings.BRAND_NAME)}</p>
<h1>Back in a moment</h1>
<p>We can't reach our records right now, so nothing new has been started.
Booked parcels are safe.</p>
<p>Wait a few seconds, then reload this page.</p>
</main>
</body>
</html>
"""


def database_answers() -> bool:
    """Return whether the database answers, after an error and outside a transaction.

    A lost connection is replaced.
    """
    if connection.connection is not None and connection.is_usable():
        return True
    connection.close()
    try:
        connection.ensure_connection()
    except Error:
        return False
    return True


def answer_503_when_the_database_is_away(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Turn the 500 for a lost, locked or refused database into a 503 with Retry-After.

    A violated constraint (IntegrityError) stays a 500: trying again wouldn't help.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        try:
            response = get_response(request)
        except AWAY:
            # Django's own 500 page would ask the session for its CSRF secret, and fail at the
            # database again.
            return _unavailable_page()
        return _unavailable_page() if getattr(request, "database_was_away", False) else response

    return middleware


# Each middleware turns exceptions below it into a 500, so the outermost one rarely sees them.
# This signal is sent for all exceptions, in views, sessions and every other middleware.
@receiver(got_request_exception)
def _note_lost_database(request: HttpRequest | None = None, **kwargs: Any) -> None:
    if request is not None and isinstance(sys.exception(), AWAY):
        request.database_was_away = True  # type: ignore[attr-defined]


def _unavailable_page() -> HttpResponse:
    response = HttpResponse(PAGE, status=503)
    response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    response["Content-Security-Policy"] = "default-src 'none'"
    response["Cache-Control"] = "no-store"
    return response
