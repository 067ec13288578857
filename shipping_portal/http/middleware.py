"""Middleware for every request: its id, unusual requests, security headers, cookies, gzip."""

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

Answer = Callable[[HttpRequest], HttpResponseBase]  # a middleware, or the next handler

REQUEST_ID = re.compile(rf"[A-Za-z0-9-]{{8,{LONGEST}}}")


def attach_request_id(get_response: Answer) -> Answer:
    """Give each request an id: a trusted proxy's, or else our own. Every log line has it."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get("X-Request-ID", "") if settings.TRUSTED_PROXY_COUNT else ""
        request.id = given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex  # type: ignore[attr-defined]
        with structlog.contextvars.bound_contextvars(request=request.id):  # type: ignore[attr-defined]
            response = get_response(request)
        response.headers["X-Request-ID"] = request.id  # type: ignore[attr-defined]
        return response

    return middleware


# The pages use no browser features, except writing an address to the clipboard.
PERMISSIONS = (
    "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), serial=(), usb=()"
)
# The addresses of these pages contain one-time keys. Only the origin is sent as referrer: with
# "no-referrer" a browser would send "Origin: null", and the CSRF check would fail.
KEYS_IN_ADDRESS = ("/accounts/", "/follow/", "/invitation/", "/unsubscribe/")
# Readers of these pages have no account. Somebody who is logged in sees them as a stranger does,
# without being logged out.
WITHOUT_COOKIES = ("/follow/",)


def set_security_headers(get_response: Answer) -> Answer:
    """Send security headers, and keep pages with one-time keys out of caches (middleware)."""

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


def drop_cookies(get_response: Answer) -> Answer:
    """Stop some pages from reading or setting cookies (middleware)."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if not request.path.startswith(WITHOUT_COOKIES):
            return get_response(request)
        request.META.pop("HTTP_COOKIE", None)
        response = get_response(request)
        response.cookies.clear()
        return response

    return middleware


# Gzip: docs/decisions/0010 says why it leaks nothing, and what is sent uncompressed.
WORDS = {
    "text/html",
    "text/css",
    "text/csv",
    "text/javascript",
    "image/svg+xml",
    "application/json",
}
# These pages contain keys, codes and links that work for anyone who has them.
PLAIN = ("/accounts/", "/admin/", "/invitation/", "/unsubscribe/", "/webhooks/")


def gzip_pages(get_response: Answer) -> Answer:
    """Compress text, and streamed lists, unless marked `no-transform` (middleware)."""
    gzip = GZipMiddleware(get_response)

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        return (
            gzip.process_response(request, response)
            if _may_be_zipped(request, response)
            else response
        )

    return middleware


def _may_be_zipped(request: HttpRequest, response: HttpResponseBase) -> bool:
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    is_marked = "no-transform" in response.headers.get("Cache-Control", "")
    # a range counts the bytes of the uncompressed file
    is_whole = response.status_code != 206
    return kind in WORDS and is_whole and not is_marked and not request.path.startswith(PLAIN)


FORMS = {"application/x-www-form-urlencoded", "multipart/form-data"}
BODILESS = {"GET", "HEAD"}
METHODS = ["GET", "HEAD", "POST"]
# read unchanged, with limits of its own
KEPT_RAW = ("/webhooks/", "/csp-reports/", "/api/")


def reject_unusual_requests(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Reject what no browser sends: other methods, a NUL in the address, bodies that aren't forms.

    PostgreSQL can't store a NUL.

    Django limits a body's fields, but not its files, which it would write to the server's disk.
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
            if _content_length(request) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
                raise RequestDataTooBig("The request is larger than any form here.")
        response = get_response(request)
        is_of_a_button = response.status_code == 405 and request.method == "GET"
        if is_of_a_button and not request.path.startswith(KEPT_RAW):
            # A browser that restores its tabs requests these addresses.
            response.content = render(request, "405.html").content
        return response

    return middleware


def _is_form(request: HttpRequest) -> bool:
    """Return whether the body is plain UTF-8 fields, or empty; the page handles an empty one."""
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        return False
    letters = (request.content_params or {}).get("charset", "utf-8").lower()
    return letters == "utf-8" and (request.content_type in FORMS or not _content_length(request))


def _content_length(request: HttpRequest) -> int:
    text = request.META.get("CONTENT_LENGTH") or "0"
    return int(text) if text.isascii() and text.isdigit() else 0
