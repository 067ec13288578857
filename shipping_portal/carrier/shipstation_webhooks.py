"""Check the signature of a ShipStation webhook.

Public keys come from settings and are never fetched.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA256

from shipping_portal.carrier.shipstation_errors import read_rows
from shipping_portal.carrier.values import read_instant

SIGNATURE = "X-ShipEngine-RSA-SHA256-Signature"
ALLOWED_SKEW = timedelta(minutes=5)
SHORTEST_KEY = 2048  # bits


def is_signed_by(body: bytes, headers: Mapping[str, str], jwks: str, *, now: datetime) -> bool:
    """Return whether one of a JWKS document's keys signed the body as received."""
    signed_at = headers.get("x-shipengine-timestamp", "")
    signature = headers.get(SIGNATURE.lower(), "")
    key = _find_key(jwks, headers.get("x-shipengine-rsa-sha256-key-id", ""))
    if key.get("kty") != "RSA":
        return False
    try:
        if abs(read_instant(signed_at) - now) > ALLOWED_SKEW:
            return False
        public = RSAPublicNumbers(_number(key["e"]), _number(key["n"])).public_key()
        if public.key_size < SHORTEST_KEY:
            return False
        proof = base64.b64decode(signature, validate=True)
        public.verify(proof, f"{signed_at}.".encode() + body, PKCS1v15(), SHA256())
    except (InvalidSignature, KeyError, TypeError, ValueError, binascii.Error):
        return False
    return True


def _find_key(jwks: str, key_id: str) -> dict[str, Any]:
    try:
        rows = read_rows(json.loads(jwks), "keys")
    except (ValueError, RecursionError):
        return {}
    return next((row for row in rows if key_id and row.get("kid") == key_id), {})


def _number(text: str) -> int:
    return int.from_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
