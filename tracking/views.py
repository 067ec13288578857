"""Receive webhooks: `POST` with credentials in the URL, no session, no CSRF, no redirect."""

import base64
import hashlib
import hmac

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from orders.calling import carrier_settings
from orders.calling.carrier_settings import CarrierSettings
from shipping_portal.accounts.access import public
from tracking.receiving import intake

LARGEST_BODY = 64 * 1024


@public
@csrf_exempt
def webhook(request: HttpRequest, token: str = "") -> HttpResponse:
    """Answer 200 once a webhook is stored.

    401 asks for credentials, 403 for https; 404 means wrong credentials or a wrong signature, 413 a
    body that is too large.

    After a reply other than 2xx the carrier tries up to 3 times more (interface §6.5). So an
    authenticated, complete body of reasonable size always gets 200 while the database accepts it. A
    body that broke off gets 400: if we acknowledged it, its scan would be lost.
    """
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    # The secret was sent in clear text; if we accepted it, nobody would notice.
    if settings.SECURE and not request.is_secure():
        intake.count_refusal("over plain http", now=timezone.now())
        return HttpResponse("Use https.", status=403, content_type="text/plain")
    given = token or _basic_credentials(request)
    if given is None:
        return HttpResponse(status=401, headers={"WWW-Authenticate": 'Basic realm="webhooks"'})
    configured = _account_of_secret(given, in_path=bool(token))
    if configured is None:
        intake.count_refusal("wrong credentials", now=timezone.now())
        return HttpResponse("Not found", status=404, content_type="text/plain")
    try:
        body = _read_body(request)
    except _Unread as problem:
        intake.count_refusal(str(problem), now=timezone.now())
        return HttpResponse(status=problem.answer)
    if not _is_signed(request, body, configured):
        intake.count_refusal("wrong signature", now=timezone.now())
        return HttpResponse("Not found", status=404, content_type="text/plain")
    intake.receive_delivery(body, configured, now=timezone.now())
    return HttpResponse("stored", content_type="text/plain")


def _is_signed(request: HttpRequest, body: bytes, configured: CarrierSettings) -> bool:
    """Return whether the body has a valid signature, or its carrier doesn't sign webhooks."""
    if not configured.signs_webhooks:
        return True
    return configured.client_class.has_valid_signature(
        body, request.headers, configured.webhook_key, now=timezone.now()
    )


class _Unread(Exception):
    """Raised when a body isn't stored: the reason to count, and the status to answer."""

    def __init__(self, reason: str, answer: int) -> None:
        super().__init__(reason)
        self.answer = answer


def _read_body(request: HttpRequest) -> bytes:
    """Return the whole body. Raises _Unread if it is too large, incomplete or has no marked end.

    Beware of chunked bodies: without a Content-Length Django reads nothing, so the body is read
    from the server, which knows its end (gunicorn sets `wsgi.input_terminated`).
    """
    length = request.META.get("CONTENT_LENGTH") or ""
    has_end = request.META.get("wsgi.input_terminated", False)
    if not (length or has_end) and "HTTP_TRANSFER_ENCODING" in request.META:
        raise _Unread("no length", 411)
    try:
        body: bytes = (request.META["wsgi.input"] if has_end else request).read(LARGEST_BODY + 1)
    except Exception as problem:
        # Each web server has its own exceptions for a broken body.
        raise _Unread("broken off", 400) from problem
    if len(body) > LARGEST_BODY:
        raise _Unread("larger than 64 KiB", 413)
    if length.isdecimal() and len(body) < int(length):
        raise _Unread("broken off", 400)
    return body


def _basic_credentials(request: HttpRequest) -> str | None:
    """Return `user:secret` from the Authorization header; some clients send it only after a 401."""
    scheme, _, encoded = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.casefold() != "basic":
        return None
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except ValueError:  # not base64, ASCII or UTF-8
        return ""


def _account_of_secret(given: str, *, in_path: bool) -> CarrierSettings | None:
    """Return the account that a delivery belongs to, by its secret.

    A URL path contains only the part after the colon. Every accepted secret of every account is
    compared, in constant time.
    """
    accepted = [
        (configured, secret.partition(":")[2] if in_path else secret)
        for configured in carrier_settings.all_settings()
        for secret in configured.webhook_secrets
    ]
    matches = [
        (hmac.compare_digest(_secret_digest(given), _secret_digest(secret)), configured)
        for configured, secret in accepted
        if secret
    ]
    return next((configured for is_its, configured in matches if is_its), None)


def _secret_digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
