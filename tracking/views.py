"""The webhook listener: `POST` with credentials inside its URL, no session, no CSRF, no redirect."""

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
    """Answer 200 once stored, whatever it was; 401 asks for credentials, 403 https, 404 wrong ones, 413 too much.

    A reply other than 2xx makes the carrier try up to 3 times more (interface §6.5), so nothing that is
    authenticated, whole and of sane size is ever answered otherwise while the database takes it. A body that
    broke off is 400: acknowledged, its scan would be lost.
    """
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    if settings.SECURE and not request.is_secure():  # the secret is on the wire: accepted so, nobody would notice
        intake.refuse("over plain http", now=timezone.now())
        return HttpResponse("Use https.", status=403, content_type="text/plain")
    given = token or _basic(request)
    if given is None:
        return HttpResponse(status=401, headers={"WWW-Authenticate": 'Basic realm="webhooks"'})
    configured = _whose(given, in_path=bool(token))
    if configured is None:
        intake.refuse("wrong credentials", now=timezone.now())
        return HttpResponse("Not found", status=404, content_type="text/plain")
    try:
        body = _body(request)
    except _Unread as problem:
        intake.refuse(str(problem), now=timezone.now())
        return HttpResponse(status=problem.answer)
    intake.receive(body, configured, now=timezone.now())
    return HttpResponse("stored", content_type="text/plain")


class _Unread(Exception):
    """A body that is not stored: why, for the count, and the status to answer."""

    def __init__(self, reason: str, answer: int) -> None:
        super().__init__(reason)
        self.answer = answer


def _body(request: HttpRequest) -> bytes:
    """Return the whole body. Raises _Unread when it is too large, broke off, or has an end that nobody marks.

    The trap is a body in chunks: without a Content-Length Django reads nothing of it, so it is taken from the
    server, which knows where it ends (gunicorn says so by `wsgi.input_terminated`).
    """
    length = request.META.get("CONTENT_LENGTH") or ""
    has_end = request.META.get("wsgi.input_terminated", False)
    if not (length or has_end) and "HTTP_TRANSFER_ENCODING" in request.META:
        raise _Unread("no length", 411)
    try:
        body: bytes = (request.META["wsgi.input"] if has_end else request).read(LARGEST_BODY + 1)
    except Exception as problem:  # each web server has its own kinds of a broken body
        raise _Unread("broken off", 400) from problem
    if len(body) > LARGEST_BODY:
        raise _Unread("larger than 64 KiB", 413)
    if length.isdecimal() and len(body) < int(length):
        raise _Unread("broken off", 400)
    return body


def _basic(request: HttpRequest) -> str | None:
    """Return `user:secret` from the Authorization header; some clients send it only after a 401."""
    scheme, _, encoded = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.casefold() != "basic":
        return None
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except ValueError:  # no base64, no ASCII, no UTF-8
        return ""


def _whose(given: str, *, in_path: bool) -> CarrierSettings | None:
    """Return the account that a delivery belongs to, by its secret; in a path only the part behind the colon is given.

    Every accepted secret of every account is compared, in constant time.
    """
    accepted = [
        (configured, secret.partition(":")[2] if in_path else secret)
        for configured in carrier_settings.every()
        for secret in configured.webhook_secrets
    ]
    matches = [
        (hmac.compare_digest(_digest(given), _digest(secret)), configured) for configured, secret in accepted if secret
    ]
    return next((configured for is_its, configured in matches if is_its), None)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
