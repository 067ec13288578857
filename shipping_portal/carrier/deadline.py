"""Time one request: its latest start, its end, and whether anything was sent."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from shipping_portal.carrier import hosts


@dataclass(frozen=True)
class Limits:
    """A request's limits. `ends_at` and `not_after` use the monotonic clock; `cap` is in bytes.

    `peer` names the other side in errors. `may_reach` decides which addresses are allowed.
    """

    ends_at: float
    connect_timeout: float = 3.0
    cap: int = 1024 * 1024
    not_after: float | None = None
    ca_bundle: str | None = None
    proxy: str = field(default="", repr=False)  # the address may contain a password
    peer: str = "the carrier"
    may_reach: Callable[[str], bool] = hosts.may_connect_anywhere


class TooLate(TimeoutError):
    """Raised when it was too late, so nothing was sent."""


class Deadline:
    """The clock and socket of one request. Use it as a context around the request."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.sent_at: float | None = None
        self.cut = False
        self.is_reused = False
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(max(0.0, limits.ends_at - time.monotonic()), self._end)
        self._timer.daemon = True

    def __enter__(self) -> Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            if self._socket is not None:
                self._socket.close()
                self._socket = None

    def hold(self, sock: socket.socket) -> None:
        """Keep a duplicate, because the original's number may become another thread's socket."""
        with self._lock:
            if self.cut:
                raise TooLate
            self._socket = socket.socket(
                sock.family, sock.type, sock.proto, fileno=os.dup(sock.fileno())
            )

    def hold_again(self, sock: socket.socket) -> None:
        """Keep a duplicate of a socket from an earlier request, unless this one opened it."""
        if self._socket is None:
            self.is_reused = True
            self.hold(sock)

    def sending(self) -> None:
        """Record that the first byte is about to leave, or raise TooLate to prevent it."""
        if self.sent_at is not None:
            return
        now, limits = time.monotonic(), self.limits
        if now >= limits.ends_at or (limits.not_after is not None and now >= limits.not_after):
            raise TooLate
        self.sent_at = now

    @property
    def over(self) -> bool:
        """Return whether the request's time has run out."""
        return self.cut or time.monotonic() >= self.limits.ends_at

    def _end(self) -> None:
        with self._lock:
            self.cut = True
            if self._socket is None:
                return
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # the other side has already closed it
