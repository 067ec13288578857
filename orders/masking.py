"""Mask bodies for operators: names and addresses are hidden, goods and amounts aren't."""

import json
import re
from typing import Any

from django import forms
from django.conf import settings

from orders.calling import carrier_settings
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.scrubbing import CUT, has_signed_link, scrub_body

PERSONAL = ("name", "company", "email", "phone", "line1", "line2", "instructions")
# Match only from the start of a run and don't backtrack into it: a long run without @ would take
# quadratic time.
EMAIL = re.compile(r"(?<![^\s@\"'<>])[^\s@\"'<>]++@([^\s@\"'<>]+)")
LONGEST_SHOWN = 8_000


def masked_body(body: bytes | memoryview, contract: Contract) -> str:
    """Return the body as indented JSON with people masked and every signed link removed.

    Suburb, state, postcode and country stay, to tell two parcels apart. An empty body gives "".
    """
    safe = scrub_body(bytes(body), contract)
    try:
        read = json.loads(safe)
    except ValueError:
        return without_emails(safe.decode(errors="replace"))[:LONGEST_SHOWN]
    return json.dumps(
        _without_people(read, _personal_members(contract)), indent=2, ensure_ascii=False
    )[:LONGEST_SHOWN]


def revealed_body(body: bytes | memoryview, contract: Contract) -> str:
    """Return the body with people shown. Signed links and secrets are still removed."""
    exact = bytes(body)
    safe = scrub_body(exact, contract)
    text = (exact if _is_same_content(exact, safe) else safe).decode(errors="replace")
    # Remove the longest first, so that no secret is only partly removed.
    for secret in sorted(
        filter(None, [settings.SECRET_KEY, *carrier_settings.all_secrets()]), key=len, reverse=True
    ):
        text = text.replace(secret, CUT)
    return text


def _is_same_content(exact: bytes, safe: bytes) -> bool:
    try:
        return bool(json.loads(exact) == json.loads(safe))
    except ValueError:
        return exact == safe


def holds_link(text: str) -> bool:
    """Return whether this text contains a signed link of any account's carrier."""
    return any(
        has_signed_link(text, configured.contract) for configured in carrier_settings.all_settings()
    )


class SafeText(forms.CharField):
    """Accept a text for the audit log and senders, without signed links."""

    widget = forms.Textarea

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self.widget.attrs |= {"rows": 3, "class": "vLargeTextField"}

    def clean(self, value: Any) -> str:
        text: str = super().clean(value)
        if holds_link(text):
            raise forms.ValidationError(
                "Leave this link out: it opens the parcel's tools for whoever has it."
            )
        return text


def _personal_members(contract: Contract) -> frozenset[str]:
    """Return the last part of each member path that holds personal data under this contract."""
    paths = [
        getattr(contract, f"{end}_{what}") for end in ("sender", "receiver") for what in PERSONAL
    ]
    return frozenset(path.rpartition(".")[2] for path in paths if path)


def _without_people(value: Any, personal: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {
            key: mask_value(member) if key in personal else _without_people(member, personal)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [_without_people(member, personal) for member in value]
    return without_emails(value) if isinstance(value, str) else value


def mask_value(value: Any) -> Any:
    """Return a text's first letter, and an email's host; mask nested members too."""
    if isinstance(value, dict):
        return {key: mask_value(member) for key, member in value.items()}
    if isinstance(value, list):
        return [mask_value(member) for member in value]
    if not isinstance(value, str) or not value:
        return value
    return without_emails(value) if "@" in value else f"{value[0]}•••"


def without_emails(text: str) -> str:
    """Return the text with each email reduced to its first letter and its host."""
    return EMAIL.sub(lambda found: f"{found[0][0]}•••@{found[1]}", text)
