"""Send requests to the operator's addresses (alerts, heartbeat), and to senders' webhook endpoints.

There is one attempt, certificates are checked, and no redirect is followed. Addresses on this
machine are refused, as are those on private networks unless their host is listed: people who can
set an address must not reach what only the portal can reach.
"""

import socket
import time
from collections.abc import Callable, Collection, Mapping

from shipping_portal.carrier.connection import Reply, Request, send_once
from shipping_portal.carrier.deadline import Limits
from shipping_portal.carrier.errors import NotSent, OutcomeUnknown
from shipping_portal.carrier.headers import identity_headers
from shipping_portal.carrier.hosts import Origin, in_public, in_public_or_our_network

SECONDS = 5.0  # seconds in all, because the sweep waits for it
LARGEST_REPLY = 64 * 1024


class Undelivered(Exception):
    """Raised when nobody received the message, as far as we know.

    The text says why, without the address.
    """


def why_unreachable(url: str, private: Collection[str] = ()) -> str:
    """Return why nothing can be sent to this address, or "", resolving its name now."""
    origin = Origin.of(url)
    if origin is None or origin.scheme != "https":
        return "isn't a plain https address"
    try:
        found = socket.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return "has a name that isn't found"
    may_reach = reach_of(url, private)
    if any(may_reach(str(place[0])) for *_, place in found):
        return ""
    return "isn't on a public network" if may_reach is in_public else "is on this machine"


def reach_of(url: str, private: Collection[str]) -> Callable[[str], bool]:
    """Return the rule for this receiver's IP addresses: private ones only if the host is listed."""
    origin = Origin.of(url)
    return in_public_or_our_network if origin and origin.host in private else in_public


def send(
    url: str,
    *,
    user_agent: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    may_reach: Callable[[str], bool] = in_public,
    ca_bundle: str | None = None,
) -> None:
    """POST a body, or GET without one. Raises Undelivered unless the reply is 2xx.

    `ca_bundle` is the file of a certificate authority to trust instead of the public ones.
    """
    reply = request(
        url,
        body,
        {**identity_headers(user_agent), **(headers or {})},
        may_reach=may_reach,
        ca_bundle=ca_bundle,
    )
    if not 200 <= reply.status < 300:
        raise Undelivered(f"the receiver answered {reply.status}")


def request(
    url: str,
    body: bytes | None,
    headers: Mapping[str, str],
    *,
    may_reach: Callable[[str], bool],
    schemes: Collection[str] = ("https",),
    seconds: float = SECONDS,
    largest: int = LARGEST_REPLY,
    ca_bundle: str | None = None,
    may_repeat: bool = False,
) -> Reply:
    """POST a body, or GET without one, and return any reply. Raises Undelivered."""
    origin = Origin.of(url)
    if origin is None or origin.scheme not in schemes:
        raise Undelivered("the address is not https")
    limits = Limits(
        time.monotonic() + seconds,
        cap=largest,
        ca_bundle=ca_bundle,
        peer="the receiver",
        may_reach=may_reach,
    )
    method = "GET" if body is None else "POST"
    try:
        return send_once(Request(method, url, headers, body, may_repeat), limits)
    except (NotSent, OutcomeUnknown) as problem:
        raise Undelivered(problem.reason) from None
