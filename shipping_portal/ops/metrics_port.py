"""Serve a process's own `/metrics`, such as its carrier calls, and `/livez` on METRICS_PORT.

Each worker, sweeper and web server is a separate target. There is no authentication, so it listens
on 127.0.0.1 unless METRICS_HOST says otherwise.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from celery.signals import heartbeat_sent, worker_ready
from django.conf import settings
from prometheus_client import REGISTRY, CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.multiprocess import MultiProcessCollector

SHARED = "PROMETHEUS_MULTIPROC_DIR"  # the folder in which one gunicorn's processes count together
CONSUMER_SILENT = 120.0  # seconds; a worker's consumer beats every two
PLAIN = [("Content-Type", "text/plain; charset=utf-8")]


class Server(ThreadingWSGIServer):
    """A server run by all processes of one gunicorn: each reports the sum."""

    allow_reuse_port = SHARED in os.environ


class Handler(WSGIRequestHandler):
    """A handler without a log line for each scrape, with a timeout for silent clients."""

    timeout = 10

    def log_message(self, *args: Any) -> None:
        """Write nothing: scrapes needn't be logged."""


def serve_metrics(is_alive: Callable[[], bool]) -> Server | None:
    """Listen in a thread if METRICS_PORT is set.

    `/livez` answers 503 once the process isn't alive.
    """
    if not settings.METRICS_PORT:
        return None
    registry = CollectorRegistry() if SHARED in os.environ else REGISTRY
    if registry is not REGISTRY:
        MultiProcessCollector(registry)
    metrics = make_wsgi_app(registry)

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/metrics":
            return metrics(environ, start_response)
        status = "404 Not Found"
        if environ["PATH_INFO"] == "/livez":
            status = "200 OK" if is_alive() else "503 Service Unavailable"
        start_response(status, PLAIN)
        return [status.encode()]

    server = make_server(settings.METRICS_HOST, settings.METRICS_PORT, answer, Server, Handler)
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


class Consumer:
    """When this worker's consumer last showed activity; without a broker it doesn't."""

    beat_at = time.monotonic()


@heartbeat_sent.connect
def _note_beat(**kwargs: Any) -> None:
    Consumer.beat_at = time.monotonic()


@worker_ready.connect
def _serve_in_a_worker(**kwargs: Any) -> None:
    serve_metrics(lambda: time.monotonic() - Consumer.beat_at < CONSUMER_SILENT)
