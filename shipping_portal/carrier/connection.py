"""Make one guarded HTTP request: one attempt, a hard deadline, and a record of whether it was sent.

Calls that move money open their own connection. Repeatable ones may use a connection kept for
a short time, and are sent once more if it turns out to be closed.

It avoids three traps. requests raises the same exception for "the carrier never saw it" and "the
carrier committed, then closed", so the connection itself records when it begins to send. A per-read
timeout doesn't bound a slow drip, so a timer shuts the socket. A cut header block reads as a 201
with an empty body, so a reply records whether its end was really seen.

The adapter is used without a requests Session: a session would follow environment proxies and
netrc, and would read the body of a redirect without a limit.
"""

from __future__ import annotations

import contextlib
import http.client
import logging
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import requests
import requests.adapters
import urllib3
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import (
    ConnectTimeoutError,
    NameResolutionError,
    NewConnectionError,
    ProxyError,
)
from urllib3.util.ssl_ import create_urllib3_context

from shipping_portal.carrier.deadline import Deadline, Limits, TooLate
from shipping_portal.carrier.errors import NotSent, OutcomeUnknown
from shipping_portal.carrier.hosts import may_connect_anywhere
from shipping_portal.carrier.values import load_json

PIECE = 64 * 1024
TOO_LATE = "the reply came too late"
KEPT_SECONDS = 15.0
HOSTS = 4  # the carrier's own host, and its label hosts
ADDRESSES_TRIED = 2  # addresses tried per name, as each may take the whole time to connect
_of_thread = threading.local()
# urllib3 logs whole addresses, with signed links and people's suburbs.
for noisy in ("urllib3.connection", "urllib3.connectionpool"):
    logging.getLogger(noisy).addFilter(lambda record: False)
TROUBLE = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    OSError,
    ValueError,
)


@dataclass(frozen=True)
class Request:
    """The exact request. Its repr is empty: it has personal data and the key."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)
    may_repeat: bool = False


@dataclass(frozen=True)
class Reply:
    """A reply as received. `fault` says why not to trust it, `framed` that its end was marked."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    framed: bool = True
    fault: str = ""

    @cached_property
    def document(self) -> Any:
        """The reply's JSON, or None if it has none."""
        try:
            return load_json(self.body, strict=False)
        except ValueError:
            return None


class NotPublic(OSError):
    """Raised when the address is this machine's or on a private network."""


class Guarded(HTTPConnection):
    """A connection that reports its socket and its first byte to its request's deadline."""

    adapter: OneAttempt

    @property
    def deadline(self) -> Deadline:
        return self.adapter.deadline

    def _new_conn(self) -> socket.socket:
        sock = self._connect_where_allowed()
        try:
            self._check(sock.getpeername()[0])
            self.deadline.hold(sock)
        except OSError:
            # Either it was too late, or no file descriptor was left for the duplicate.
            sock.close()
            raise
        return sock

    def _connect_where_allowed(self) -> socket.socket:
        """Connect only to an address that was checked.

        A name is resolved only once, because the next answer may differ. One bad address rules out
        the name.
        """
        if self.deadline.limits.may_reach is may_connect_anywhere:
            return super()._new_conn()
        name = self._dns_host
        try:
            found = socket.getaddrinfo(name, self.port, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError) as problem:
            raise NameResolutionError(name, self, socket.gaierror()) from problem
        places = list(dict.fromkeys(str(place[0]) for *_, place in found))
        for place in places:
            self._check(place)
        try:
            return self._connect_to_one(places[:ADDRESSES_TRIED])
        finally:
            # The certificate and the Host header are for the name.
            self._dns_host = name

    def _connect_to_one(self, places: list[str]) -> socket.socket:
        for place in places[:-1]:
            self._dns_host = place
            with contextlib.suppress(ConnectTimeoutError, NewConnectionError):
                return super()._new_conn()
        self._dns_host = places[-1]
        return super()._new_conn()

    def _check(self, address: str) -> None:
        if not self.deadline.limits.may_reach(address):
            raise NotPublic

    def send(self, data: Any) -> None:
        """Connect, then send, if it isn't too late.

        http.client would connect inside its own send.
        """
        if self.sock is None:
            self.connect()
        else:
            # The connection may have been opened by a request with a wider limit.
            self._check(self.sock.getpeername()[0])
            self.deadline.hold_again(self.sock)
        self.deadline.sending()
        super().send(data)


