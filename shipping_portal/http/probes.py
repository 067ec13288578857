"""Answer proxies and orchestrators under any host name: /livez if alive, /readyz if ready."""

import mmap
from collections.abc import Callable

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

from shipping_portal.ops.starting import end_if_restored

# One byte with which gunicorn's master tells its workers that it is stopping
# (gunicorn_settings.py).
draining = mmap.mmap(-1, 1)


def answer_probes(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Answer both before host, session or login are checked; reveal nothing else to strangers."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.path not in PROBES:
            return get_response(request)
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        is_well = PROBES[request.path]()
        words, status = ("ok", 200) if is_well else ("unavailable", 503)
        headers = {"Cache-Control": "no-store", "Content-Type": "text/plain; charset=utf-8"}
        return HttpResponse(words, status=status, headers=headers)

    return middleware


def _is_ready() -> bool:
    """Return whether the database answers and the server isn't stopping.

    The carrier isn't asked.
    """
    if draining[0]:
        return False
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        end_if_restored()
    except Error:
        return False
    return True


PROBES: dict[str, Callable[[], bool]] = {"/livez": lambda: True, "/readyz": _is_ready}
