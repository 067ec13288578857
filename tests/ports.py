"""Ports for the servers of tests that cannot be given a socket, such as nginx."""

import secrets
import socket
import sys

_reserved: list[socket.socket] = []


def free_port() -> int:
    """Return a port that no other test gets while this process lives. Its server may be stopped and restarted.

    Linux lets a server bind a port that is bound already, as long as nobody listens and both allow it. A search
    for a port allows that only afterwards, so the same port is never found twice.
    """
    first = 16_000 + secrets.randbelow(15_000)  # below those the kernel lends to connections
    for port in range(first, first + 100):
        reserved = socket.socket()
        try:
            reserved.bind(("127.0.0.1", port))
        except OSError:
            reserved.close()
            continue
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sys.platform == "linux":
            _reserved.append(reserved)
        else:
            reserved.close()
        return port
    raise RuntimeError(f"No port is free from {first} on.")
