"""Ports of this machine for servers."""

import contextlib
import errno
import secrets
import socket
import sys
import urllib.request

HOST = "127.0.0.1"


def listen_on_first_free(*ports: int) -> socket.socket:
    """Listen on the first of these ports that is free. The socket is ours, or that of the child it is passed to."""
    for port in ports:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port in TIME_WAIT is free
        try:
            listener.bind((HOST, port))
            listener.listen(128)  # until then, another program can bind it too
            return listener
        except OSError as problem:
            listener.close()
            if problem.errno != errno.EADDRINUSE:
                sys.exit(f"Port {port} cannot be had: {problem.strerror}.")
    if len(ports) > 1:
        sys.exit(f"No port is free from {ports[0]} on.")
    sys.exit(f"Port {ports[0]} is in use by another program. Without --port, the first free one from 8000 is taken.")


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


def random_port() -> int:
    """Return a port to start looking from, below those that the kernel uses for outgoing connections.

    If the kernel used a server's port while the server restarts, the server couldn't start.
    """
    return 16_000 + secrets.randbelow(15_000)


def is_open(port: int) -> bool:
    """Return whether something accepts connections on a port."""
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1):
        return True
    return False


def is_healthy(url: str) -> bool:
    """Return whether a URL of this machine answers with 200."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with contextlib.suppress(OSError), direct.open(url, timeout=5) as reply:
        return bool(reply.status == 200)
    return False
