"""The listener behind the real web server, for tests that need a socket: false lengths, chunks, a burst."""

import http.client
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings

from tests.catalogue.pushing import URL, basic
from tests.ports import free_port
from tests.processes.portal import Portal, until_ready

SERVER = ("-m", "gunicorn", "shipping_portal.wsgi", "--worker-class=gthread", "--workers=2", "--threads=8")
HEAD = f"POST {URL} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {basic(settings.WEBHOOK_SECRETS[0])}\r\n"


class Listener:
    """A portal that runs only its web server, on its own database."""

    def __init__(self, port: int, database: str) -> None:
        self.port = port
        self._database = database

    def line(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)

    def says(self, *pieces: bytes) -> int:
        """Send the start of the request and exactly these bytes. Return the status, or 0 if there was no reply."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as line:
            answer = b""
            with suppress(OSError):  # it may have answered, and closed, before it was sent all
                for piece in (HEAD.encode(), *pieces):
                    line.sendall(piece)
                line.shutdown(socket.SHUT_WR)
            with suppress(ConnectionError):
                answer = line.makefile("rb").readline()
        return int(answer.split()[1]) if answer else 0

    def stored(self) -> list[tuple[str, bytes]]:
        """Return the state and bytes of every delivery, oldest first."""
        deliveries = "SELECT state, body FROM tracking_webhookdelivery ORDER BY id"
        with closing(self._connect()) as database:
            return [(state, bytes(body)) for state, body in database.execute(deliveries)]

    def _connect(self) -> Any:
        if self._database.startswith("postgres"):
            return psycopg.connect(self._database)
        return sqlite3.connect(self._database.removeprefix("sqlite:///"))


@contextmanager
def serving(folder: Path) -> Iterator[Listener]:
    """Run a listener on a free port until the block ends."""
    portal = Portal(folder, "http://127.0.0.1:9")
    port = free_port()
    portal.start("web", *SERVER, f"--bind=127.0.0.1:{port}", "--no-control-socket")
    try:
        until_ready(port)
        yield Listener(port, portal.env["DATABASE_URL"])
    finally:
        portal.kill("web")
