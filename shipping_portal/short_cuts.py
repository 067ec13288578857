"""What answers before Django's handler does (shipping_portal/wsgi.py) has in common."""

from collections.abc import Callable, Iterable
from typing import Any

from django.http import HttpResponse

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def answer_server(
    response: HttpResponse, environ: dict[str, Any], start: Callable[..., Any], *, is_recorded: bool
) -> list[bytes]:
    """Answer the server with this response. What a row tells of, `is_recorded`, needs no line in the access log."""
    environ["portal.recorded"] = is_recorded
    response["Content-Length"] = len(response.content)
    start(f"{response.status_code} {response.reason_phrase}", list(response.items()))
    # Not the response itself: once closed, it would have the next one ask first whether the database is there.
    return [response.content]