class GuardedTLS(Guarded, HTTPSConnection):
    """The same over TLS; the certificate is checked before anything is sent."""

    _is_tunnelling = False

    def _tunnel(self) -> None:
        # The CONNECT request isn't ours: if the proxy refuses it, nothing was sent to the carrier.
        self._is_tunnelling = True
        super()._tunnel()
        self._is_tunnelling = False

    def send(self, data: Any) -> None:
        """Send to the carrier, directly or through the proxy."""
        if self._is_tunnelling:
            HTTPSConnection.send(self, data)
        else:
            super().send(data)


class OneAttempt(requests.adapters.HTTPAdapter):
    """An adapter for one request at a time, whose connection reports to its deadline."""

    deadline: Deadline
    used_at = 0.0

    def __init__(self) -> None:
        super().__init__(pool_connections=HOSTS, pool_maxsize=1, max_retries=0)

    def build_connection_pool_key_attributes(
        self, request: Any, verify: Any, cert: Any = None
    ) -> Any:
        """Set the host and the certificate authorities, which are already loaded."""
        host, _ = super().build_connection_pool_key_attributes(request, verify, cert)
        return host, {"ssl_context": trust_context(verify)} if host["scheme"] == "https" else {}

    def cert_verify(self, conn: Any, url: Any, verify: Any, cert: Any) -> None:
        """Leave this to the SSL context: requests would load the authorities each time."""

    def close(self) -> None:
        """Close every connection now, not when Python collects it."""
        for manager in (self.poolmanager, *self.proxy_manager.values()):
            # It can't be iterated, because threads may change it.
            for key in manager.pools.keys():  # noqa: SIM118
                manager.pools[key].close()
        super().close()

    def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> Any:
        """Return the pool for this request, which makes guarded connections."""
        pool: Any = super().get_connection_with_tls_context(*args, **kwargs)
        kind = GuardedTLS if pool.scheme == "https" else Guarded

        def watched(**settings: Any) -> Guarded:
            connection = kind(**settings)
            connection.adapter = self
            return connection

        pool.ConnectionCls = watched
        return pool


def trust_context(bundle: str) -> ssl.SSLContext:
    """Return a context with these authorities, reloaded only when the file has changed."""
    return _load_trust_context(bundle, Path(bundle).stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _load_trust_context(bundle: str, _changed: int) -> ssl.SSLContext:
    context = create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED)
    folder = Path(bundle).is_dir()
    context.load_verify_locations(
        cafile=None if folder else bundle, capath=bundle if folder else None
    )
    return context


def send_once(request: Request, limits: Limits) -> Reply:
    """Send a request once and read the whole reply.

    Raises NotSent if no byte of the request left, OutcomeUnknown if one may have and no reply came.
    """
    with Deadline(limits) as deadline:
        answer = _send_and_read(request, deadline)
    if (
        not isinstance(answer, Reply)
        and request.may_repeat
        and deadline.is_reused
        and not deadline.over
    ):
        with Deadline(limits) as deadline:
            answer = _send_and_read(request, deadline)
    if isinstance(answer, Reply):
        return answer
    # Raised outside the handler, so that no library exception containing the address is attached.
    raise NotSent(answer) if deadline.sent_at is None else OutcomeUnknown(answer)


