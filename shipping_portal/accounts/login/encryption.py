"""Encrypt second factors and webhook secrets in the database with keys that aren't in it.

`ENCRYPTION_KEYS` lists the keys, newest first: the newest encrypts, and all of them decrypt. To
change the key, put a new one in front, run `manage.py rotate_encryption`, and remove the old one.
"""

import base64
import hashlib
from collections.abc import Callable
from typing import Any

from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import transaction

from shipping_portal.accounts.models import WebhookEndpoint

SECRETS = ("secret", "seed")  # keys in an authenticator's data, as allauth names them


def encrypt(text: str) -> str:
    return _encryption_keys().encrypt(text.encode()).decode()


def decrypt(encrypted: str) -> str:
    """Return the text. Raises InvalidToken if none of the keys encrypted it."""
    return _encryption_keys().decrypt(encrypted).decode()


def is_readable() -> bool:
    """Return whether the keys decrypt the oldest and newest second factor and webhook secret."""
    by_age = Authenticator.objects.order_by("pk")
    try:
        for row in filter(None, (by_age.first(), by_age.last())):
            for name in _encrypted_names(row):
                decrypt(row.data[name])
        for endpoint in WebhookEndpoint.objects.order_by("-pk")[:1]:
            decrypt(endpoint.secret)
    except InvalidToken:
        return False
    return True


def rotate_keys() -> int:
    """Encrypt every secret with the newest key, and return how many rows have one."""
    endpoints = _rotate_rows(WebhookEndpoint, _rotate_endpoint)
    return endpoints + _rotate_rows(Authenticator, _rotate_authenticator)


def _rotate_rows(model: Any, rotate: Callable[[Any], None]) -> int:
    count = 0
    for pk in model.objects.values_list("pk", flat=True).order_by("pk"):
        with transaction.atomic():
            row = model.objects.select_for_update(no_key=True).filter(pk=pk).first()
            if row is not None:
                rotate(row)
                count += 1
    return count


def _rotate_endpoint(row: WebhookEndpoint) -> None:
    row.secret = encrypt(decrypt(row.secret))
    row.old_secret = row.old_secret and encrypt(decrypt(row.old_secret))
    row.save(update_fields=["secret", "old_secret"])


def _rotate_authenticator(row: Authenticator) -> None:
    row.data |= {name: encrypt(decrypt(row.data[name])) for name in _encrypted_names(row)}
    row.save(update_fields=["data"])


def _encrypted_names(row: Authenticator) -> list[str]:
    return [name for name in SECRETS if name in row.data]


def _encryption_keys() -> MultiFernet:
    """Return the keys. Any sufficiently random text can serve as one."""
    return MultiFernet(
        [
            Fernet(base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest()))
            for key in settings.ENCRYPTION_KEYS
        ]
    )
