"""A receiver of alerts and heartbeats: a real web server over TLS that keeps what it gets."""

import ssl
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.certificates import Certificate, own_certificate
from tests.servers import stop


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """`with Receiver(folder) as receiver:` answers everything with `status`, and keeps it in `requests`."""

    folder: Path
    status: int = 200
    requests: list[Request] = field(default_factory=list)

    def __enter__(self) -> Self:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                receiver.requests.append(Request(self.command, self.path, dict(self.headers), body))
                self.send_response(receiver.status)
                self.send_header("Location", f"{receiver.url}elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_GET  # noqa: N815  (the standard library's)

            def log_message(self, *args: Any) -> None:
                pass

        certificate = own_certificate(self.folder)
        self.bundle = str(certificate.bundle)
        self._context = context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.renew(certificate)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def renew(self, certificate: Certificate) -> None:
        """Show this certificate from the next connection on."""
        self._context.load_cert_chain(certificate.bundle, certificate.key)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stop(self._server)