def _send_and_read(request: Request, deadline: Deadline) -> Reply | str:
    adapter, limits, reply = _choose_adapter(request), deadline.limits, None
    adapter.deadline = deadline
    headers = (
        dict(request.headers) if request.may_repeat else {**request.headers, "Connection": "close"}
    )
    try:
        prepared = requests.PreparedRequest()
        prepared.prepare(request.method, request.url, headers=headers, data=request.body, params={})
        response = adapter.send(
            prepared,
            stream=True,
            timeout=(limits.connect_timeout, max(0.001, limits.ends_at - time.monotonic())),
            verify=limits.ca_bundle or DEFAULT_CA_BUNDLE_PATH,
            proxies={"https": limits.proxy} if limits.proxy else {},
        )
        reply = _read_reply(response, deadline)
        return reply
    except TROUBLE as problem:
        return (
            "no reply in time"
            if deadline.sent_at is not None and deadline.over
            else _reason_for_silence(problem, deadline)
        )
    finally:
        adapter.used_at = time.monotonic()
        if not (request.may_repeat and reply and not reply.fault):
            adapter.close()


def close_kept() -> None:
    """Close the connections this thread keeps open."""
    if hasattr(_of_thread, "adapter"):
        _of_thread.adapter.close()


def _choose_adapter(request: Request) -> OneAttempt:
    """Return this thread's open adapter for repeatable requests, or else a new one."""
    if not request.may_repeat:
        return OneAttempt()
    if not hasattr(_of_thread, "adapter"):
        _of_thread.adapter = OneAttempt()
    adapter: OneAttempt = _of_thread.adapter
    # A firewall may have silently dropped it.
    if time.monotonic() - adapter.used_at > KEPT_SECONDS:
        adapter.close()
    return adapter


def _read_reply(response: requests.Response, deadline: Deadline) -> Reply:
    headers = {key.lower(): value for key, value in response.headers.items()}
    body, fault = bytearray(), ""
    try:
        for piece in response.raw.stream(PIECE, decode_content=False):
            body += piece
            if len(body) > deadline.limits.cap:
                fault = "the reply is too long"
                break
    except TROUBLE:
        fault = "the reply was cut short"
    finally:
        response.close()
    # A socket that was shut down looks like a normal end, so check the clock before trusting the
    # bytes.
    if deadline.over:
        fault = TOO_LATE
    elif headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        fault = "the reply is compressed"
    return Reply(
        response.status_code,
        headers,
        bytes(body[: deadline.limits.cap]),
        _is_framed(headers, response),
        fault,
    )


def _is_framed(headers: Mapping[str, str], response: requests.Response) -> bool:
    chunked = headers.get("transfer-encoding", "").lower() == "chunked"
    return (
        chunked or headers.get("content-length", "").isdigit() or response.status_code in (204, 304)
    )


def _reason_for_silence(problem: BaseException | None, deadline: Deadline) -> str:
    """Return why nothing came back, in our words.

    The library's words contain the address and its query.
    """
    seen: list[BaseException] = []
    while problem is not None and problem not in seen:
        seen.append(problem)
        # With a proxy, urllib3 puts the cause in its first argument.
        found = (
            getattr(problem, "reason", None),
            problem.__cause__,
            problem.__context__,
            *problem.args[:1],
        )
        problem = next((one for one in found if isinstance(one, BaseException)), None)
    if deadline.sent_at is not None:
        return (
            "no reply in time"
            if _has_kind(seen, TimeoutError)
            else "the connection broke before a reply"
        )
    if _has_kind(seen, TooLate) or deadline.over:
        return "the time to send had passed"
    words = next(
        (words for kind, words in UNSENT if _has_kind(seen, kind)), "{} could not be reached"
    )
    return words.format(deadline.limits.peer)


Kind = type[BaseException] | tuple[type[BaseException], ...]
UNSENT: tuple[tuple[Kind, str], ...] = (
    (NotPublic, "{} is not on a public network"),
    (ProxyError, "the proxy of CARRIER_PROXY gave no way to the carrier"),
    (NameResolutionError, "{}'s name was not found"),
    (ssl.SSLCertVerificationError, "{}'s certificate was not accepted"),
    ((ssl.SSLError, urllib3.exceptions.SSLError), "the TLS connection to {} broke off"),
    # urllib3 makes it a subclass of the next one
    (NewConnectionError, "{} refused the connection"),
    (ConnectTimeoutError, "{} did not take the connection in time"),
)


def _has_kind(seen: list[BaseException], kind: Kind) -> bool:
    return any(isinstance(problem, kind) for problem in seen)
