"""A carrier behind TLS."""

from __future__ import annotations

import socket
import ssl
import threading

from .conftest import order, read_request, reply


class tls_server:  # noqa: N801 - reads as a verb in a with statement
    """Serve one order over TLS and record the request, or None if there was none."""

    def __init__(self, certificate, seen):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate.bundle, certificate.key)
        self.seen = seen

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()
        return self.listener.getsockname()[1]

    def __exit__(self, *_):
        self.listener.close()

    def _serve(self):
        try:
            raw, _ = self.listener.accept()
            with self.context.wrap_socket(raw, server_side=True) as connection:
                self.seen.append(read_request(connection))
                connection.sendall(reply(201, order()))
        except OSError:
            self.seen.append(None)
