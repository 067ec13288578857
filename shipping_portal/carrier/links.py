"""Make Authorised Tracking Page links for senders (interface §5): from a reply, or signed here."""

import base64
import hashlib
import hmac
import json
from datetime import datetime
from urllib.parse import urlencode, urlsplit

from shipping_portal.carrier.connection import Reply
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import LinkOff, Rejected
from shipping_portal.carrier.hosts import Origin, is_permitted
from shipping_portal.carrier.outcomes import unknown_outcome
from shipping_portal.carrier.reading import read_viewed
from shipping_portal.carrier.values import value_at


def signed_link(
    contract: Contract, *, reference: str, partner_id: str, key: str, now: datetime
) -> str:
    """Return a link signed by us (HS256), valid for `link_seconds`.

    Raises LinkOff without a key.
    """
    if not key:
        raise LinkOff("The tracking page needs a signing key.")
    issued = int(now.timestamp())
    claims: dict[str, str | int] = {
        "sub": reference,
        "role": "sender",
        "iss": partner_id,
        "aud": urlsplit(contract.link_page).netloc,
        "iat": issued,
        "exp": issued + contract.link_seconds,
    }
    query = {
        contract.link_reference_query: reference,
        contract.link_token_query: _sign_token(claims, key),
    }
    return f"{contract.link_page}{'&' if '?' in contract.link_page else '?'}{urlencode(query)}"


def _sign_token(claims: dict[str, str | int], key: str) -> str:
    head = f"{_encode_part({'alg': 'HS256', 'typ': 'JWT'})}.{_encode_part(claims)}"
    return f"{head}.{_url64(hmac.new(key.encode(), head.encode('ascii'), hashlib.sha256).digest())}"


def _encode_part(value: dict[str, str] | dict[str, str | int]) -> str:
    return _url64(json.dumps(value, separators=(",", ":")).encode())


def _url64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


def link_in(
    reply: Reply, contract: Contract, *, base: Origin, order_id: str, reference: str
) -> str:
    """Return a fresh reply's link for this order. Raises Rejected if it is missing or unsafe."""
    if read_viewed(reply, contract, order_id=order_id).reference.upper() != reference.upper():
        raise unknown_outcome(reply, contract, "the reply is about another parcel", conflict=True)
    url = value_at(reply.document, contract.link_field)
    if not url:
        raise Rejected(0, "no_link", "The carrier gave no tracking page for this parcel.")
    if not is_permitted(url, base, contract.link_hosts):
        raise Rejected(0, "unsafe_link", "The tracking page's address is not one of the carrier's.")
    return str(url)
