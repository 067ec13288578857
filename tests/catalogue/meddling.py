"""A proxy in front of the sandbox carrier that passes every request on and changes the replies a test chooses.

The sandbox books, keeps its ledger and checks each request as usual; only its replies are changed.
"""

import contextlib
import http.client
import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tests.servers import stop

PATHS = {
    "book": r"POST /orders",
    "view": r"GET /orders/[^/]+",
    "label": r"(HEAD|GET) /orders/[^/]+/labels/.+",
    "file": r"GET /files/.+",
    "cancel": r"DELETE /orders/[^/]+",
    "quote": r"(GET|POST) /products",
    "track": r"GET /tracking/.+",
}
Change = Callable[[int, list[tuple[str, str]], bytes], bytes]


class Meddler:
    """`with Meddler(carrier.url) as line:` listens at `line.url` until the block ends."""

    def __init__(self, carrier_url: str) -> None:
        self.far_end = urlsplit(carrier_url).netloc
        self.asked: list[str] = []  # operations, in order
        self._changes: dict[str, Change] = {}

    def __enter__(self) -> Self:
        meddler = self

        class Handler(_Handler):
            line = meddler

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stop(self._server)

    def says(self, operation: str, answer: bytes) -> None:
        """Reply with exactly these bytes from now on, status line included. The carrier still acts."""
        self._changes[operation] = lambda status, headers, body: answer

    def edits(self, operation: str, edit: Callable[[Any], Any]) -> None:
        """Edit the JSON replies to this operation from now on, in place or by returning a new document."""

        def change(status: int, headers: list[tuple[str, str]], body: bytes) -> bytes:
            document = json.loads(body)
            edited = edit(document)
            return reply(status, document if edited is None else edited)

        self._changes[operation] = change

    def behaves(self) -> None:
        """Stop changing replies."""
        self._changes.clear()

    def answer(self, asked: str, status: int, headers: list[tuple[str, str]], body: bytes) -> bytes:
        """Return the bytes to send back for a request such as "GET /orders/1"."""
        name = next((name for name, path in PATHS.items() if re.fullmatch(path, asked)), "")
        self.asked.append(name)
        return self._changes.get(name, _as_it_was)(status, headers, body)


def reply(status: int, body: Any = b"", **headers: str) -> bytes:
    """An HTTP reply; anything but bytes becomes JSON. A header set to "" is left out."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    found = {"Content-Type": "application/json", "Content-Length": str(len(content)), "Connection": "close"}
    found |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in found.items() if value)
    return f"HTTP/1.1 {status} Said\r\n{lines}\r\n".encode() + content


def _as_it_was(status: int, headers: list[tuple[str, str]], body: bytes) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"HTTP/1.1 {status} Said\r\n{lines}\r\n".encode() + body


class _Handler(BaseHTTPRequestHandler):
    line: Meddler

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        # No test waits for it; the first price abroad of a process has the sandbox read every ZIP code.
        with contextlib.closing(http.client.HTTPConnection(self.line.far_end, timeout=60)) as on:
            on.request(self.command, self.path, body or None, dict(self.headers))
            got = on.getresponse()
            answer = self.line.answer(
                f"{self.command} {self.path.partition('?')[0]}", got.status, got.getheaders(), got.read()
            )
        with contextlib.suppress(ConnectionError):  # the client has read enough
            self.wfile.write(answer)
        self.close_connection = True

    do_POST = do_HEAD = do_DELETE = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (named by the base class)
        """Log nothing."""
