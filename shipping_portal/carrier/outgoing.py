"""Requests to the operator's own addresses (alerts, the heartbeat), over the same guarded connection as the carrier's.

One attempt, certificates checked, no redirect followed. An address on this machine or on a private network is
refused, as whoever may write settings may not thereby reach what only the portal can.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from shipping_portal.carrier.connection import Request, exchange
from shipping_portal.carrier.deadline import Limits
from shipping_portal.carrier.errors import NotSent, OutcomeUnknown
from shipping_portal.carrier.headers import identity
from shipping_portal.carrier.hosts import Origin

SECONDS = 5.0  # in all: the sweep waits for it
LARGEST_REPLY = 64 * 1024
CA_BUNDLE: str | None = None  # whom to trust instead of everybody's authorities: for tests


class Undelivered(Exception):
    """Nobody took it, as far as we know; the text says why, without the address."""


def is_address(url: str) -> bool:
    """Return whether something may be sent to this address: https to another machine, nothing odd in it."""
    origin = Origin.of(url)
    return origin is not None and origin.scheme == "https" and not origin.loopback


def send(
    url: str, *, user_agent: str, body: bytes | None = None, headers: Mapping[str, str] | None = None, is_public: bool
) -> None:
    """POST a body, or GET without one. Raises Undelivered unless the answer is 2xx."""
    origin = Origin.of(url)
    if origin is None or origin.scheme != "https":
        raise Undelivered("the address is not https")
    limits = Limits(
        time.monotonic() + SECONDS, cap=LARGEST_REPLY, ca_bundle=CA_BUNDLE, peer="the receiver", is_public=is_public
    )
    method = "GET" if body is None else "POST"
    try:
        reply = exchange(Request(method, url, {**identity(user_agent), **(headers or {})}, body), limits)
    except (NotSent, OutcomeUnknown) as problem:
        raise Undelivered(problem.reason) from None
    if not 200 <= reply.status < 300:
        raise Undelivered(f"the receiver answered {reply.status}")
