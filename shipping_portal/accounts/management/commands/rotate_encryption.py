"""`manage.py rotate_encryption`: encrypt second factors with the first of `ENCRYPTION_KEYS`."""

from typing import Any

from cryptography.fernet import InvalidToken
from django.core.management.base import BaseCommand, CommandError

from shipping_portal.accounts.login import encryption


class Command(BaseCommand):
    help = (
        "Encrypt every second factor by the first of ENCRYPTION_KEYS. The other keys are needed no"
        " longer then."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count = encryption.rotate_keys()
        except InvalidToken:
            raise CommandError(
                "A second factor was encrypted by a key that ENCRYPTION_KEYS doesn't hold. Add that"
                " key at the end."
            ) from None
        self.stdout.write(
            f"{count} encrypted by the first key. Take the others out of ENCRYPTION_KEYS."
        )
