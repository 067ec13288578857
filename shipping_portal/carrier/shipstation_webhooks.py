"""Check the signature of a ShipStation webhook. The public keys are settings, never fetched."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA256

from shipping_portal.carrier.values import read_instant

ALLOWED_SKEW = timedelta(minutes=5)
SHORTEST_KEY = 2048  # bits


def has_valid_signature(
    body: bytes, headers: Mapping[str, str], keys: Mapping[str, Any], *, now: datetime
) -> bool:
    """Return whether the body, as it was received, is signed by one of a JWKS document's keys.

    `headers` are by lower-case name.
    """
    signed_at = headers.get("x-shipengine-timestamp", "")
    key_id = headers.get("x-shipengine-rsa-sha256-key-id", "")
    signature = headers.get("x-shipengine-rsa-sha256-signature", "")
    key = next((one for one in keys.get("keys", ()) if key_id and one.get("kid") == key_id), None)
    if key is None or key.get("kty") != "RSA":
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


def _number(text: str) -> int:
    return int.from_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
