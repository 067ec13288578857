"""Stop the server of a test without waiting for it."""

import contextlib
import socket
from socketserver import TCPServer


def stop(server: TCPServer) -> None:
    """Stop a server that another thread serves, and close its socket.

    The thread looks for the end whenever its socket can be read, otherwise only after each `poll_interval`. A socket
    that is shut down can be read.
    """
    with contextlib.suppress(OSError):  # not every system lets a listening socket be shut down
        server.socket.shutdown(socket.SHUT_RDWR)
    server.shutdown()
    server.server_close()
