"""What proxies and orchestrators ask, by any host name: /livez, is this process alive; /readyz, may it take traffic."""

import mmap
from collections.abc import Callable

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

from shipping_portal.ops.starting import end_if_restored

# One byte that gunicorn's master shares with the workers it forks: it is being told to stop (gunicorn_settings.py).
draining = mmap.mmap(-1, 1)


def answer_probes(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Answer the two before a host name, a session or a login is asked for; say nothing else to strangers."""

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
    """Return whether the database answers and nobody told this server to stop. The carrier is not asked."""
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
