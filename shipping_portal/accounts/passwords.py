"""Passwords that only look long, and those that were stolen elsewhere."""

import hashlib
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError

OUR_WORDS = {"shippingportal", "shipping", "portal", "parcel", "parcels", "carrier", "label"}
AROUND = "0123456789 .,-_!?#*+"
FEWEST_LETTERS = 5  # different ones, in all of it
STAFF_LENGTH = 15


class DressedUpWordValidator(CommonPasswordValidator):
    """Refuses `password1234567`, `shippingportal2026`, `123456789012` and `aaaaaaaaaaaa`."""

    def validate(self, password: str, user: Any = None) -> None:
        word = password.lower().strip().strip(AROUND)
        if word in self.passwords or word in OUR_WORDS:
            raise ValidationError(
                "This is a common word with digits around it. A few unrelated words work well.", code="dressed_up_word"
            )
        if not word or len(set(password)) < FEWEST_LETTERS:
            raise ValidationError(
                "This is digits alone, or the same few letters again. A few unrelated words work well.",
                code="dressed_up_word",
            )

    def get_help_text(self) -> str:
        return "Not a common word with digits around it."


class StaffLengthValidator:
    """Asks operators for three characters more than senders: their log-in opens every account."""

    def validate(self, password: str, user: Any = None) -> None:
        if getattr(user, "is_staff", False) and len(password) < STAFF_LENGTH:
            raise ValidationError(f"An operator's password has at least {STAFF_LENGTH} characters.", code="staff_short")

    def get_help_text(self) -> str:
        return f"At least {STAFF_LENGTH} characters for operators."


class StolenPasswordValidator:
    """Refuses what is in the file that `STOLEN_PASSWORDS_FILE` names, if one is named.

    Its lines begin with the SHA-1 of a password in capitals, in order, as Have I Been Pwned publishes them.
    """

    def validate(self, password: str, user: Any = None) -> None:
        wanted = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()
        if settings.STOLEN_PASSWORDS_FILE and _is_listed(Path(settings.STOLEN_PASSWORDS_FILE), wanted.encode()):
            raise ValidationError(
                "This password is on a list of stolen ones. Choose another, and change it wherever else you use it.",
                code="stolen",
            )

    def get_help_text(self) -> str:
        return "Not on a list of stolen passwords."


def _is_listed(file: Path, wanted: bytes) -> bool:
    """Return whether a line of the file begins so, by halving: the published file has forty gigabytes."""
    with file.open("rb") as lines:
        low, high = 0, file.stat().st_size
        while low < high:
            middle = (low + high) // 2
            lines.seek(max(middle - 1, 0))
            if middle:
                lines.readline()  # to the end of the line that the middle is in
            line = lines.readline()
            if not line or line[:40] >= wanted:
                high = middle
            else:
                low = middle + 1
        lines.seek(max(low - 1, 0))
        if low:
            lines.readline()
        return lines.readline()[:40] == wanted
