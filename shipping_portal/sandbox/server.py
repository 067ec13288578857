"""Serve HTTP with a thread and a connection per request, and access to the socket."""

import contextlib
import socket
import socketserver
import ssl
import struct
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Generic, Protocol, TypeVar, cast
from wsgiref.handlers import SimpleHandler
from wsgiref.headers import Headers
from wsgiref.simple_server import ServerHandler, WSGIRequestHandler, WSGIServer

from shipping_portal.sandbox.app import Sandbox, make_app
from shipping_portal.sandbox.config import Config
from shipping_portal.sandbox.trouble import Troubles
from shipping_portal.sandbox.wire import HangUp


class App(Protocol):
    """A carrier's WSGI application: any of the sandbox's."""

    @property
    def troubles(self) -> Troubles:
        """Return the faults in force."""

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any: ...

    def close(self) -> None:
        """Stop what is planned and close the ledger."""


class Place(Protocol):
    """The address on which a carrier listens, and how it does."""

    host: str
    port: int
    fd: int | None
    certificate: Path | None
    key_file: Path | None


A = TypeVar("A", bound=App)


class _Handler(ServerHandler):
    http_version = "1.1"
    environ: dict[str, Any]
    headers: Headers

    def run(self, application: Any) -> None:
        """Run as the standard library does, but on HangUp close without sending a byte."""
        try:
            self.setup_environ()
            self.result = application(self.environ, self.start_response)
            self.finish_response()
        except HangUp:
            self.close()
        except (ConnectionError, TimeoutError):
            return
        except Exception:  # noqa: BLE001 - whatever broke, the client gets a 500
            self.handle_error()

    def close(self) -> None:
        """Close without the base class's line on the console."""
        SimpleHandler.close(self)

    def cleanup_headers(self) -> None:
        super().cleanup_headers()
        self.headers["Connection"] = "close"


class _RequestHandler(WSGIRequestHandler):
    server: "Server"

    def get_environ(self) -> dict[str, Any]:
        return {
            **super().get_environ(),
            "sandbox.socket": self.connection,
            "sandbox.stopping": self.server.stopping,
            "HTTPS": "on" if isinstance(self.connection, ssl.SSLSocket) else "off",
        }

    def handle(self) -> None:
        """Handle one request, then end the connection."""
        self.raw_requestline = self.rfile.readline(65537)
        if len(self.raw_requestline) > 65536 or not self.parse_request():
            return
        handler = _Handler(
            cast(BinaryIO, self.rfile),
            cast(BinaryIO, self.wfile),
            self.get_stderr(),
            self.get_environ(),
            multithread=True,
        )
        handler.run(self.server.get_app())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - named by the base class
        """Log nothing: the app keeps the request log, without credentials."""


class Server(socketserver.ThreadingMixIn, WSGIServer):
    """A server with daemon threads: a hanging fault must not keep a stopped server alive."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, app: App, config: Place) -> None:
        self.stopping = threading.Event()
        self.sandbox, self.fd = app, config.fd
        super().__init__((config.host, config.port), _RequestHandler)
        self.set_app(app)

    def server_bind(self) -> None:
        """Bind without resolving the host's name; a socket that was passed in is already bound."""
        if self.fd is None:
            socketserver.TCPServer.server_bind(self)
        else:
            self.socket.close()
            self.socket = socket.socket(fileno=self.fd)
            self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = (
            str(self.server_address[0]),
            int(self.server_address[1]),
        )
        self.setup_environ()

    def speak_tls(self, certificate: Path, key_file: Path | None) -> None:
        """Use TLS from now on, with the handshake in its thread.

        A slow client must not hold up others.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key_file)
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )

    def shutdown(self) -> None:
        """Stop immediately: the loop checks only now and then unless the socket is readable."""
        if self.fd is None:  # otherwise another process is listening on this socket too
            with contextlib.suppress(OSError):  # not every system allows it
                self.socket.shutdown(socket.SHUT_RDWR)
        super().shutdown()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Accept a connection and never answer its handshake.

        That is the fault "connection: slow-tls".
        """
        fault = self.sandbox.troubles.pick("connection", only=("slow-tls",))
        if fault:
            self.stopping.wait(fault.number(60))
        else:
            super().finish_request(request, client_address)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Drop a connection before reading a byte, for the fault "connection: refuse"."""
        return self.sandbox.troubles.pick("connection", only=("refuse",)) is None

    def shutdown_request(self, request: Any) -> None:
        """Close; for a reset, do it without the usual orderly shutdown."""
        linger = request.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)
        if struct.unpack("ii", linger)[0]:
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print errors, except those of clients that went away."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError | ssl.SSLError):
            super().handle_error(request, client_address)


@dataclass
class Running(Generic[A]):
    """A carrier running in a thread of this process."""

    url: str
    app: A
    server: Server
    thread: threading.Thread

    def stop(self) -> None:
        """Stop listening, drop pending work, close the ledger."""
        self.server.stopping.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        self.app.close()


def start(config: Config) -> Running[Sandbox]:
    """Serve in a thread; port 0 picks a free one."""
    return serve(make_app(config), config)


def serve(app: A, config: Place) -> Running[A]:
    """Serve this carrier in a thread; port 0 picks a free one."""
    server = Server(app, config)
    if config.certificate:
        server.speak_tls(config.certificate, config.key_file)
    thread = threading.Thread(
        target=server.serve_forever, args=(0.02,), name="sandbox-server", daemon=True
    )
    thread.start()
    host = f"[{config.host}]" if ":" in config.host else config.host
    scheme = "https" if config.certificate else "http"
    return Running(f"{scheme}://{host}:{server.server_port}", app, server, thread)
