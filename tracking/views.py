"""The webhook listener: `POST` with credentials inside its URL, no session, no CSRF, no redirect."""

import base64
import binascii
import hashlib
import hmac

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from shipping_portal.accounts.access import public
from tracking import intake

LARGEST_BODY = 64 * 1024


@public
@csrf_exempt
def webhook(request: HttpRequest, token: str = "") -> HttpResponse:
    """200 once stored, whatever it was; 401 asks for the credentials, 404 for wrong ones, 413 for too much.

    A reply other than 2xx makes the carrier try up to 3 times more (interface §6.5), so nothing that is
    authenticated and of sane size is ever answered otherwise while the database takes it.
    """
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    given = token or _basic(request)
    if given is None:
        return HttpResponse(status=401, headers={"WWW-Authenticate": 'Basic realm="webhooks"'})
    if not _is_ours(given, in_path=bool(token)):
        intake.refuse("wrong credentials", now=timezone.now())
        return HttpResponse("Not found", status=404, content_type="text/plain")
    body = request.read(LARGEST_BODY + 1)
    if len(body) > LARGEST_BODY:
        intake.refuse("larger than 64 KiB", now=timezone.now())
        return HttpResponse(status=413)
    intake.receive(body, now=timezone.now())
    return HttpResponse("stored", content_type="text/plain")


def _basic(request: HttpRequest) -> str | None:
    """`user:secret` from the Authorization header; some clients send it only after a 401."""
    scheme, _, encoded = request.headers.get("Authorization", "").partition(" ")
    if scheme.casefold() != "basic":
        return None
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _is_ours(given: str, *, in_path: bool) -> bool:
    """Every accepted secret is compared, in constant time; in a path only the part behind the colon is given."""
    accepted = [secret.partition(":")[2] if in_path else secret for secret in settings.WEBHOOK_SECRETS]
    matches = [hmac.compare_digest(_digest(given), _digest(secret)) for secret in accepted if secret]
    return any(matches)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
