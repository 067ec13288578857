"""Reject stolen passwords, and passwords that only look long."""

import hashlib
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError

OUR_WORDS = {"shippingportal", "shipping", "portal", "parcel", "parcels", "carrier", "label"}
AROUND = "0123456789 .,-_!?#*+"
LETTERS_AS_DIGITS = str.maketrans("0134578@$!|", "oleastbasil")
FEWEST_LETTERS = 5  # distinct ones in all, and letters besides words that anybody would try first
SHORTEST_WORD = 3
STAFF_LENGTH = 15


class DressedUpWordValidator(CommonPasswordValidator):
    """Reject `password1234567`, `shippingportal2026`, `p0rtal p0rtal`, `123456789012` and so on.

    The words are common ones, the portal's own, and those of the person, their address and their
    business.
    """

    def validate(self, password: str, user: Any = None) -> None:
        plain = password.lower().strip(AROUND)
        spelled = {
            _repeated_part(_letters_of(plain)),
            _repeated_part(_letters_of(plain.translate(LETTERS_AS_DIGITS))),
        }
        near = sorted(_words_near(user), key=len, reverse=True)
        if plain in self.passwords or any(
            word in self.passwords or _is_made_of(word, near) for word in spelled
        ):
            raise ValidationError(
                "This is a common word, or your own or the portal's name, dressed up. A few"
                " unrelated words work well.",
                code="dressed_up_word",
            )
        if not plain or len(set(password)) < FEWEST_LETTERS:
            raise ValidationError(
                "This is digits alone, or the same few letters again. A few unrelated words work"
                " well.",
                code="dressed_up_word",
            )

    def get_help_text(self) -> str:
        return "Not a common word with digits around it."


def _letters_of(text: str) -> str:
    return "".join(letter for letter in text if letter.isalnum())


def _repeated_part(text: str) -> str:
    """Return the shortest part that the text repeats; the text itself if nothing repeats."""
    return text[: (text + text).find(text, 1)] if text else text


def _is_made_of(text: str, words: list[str]) -> bool:
    """Return whether too little is left without these words to make guessing hard."""
    left = text
    for word in words:
        left = left.replace(word, "")
    return left != text and len(left) < FEWEST_LETTERS


def _words_near(user: Any) -> set[str]:
    """Return words from the portal, its address, the person, their email and their business."""
    membership = getattr(user, "membership", None) if getattr(user, "pk", None) else None
    business = membership.sender.name if membership else getattr(user, "business", "")
    named = [settings.BRAND_NAME, urlsplit(settings.SITE_URL).hostname or "", business]
    named += [str(getattr(user, part, "")) for part in ("name", "email")]
    words = {
        _letters_of(word)
        for text in named
        for word in (text.lower(), *re.split(r"[\W_]+", text.lower()))
    }
    return {word for word in OUR_WORDS | words if len(word) >= SHORTEST_WORD}


class StaffLengthValidator:
    """Require three more characters from operators than from senders.

    Operators can open every account.
    """

    def validate(self, password: str, user: Any = None) -> None:
        if getattr(user, "is_staff", False) and len(password) < STAFF_LENGTH:
            raise ValidationError(
                f"An operator's password has at least {STAFF_LENGTH} characters.",
                code="staff_short",
            )

    def get_help_text(self) -> str:
        return f"At least {STAFF_LENGTH} characters for operators."


class StolenPasswordValidator:
    """Reject passwords listed in the file that `STOLEN_PASSWORDS_FILE` names, if any.

    Its lines are sorted and begin with the upper-case SHA-1 of a password, as Have I Been Pwned
    publishes them.
    """

    def validate(self, password: str, user: Any = None) -> None:
        wanted = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()
        if settings.STOLEN_PASSWORDS_FILE and _is_listed(
            Path(settings.STOLEN_PASSWORDS_FILE), wanted.encode()
        ):
            raise ValidationError(
                "This password is on a list of stolen ones. Choose another, and change it wherever"
                " else you use it.",
                code="stolen",
            )

    def get_help_text(self) -> str:
        return "Not on a list of stolen passwords."


def _is_listed(file: Path, wanted: bytes) -> bool:
    """Return whether a line of the file begins with this, by binary search.

    The published file is 40 GB.
    """
    with file.open("rb") as lines:
        low, high = 0, file.stat().st_size
        while low < high:
            middle = (low + high) // 2
            lines.seek(max(middle - 1, 0))
            if middle:
                # The middle may be inside a line: skip to that line's end.
                lines.readline()
            line = lines.readline()
            if not line or line[:40] >= wanted:
                high = middle
            else:
                low = middle + 1
        lines.seek(max(low - 1, 0))
        if low:
            lines.readline()
        return lines.readline()[:40] == wanted
