"""Bodies as an operator may read them: who and where exactly is masked, what and how much is not."""

import json
import re
from typing import Any

from django import forms
from django.conf import settings

from orders.calling import carrier_settings
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.scrubbing import CUT, scrub, signed

PERSONAL = ("name", "company", "email", "phone", "line1", "line2", "instructions")
# Only from where a run begins, and never back into it: otherwise a long run without an @ takes its length squared.
EMAIL = re.compile(r"(?<![^\s@\"'<>])[^\s@\"'<>]++@([^\s@\"'<>]+)")
LONGEST_SHOWN = 8_000


def masked(body: bytes | memoryview, contract: Contract) -> str:
    """Return the body as indented JSON with names, e-mails, phones and streets masked and every signed link cut.

    Suburb, state, postcode and country stay: they are what tells two parcels apart. Empty for an empty body.
    """
    safe = scrub(bytes(body), contract)
    try:
        read = json.loads(safe)
    except ValueError:
        return without_emails(safe.decode(errors="replace"))[:LONGEST_SHOWN]
    return json.dumps(_without_people(read, _personal(contract)), indent=2, ensure_ascii=False)[:LONGEST_SHOWN]


def revealed(body: bytes | memoryview, contract: Contract) -> str:
    """Return the body as it is, people and all; only if it held a signed link or a secret it is shown with that cut."""
    exact = bytes(body)
    safe = scrub(exact, contract)
    text = (exact if _says_the_same(exact, safe) else safe).decode(errors="replace")
    # What must be on no page, longest first so that none is left half cut.
    for secret in sorted(filter(None, [settings.SECRET_KEY, *carrier_settings.secrets()]), key=len, reverse=True):
        text = text.replace(secret, CUT)
    return text


def _says_the_same(exact: bytes, safe: bytes) -> bool:
    try:
        return bool(json.loads(exact) == json.loads(safe))
    except ValueError:
        return exact == safe


def holds_link(text: str) -> bool:
    """Return whether this text holds a signed link of any account's carrier."""
    return any(signed(text, configured.contract) for configured in carrier_settings.every())


class SafeText(forms.CharField):
    """A text that goes to the audit and to senders, neither of which keeps a signed link."""

    widget = forms.Textarea

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self.widget.attrs |= {"rows": 3, "class": "vLargeTextField"}

    def clean(self, value: Any) -> str:
        text: str = super().clean(value)
        if holds_link(text):
            raise forms.ValidationError("Leave this link out: it opens the parcel's tools for whoever has it.")
        return text


def _personal(contract: Contract) -> frozenset[str]:
    """Return the members that hold personal data, by their last name, as this contract calls them."""
    paths = [getattr(contract, f"{end}_{what}") for end in ("sender", "receiver") for what in PERSONAL]
    return frozenset(path.rpartition(".")[2] for path in paths if path)


def _without_people(value: Any, personal: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {
            key: mask(member) if key in personal else _without_people(member, personal) for key, member in value.items()
        }
    if isinstance(value, list):
        return [_without_people(member, personal) for member in value]
    return without_emails(value) if isinstance(value, str) else value


def mask(value: Any) -> Any:
    """Return the first letter of a text, and an e-mail's host; members of a masked member too."""
    if isinstance(value, dict):
        return {key: mask(member) for key, member in value.items()}
    if isinstance(value, list):
        return [mask(member) for member in value]
    if not isinstance(value, str) or not value:
        return value
    return without_emails(value) if "@" in value else f"{value[0]}•••"


def without_emails(text: str) -> str:
    """Return the text with each e-mail address down to its first letter and its host."""
    return EMAIL.sub(lambda found: f"{found[0][0]}•••@{found[1]}", text)
