"""What holds for every request: its id, what no browser sends, what browsers are told, and pages in gzip."""

import re
import uuid
from collections.abc import Callable

import structlog
from django.conf import settings
from django.core.exceptions import BadRequest, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render

from shipping_portal.request_ids import LONGEST

REQUEST_ID = re.compile(rf"[A-Za-z0-9-]{{8,{LONGEST}}}")


def know_the_request(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Give each request an id: the proxy's, where one is trusted, else our own. Every log line of it has the id."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get("X-Request-ID", "") if settings.TRUSTED_PROXY_COUNT else ""
        request.id = given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex  # type: ignore[attr-defined]
        with structlog.contextvars.bound_contextvars(request=request.id):  # type: ignore[attr-defined]
            response = get_response(request)
        response.headers["X-Request-ID"] = request.id  # type: ignore[attr-defined]
        return response

    return middleware


# Nothing of a browser's beyond the page is used, but writing an address to the clipboard.
PERMISSIONS = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), serial=(), usb=()"
# Their addresses hold keys of one use. The origin alone is told, as without any the check against forged forms fails:
# "no-referrer" makes a browser send "Origin: null".
KEYS_IN_ADDRESS = ("/accounts/", "/invitation/", "/unsubscribe/")


def tell_the_browser(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Say what a browser must not do for a page, and keep those with one-time keys in no cache (middleware)."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        if request.path.startswith(KEYS_IN_ADDRESS):
            response.headers.setdefault("Cache-Control", "private, no-store")
            response.headers.setdefault("Referrer-Policy", "strict-origin")
        return response

    return middleware


# Gzip: docs/decisions/0010 says why it leaks nothing, and what is sent as it is.
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
BODILESS = {"GET", "HEAD"}
METHODS = ["GET", "HEAD", "POST"]
KEPT_RAW = ("/webhooks/", "/csp-reports/")  # taken as they come, whatever they are, within limits of their own


def refuse_what_no_browser_sends(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Refuse other methods, a NUL in the address, which PostgreSQL can't store, and a body that no form sends.

    Django limits the fields of a body, not the files, which it would write to the disk of a server that takes none.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.method not in METHODS and not request.path.startswith(KEPT_RAW):
            return HttpResponseNotAllowed(METHODS)
        if "\x00" in request.path:
            raise Http404
        if "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("NUL in the query")
        if request.method not in BODILESS and not request.path.startswith(KEPT_RAW):
            if not _is_form(request):
                return render(request, "400.html", status=415)
            if _length(request) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
                raise RequestDataTooBig("The request is larger than any form here.")
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
