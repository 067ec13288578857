"""Sign a message as in Standard Webhooks 1.0, with every secret that is valid now."""

import base64
import datetime as dt
import hashlib
import hmac
import secrets

from shipping_portal.accounts.login.encryption import decrypt
from shipping_portal.accounts.models import WebhookEndpoint, WebhookEvent

PREFIX = "whsec_"


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def valid_secrets(endpoint: WebhookEndpoint, now: dt.datetime) -> list[str]:
    """Return the secret, and the previous one until it expires. Raises InvalidToken."""
    found = [decrypt(endpoint.secret)]
    if endpoint.old_secret_ends_at and endpoint.old_secret_ends_at > now:
        found.append(decrypt(endpoint.old_secret))
    return found


def signed_headers(event: WebhookEvent, keys: list[str], now: dt.datetime) -> dict[str, str]:
    """Return the three headers. They have the time of this attempt, so copies soon expire."""
    message, seconds = f"msg_{event.uuid.hex}", str(int(now.timestamp()))
    content = f"{message}.{seconds}.{event.body}".encode()
    return {
        "webhook-id": message,
        "webhook-timestamp": seconds,
        "webhook-signature": " ".join(_signature(key, content) for key in keys),
    }


def _signature(key: str, content: bytes) -> str:
    raw = base64.b64decode(key.removeprefix(PREFIX))
    return "v1," + base64.b64encode(hmac.new(raw, content, hashlib.sha256).digest()).decode()
