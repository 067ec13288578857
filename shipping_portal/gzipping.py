"""Pages go over the line in gzip. docs/decisions/0010 says why that gives nothing away, and what stays as it is."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

WORDS = {"text/html", "text/css", "text/javascript", "image/svg+xml", "application/json"}
# Here stand keys, codes and links that act for whoever holds them.
PLAIN = ("/accounts/", "/admin/", "/invitation/", "/unsubscribe/", "/webhooks/")


def gzip_pages(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Middleware: gzip for whole answers made of words, never for one that is marked `no-transform`."""
    gzip = GZipMiddleware(get_response)

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        return gzip.process_response(request, response) if _may(request, response) else response

    return middleware


def _may(request: HttpRequest, response: HttpResponseBase) -> bool:
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    is_marked = "no-transform" in response.headers.get("Cache-Control", "")
    is_whole = response.status_code != 206  # a part of a file counts the bytes of the file as it is
    return kind in WORDS and is_whole and not is_marked and not request.path.startswith(PLAIN)
