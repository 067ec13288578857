"""The least that any web server here can do: take a webhook's bytes and insert the row.

A WSGI application without Django, under the same gunicorn, to compare with the portal's own.
"""

import datetime as dt
import hashlib
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

import psycopg

INSERT = (
    "INSERT INTO tracking_webhookdelivery (account_id, received_at, body, sha256, state, reason, polled_for, "
    "reference, due_at, tries, failures, last_error) SELECT id, %s, %s, %s, 'new', '', '', '', %s, 0, 0, '' "
    "FROM orders_carrieraccount LIMIT 1"
)
_of_thread = threading.local()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    if not hasattr(_of_thread, "cursor"):
        _of_thread.cursor = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True).cursor()
    content = _store(environ)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(content)))])
    return [content]


def _store(environ: dict[str, Any]) -> bytes:
    body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
    now = dt.datetime.now(dt.UTC)
    _of_thread.cursor.execute(INSERT, [now, body, hashlib.sha256(body).hexdigest(), now])
    return b"stored"
