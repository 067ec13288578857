"""Send events to the listener, signed with an RSA key. Anybody may read its public half."""

import base64
import functools
import json
from collections import deque
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from shipping_portal.sandbox.shipstation.config import Settings
from shipping_portal.sandbox.shipstation.labels import Label, history_document
from shipping_portal.sandbox.timeline import Timeline
from shipping_portal.sandbox.webhooks import post

RETRIES, KEY_ID = 6, "sandbox-key"


class Events:
    """Sends events and lists every attempt: reference, status or error."""

    def __init__(self, settings: Settings, timeline: Timeline, state: Path, listener: str) -> None:
        self.settings, self.timeline, self.listener = settings, timeline, listener
        self.deliveries: deque[dict[str, Any]] = deque(maxlen=20_000)
        self.state = state

    def announce(self, label: Label, base_url: str) -> None:
        """Send a label's whole history if there is a listener."""
        if self.listener:
            address = f"{base_url}/v1/labels/{label.id}/track"
            event: dict[str, Any] = {"resource_url": address, "resource_type": "API_TRACK"}
            event["data"] = history_document(label)
            self.timeline.after(0, functools.partial(self._try, event, 1))

    def signed_headers(self, body: bytes) -> dict[str, str]:
        """Return the headers that sign a body exactly as it will be sent, at this time."""
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        proof = self._key.sign(f"{now}.".encode() + body, PKCS1v15(), SHA256())
        return {
            "x-shipengine-timestamp": now,
            "x-shipengine-rsa-sha256-key-id": KEY_ID,
            "x-shipengine-rsa-sha256-signature": base64.b64encode(proof).decode(),
        }

    @cached_property
    def _key(self) -> RSAPrivateKey:
        return load_key(self.state)

    def _try(self, event: dict[str, Any], attempt: int) -> None:
        body, timeout = json.dumps(event).encode(), self.settings.webhook_timeout_seconds
        signed = self.signed_headers(body)
        status, error = post(self.listener, body, timeout=timeout, signature=signed)
        facts = {"reference": event["data"]["tracking_number"], "attempt": attempt}
        self.deliveries.append(facts | {"status": status, "error": error})
        if (status is None or not 200 <= status < 300) and attempt <= RETRIES:
            wait = self.settings.webhook_retry_seconds * 2 ** (attempt - 1)
            self.timeline.after(wait, functools.partial(self._try, event, attempt + 1))


def load_key(state: Path) -> RSAPrivateKey:
    """Return this folder's key. It is kept, because others have its public half."""
    file = state / "webhook-key.pem"
    if file.exists():
        found = load_pem_private_key(file.read_bytes(), None)
        if isinstance(found, RSAPrivateKey):
            return found
    made = generate_private_key(65537, 2048)
    state.mkdir(parents=True, exist_ok=True)
    file.touch(0o600)
    file.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return made


def public_keys(state: Path) -> dict[str, Any]:
    """Return the JWKS document for checking signatures of this folder's sandbox."""
    numbers = load_key(state).public_key().public_numbers()
    key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": KEY_ID}
    return {"keys": [key | {"n": _base64url(numbers.n), "e": _base64url(numbers.e)}]}


def _base64url(number: int) -> str:
    raw = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
