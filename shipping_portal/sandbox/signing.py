"""HS256 tokens (RFC 7515, 7519) with the standard library: label links, tracking-page links."""

import base64
import binascii
import hashlib
import hmac
import json
from typing import Any


def mint(claims: dict[str, Any], secret: str) -> str:
    """Return a compact HS256 token over ``claims``."""
    head = _pack(json.dumps({"alg": "HS256", "typ": "JWT"}, separators=(",", ":")).encode())
    body = _pack(json.dumps(claims, separators=(",", ":")).encode())
    return f"{head}.{body}.{_pack(_mac(f'{head}.{body}', secret))}"


def read(token: str, secret: str, *, now: float) -> dict[str, Any] | None:
    """Return the claims of a token that is well formed, HS256, ours and not expired.

    Otherwise None.
    """
    try:
        head, body, mac = token.split(".")
        header, claims = json.loads(_unpack(head)), json.loads(_unpack(body))
        genuine = hmac.compare_digest(_unpack(mac), _mac(f"{head}.{body}", secret))
    except (ValueError, binascii.Error):
        return None
    if not genuine or not isinstance(header, dict) or not isinstance(claims, dict):
        return None
    expires = claims.get("exp")
    live = isinstance(expires, int | float) and not isinstance(expires, bool) and now < expires
    return claims if live and header.get("alg") == "HS256" else None


def _mac(text: str, secret: str) -> bytes:
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()


def _pack(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _unpack(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
