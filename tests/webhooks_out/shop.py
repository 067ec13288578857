"""A sender's own program: a real web server on this machine that replies as configured and keeps what it gets."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.servers import stop


@dataclass
class Delivery:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def content(self) -> dict[str, Any]:
        return dict(json.loads(self.body))


@dataclass
class Shop:
    """`with Shop() as shop:` replies to each delivery with the status and body that `answer` returns."""

    answer: Callable[[Delivery], tuple[int, bytes]] = lambda delivery: (204, b"")
    deliveries: list[Delivery] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    connections: int = 0

    def __enter__(self) -> Self:
        shop = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def setup(self) -> None:
                shop.connections += 1
                super().setup()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                delivery = Delivery(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
                shop.deliveries.append(delivery)
                status, words = shop.answer(delivery)
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", f"{shop.url}elsewhere")
                if status != 204:
                    self.send_header("Content-Length", str(len(words)))
                for name, value in shop.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(words)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stop(self._server)
