"""Configure gunicorn: JSON log lines from the start, and stopping without losing requests.

See docs/decisions/0024.
"""

import ctypes
import gc
import os
import signal
import socket
import struct
import sys
import tempfile
from importlib import import_module
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shipping_portal.settings")

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import ThreadWorker

from shipping_portal.http.probes import draining
from shipping_portal.ops.logs import logging_config

# read now, because the formatter needs them and reading them logs a line
bool(settings.SECRET_KEY)
logconfig_dict = logging_config("INFO")
# Enough threads for everybody: at most a quarter of them wait for the carrier
# (orders/calling/waiting.py).
workers = 2
threads = settings.WEB_THREADS
# Processes add up their metrics in a folder, which must be set before any counting starts.
if settings.METRICS_PORT:
    os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", tempfile.mkdtemp(prefix="portal-metrics-"))
graceful_timeout = 20
control_socket_disable = True
# Log addresses without query or referrer: both contain what people search for.
access_log_format = '%(h)s "%(m)s %(U)s %(H)s" %(s)s %(b)s "%(a)s"'


def on_starting(server: Any) -> None:
    """Load the application once, so that the web processes forked from here share its memory.

    Nothing has started yet: each starts its own threads and connections when it loads wsgi.py.
    """
    get_wsgi_application()
    import_module(settings.ROOT_URLCONF)
    gc.collect()
    gc.freeze()


def when_ready(server: Any) -> None:
    """On SIGTERM, fail /readyz, keep serving until load balancers have noticed, then stop."""

    def drain(number: int, frame: Any) -> None:
        if not draining[0]:
            draining[0] = 1
            signal.setitimer(signal.ITIMER_REAL, max(settings.DRAIN_SECONDS, 0.001))

    signal.signal(signal.SIGTERM, drain)
    signal.signal(signal.SIGALRM, lambda number, frame: server.signal(signal.SIGTERM, frame))


class AccessLog(Logger):
    """gunicorn's access log, without stored webhooks and served labels.

    Logging each would cost a fifth of the webhook rate.
    """

    def access(self, resp: Any, req: Any, environ: dict[str, Any], request_time: Any) -> None:
        if not environ.get("portal.recorded"):
            super().access(resp, req, environ, request_time)


class Worker(ThreadWorker):
    """A worker that drains pending connections before it closes the socket.

    gunicorn's own worker leaves its socket open while it finishes, but accepts no connections: a
    client that connects then has to wait and is cut off at the end, with a request that the proxy
    may not repeat.
    """

    def set_accept_enabled(self, enabled: Any) -> None:
        super().set_accept_enabled(enabled)
        # This worker is one of several that share the socket; the others continue.
        if self.alive or not draining[0]:
            return
        for listener in self.sockets:
            _let_nobody_in(listener)
            before = -1
            while self.nr_conns != before:
                before = self.nr_conns
                self.accept(listener)
            listener.close()


# BPF: return 0 bytes of each packet
DROP_ALL = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
SO_ATTACH_FILTER = 26


def _let_nobody_in(listener: socket.socket) -> None:
    """Let the kernel drop new connections.

    Clients retry, find the port closed, and use the other web server.
    """
    if sys.platform == "linux":
        program = struct.pack("HL", 1, ctypes.addressof(DROP_ALL))
        listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


worker_class, logger_class = Worker, AccessLog
