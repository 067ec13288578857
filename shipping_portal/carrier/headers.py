"""Build a request's headers: our identity and credentials."""

import base64
import re

from shipping_portal.carrier.contract import Contract

PLAIN = re.compile(r"[\x20-\x7e]+", re.ASCII)


def identity_headers(user_agent: str) -> dict[str, str]:
    """Return the headers of every request, even a label redirect: our name, no compression."""
    return {
        "User-Agent": checked_header("The User-Agent", user_agent),
        "Accept-Encoding": "identity",
    }


def credential_headers(contract: Contract, account: str, key: str) -> dict[str, str]:
    """Return the version header and our credentials."""
    version, _, value = contract.version_header.partition(": ")
    headers = {version: value} if version else {}
    if contract.auth == "basic":
        headers["Authorization"] = "Basic " + base64.b64encode(f"{account}:{key}".encode()).decode(
            "ascii"
        )
    elif contract.auth == "bearer":
        headers["Authorization"] = f"Bearer {checked_header('The carrier key', key)}"
    elif contract.auth != "none":
        headers[contract.auth.removeprefix("header:")] = checked_header("The carrier key", key)
    return headers


def checked_header(what: str, value: str) -> str:
    """Return the value if it is valid in a header.

    Otherwise raises ValueError, which names the header but doesn't quote the value.
    """
    if not value.strip() or not PLAIN.fullmatch(value):
        raise ValueError(f"{what} must be plain text, and not blank.")
    return value
