"""Passwords that only look long: a common word, or our own name, with digits around it."""

from typing import Any

from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError

OUR_WORDS = {"shippingportal", "shipping", "portal", "parcel", "parcels", "carrier", "label"}
AROUND = "0123456789 .,-_!?#*+"


class DressedUpWordValidator(CommonPasswordValidator):
    """Refuses `password1234567` and `shippingportal2026`."""

    def validate(self, password: str, user: Any = None) -> None:
        word = password.lower().strip().strip(AROUND)
        if word in self.passwords or word in OUR_WORDS:
            raise ValidationError(
                "This is a common word with digits around it. A few unrelated words work well.", code="dressed_up_word"
            )

    def get_help_text(self) -> str:
        return "Not a common word with digits around it."
