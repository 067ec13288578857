"""Answer webhooks before the middleware, without session, CSRF or page (docs/decisions/0030).

This and the address in urls.py call the same `views.webhook`.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.db import connection
from django.http import HttpRequest, HttpResponse

from shipping_portal.http.database_outage import AWAY, answer_503_when_the_database_is_away
from shipping_portal.http.middleware import attach_request_id
from tracking import views

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
START = "/webhooks/tracking"
ADDRESS = re.compile(rf"{START}(?:/([^/]+))?/?")  # as in tracking/urls.py


def webhooks_first(portal: Application) -> Application:
    """Return a WSGI application that answers webhooks itself and passes on everything else.

    A database connection stays open for the next webhook; `intake.receive_delivery` notices a lost
    one.
    """
    answer = attach_request_id(answer_503_when_the_database_is_away(_answer_webhook))

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if not environ["PATH_INFO"].startswith(START):
            return portal(environ, start_response)
        request = WSGIRequest(environ)
        if not ADDRESS.fullmatch(request.path_info):
            return portal(environ, start_response)
        response: Any = answer(request)
        # Deliveries are in the admin, so they need no line in the access log.
        environ["portal.recorded"] = response.status_code == 200
        response["Content-Length"] = len(response.content)
        start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
        # Not the response itself: closing that would make the next request check the database
        # first.
        return [response.content]

    return application


def _answer_webhook(request: HttpRequest) -> HttpResponse:
    found = ADDRESS.fullmatch(request.path_info)
    try:
        return views.webhook(request, token=(found[1] or "") if found else "")
    except AWAY:
        # The next request begins with a new connection.
        connection.close()
        raise
