"""Pages are sent in gzip. docs/decisions/0010 says why that leaks nothing, and what is sent as it is."""

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import BadRequest, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render

WORDS = {"text/html", "text/css", "text/javascript", "image/svg+xml", "application/json"}
# Here stand keys, codes and links that act for whoever holds them.
PLAIN = ("/accounts/", "/admin/", "/invitation/", "/unsubscribe/", "/webhooks/")


def gzip_pages(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Compress whole answers made of words, never one that is marked `no-transform` (middleware)."""
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


FORMS = {"application/x-www-form-urlencoded", "multipart/form-data"}
BODILESS = {"GET", "HEAD", "OPTIONS", "TRACE"}
KEPT_RAW = "/webhooks/"  # those bytes are stored as they come, whatever they are (tracking/views.py)


def refuse_what_no_browser_sends(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Refuse a NUL in the address, which PostgreSQL can't store, and a body that is no form, packed or too large.

    Django limits the fields of a body, not the files, which it would write to the disk of a server that takes none.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        if "\x00" in request.path:
            raise Http404
        if "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("NUL in the query")
        if request.method not in BODILESS and not request.path.startswith(KEPT_RAW):
            if not _is_form(request):
                return render(request, "400.html", status=415)
            if _length(request) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
                raise RequestDataTooBig("The body is larger than any form of ours.")
        return get_response(request)

    return middleware


def _is_form(request: HttpRequest) -> bool:
    """Return whether the body is UTF-8 fields, not packed; or nothing at all, which is for the page to judge."""
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        return False
    letters = (request.content_params or {}).get("charset", "utf-8").lower()
    return letters == "utf-8" and (request.content_type in FORMS or not _length(request))


def _length(request: HttpRequest) -> int:
    text = request.META.get("CONTENT_LENGTH") or "0"
    return int(text) if text.isascii() and text.isdigit() else 0
