"""Bodies as an operator may read them: who and where exactly is masked, what and how much is not."""

import json
import re
from typing import Any

from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.scrubbing import scrub

PERSONAL = ("name", "company", "email", "phone", "line1", "line2", "instructions")
EMAIL = re.compile(r"[^\s@\"'<>]+@([^\s@\"'<>]+)")
LONGEST_SHOWN = 8_000


def masked(body: bytes | memoryview, contract: Contract) -> str:
    """The body as indented JSON with names, e-mails, phones and streets masked and every signed link cut.

    Suburb, state, postcode and country stay: they are what tells two parcels apart. Empty for an empty body.
    """
    safe = scrub(bytes(body), contract)
    try:
        read = json.loads(safe)
    except ValueError:
        return _mask_emails(safe.decode(errors="replace"))[:LONGEST_SHOWN]
    return json.dumps(_without_people(read, _personal(contract)), indent=2, ensure_ascii=False)[
        :LONGEST_SHOWN
    ]


def _personal(contract: Contract) -> frozenset[str]:
    """The members that hold personal data, by their last name, as this contract calls them."""
    paths = [getattr(contract, f"{end}_{what}") for end in ("sender", "receiver") for what in PERSONAL]
    return frozenset(path.rpartition(".")[2] for path in paths if path)


def _without_people(value: Any, personal: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {
            key: _mask(member) if key in personal else _without_people(member, personal)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [_without_people(member, personal) for member in value]
    return _mask_emails(value) if isinstance(value, str) else value


def _mask(value: Any) -> Any:
    """The first letter, and an e-mail's host; members of a masked member too."""
    if isinstance(value, dict):
        return {key: _mask(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_mask(member) for member in value]
    if not isinstance(value, str) or not value:
        return value
    return _mask_emails(value) if "@" in value else f"{value[0]}•••"


def _mask_emails(text: str) -> str:
    return EMAIL.sub(lambda found: f"{found[0][0]}•••@{found[1]}", text)
