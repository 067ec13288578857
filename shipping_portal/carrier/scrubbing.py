"""Remove signed links and label addresses from what a caller stores or shows."""

import json
import re
from typing import Any

from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.values import load_json

CUT = "[cut]"
KEEP = 64 * 1024
# A signed link has a token: in a query value, or a JWT anywhere. JSON may write / as \/.
# There are two steps, because a single pattern would search from each address to the end of the
# text.
ADDRESS = re.compile(r"https?:\\?/\\?/[^\s\"'<>]++", re.I)
TOKEN = re.compile(r"(?:token|signature|sig)=", re.I)
JWT = re.compile(r"eyJ[\w.-]*+", re.I)
# Fields with the address of a label or a customs form, which anybody with the address can open.
FILE = re.compile(r"(?:label|form)_(?:file|(?:\w+_)?url)")


def scrub_body(body: bytes, contract: Contract) -> bytes:
    """Return the body for storing, at most 64 KiB. An unreadable body loses all its addresses."""
    try:
        read = load_json(body, strict=False)
    except ValueError:
        return _without_jwt(ADDRESS.sub(CUT, body.decode("utf-8", "replace"))).encode()[:KEEP]
    return json.dumps(
        scrub_value(read, contract), ensure_ascii=False, separators=(",", ":")
    ).encode()[:KEEP]


def scrub_value(value: Any, contract: Contract) -> Any:
    """Return the JSON with "[cut]" for each link field, label address and signed address."""
    secret = {name.rpartition(".")[2] for name in (contract.link_field, contract.label_url)}
    return _cut_members(value, secret - {""}, f"{contract.link_token_query}=")


def without_links(text: str, contract: Contract) -> str:
    """Replace every signed address in free text with "[cut]". Other words stay."""
    return _without_jwt(
        ADDRESS.sub(lambda found: CUT if has_signed_link(found[0], contract) else found[0], text)
    )


def without_signed(text: str) -> str:
    """Replace every JWT, and every address that has a token, with "[cut]"."""
    return _without_jwt(
        ADDRESS.sub(lambda found: CUT if TOKEN.search(found[0]) else found[0], text)
    )


def _without_jwt(text: str) -> str:
    return JWT.sub(lambda found: CUT if found[0].count(".") > 1 else found[0], text)


def has_signed_link(text: str, contract: Contract) -> bool:
    """Return whether this text contains a signed link."""
    return f"{contract.link_token_query}=" in text or without_signed(text) != text


def _cut_members(value: Any, secret: set[str], token: str) -> Any:
    if isinstance(value, dict):
        return {
            key: (
                CUT
                if member and (key in secret or FILE.fullmatch(key))
                else _cut_members(member, secret, token)
            )
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [_cut_members(member, secret, token) for member in value]
    if isinstance(value, str):
        return CUT if "://" in value and token in value else without_signed(value)
    return value
