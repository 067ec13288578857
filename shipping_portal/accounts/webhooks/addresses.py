"""Decide where events may go: over https to a name on the internet, looked up on sending.

People who may set an address must not reach what only the portal can reach. The connection checks
every address of the name and uses one of them (`carrier/connection.py`).
"""

import socket
from collections.abc import Callable

from django.conf import settings

from shipping_portal.carrier.hosts import Origin, in_public, is_loopback

SCHEMES = ("https", "http")
NOT_HTTPS = (
    "Enter an address that starts with https://, in plain letters, without a user name, a space or"
    " a #."
)
WRONG_PORT = "Use port {}."
NOT_PUBLIC = "This address isn't on the internet."


def why_refused(url: str) -> str:
    """Return why nothing may be sent to an address, judging by its text, or ""."""
    origin = Origin.of(url)
    if origin and _is_for_trials(origin):
        return ""
    if origin is None or origin.scheme != "https" or "#" in url:
        return NOT_HTTPS
    if origin.port not in settings.WEBHOOK_OUT_PORTS:
        return WRONG_PORT.format(" or ".join(map(str, settings.WEBHOOK_OUT_PORTS)))
    return "" if all(map(in_public, _written_addresses(origin.host))) else NOT_PUBLIC


def _written_addresses(host: str) -> list[str]:
    """Return the IP addresses that a host spells out, such as 127.1; none for a name."""
    try:
        found = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return []
    return [str(place[0]) for *_, place in found]


def may_reach(url: str) -> Callable[[str], bool]:
    """Return the rule for the IP addresses that its name may have."""
    origin = Origin.of(url)
    return is_loopback if origin and _is_for_trials(origin) else in_public


def _is_for_trials(origin: Origin) -> bool:
    """Return whether it is a test receiver on this machine, which only a demo setting allows."""
    return settings.WEBHOOK_OUT_LOOPBACK and origin.host == "127.0.0.1"
