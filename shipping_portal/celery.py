"""Configure Celery. A message only says which row to look at; the row decides.

If a message is lost, duplicated or late, nothing changes.
"""

import datetime as dt
import logging
import os
import sys
import time

from celery import Celery
from celery.signals import task_postrun, task_prerun
from django.conf import settings
from django.db import close_old_connections
from kombu import Connection
from kombu.pools import producers

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shipping_portal.settings")

app = Celery("shipping_portal")
app.config_from_object("django.conf:settings", namespace="CELERY")

# Celery closes the database connection before and after each task, which costs more than the task.
# Instead each thread keeps its own, as in a web request: at most CONN_MAX_AGE old, and not broken.
app.conf["CELERY_DB_REUSE_MAX"] = sys.maxsize
task_prerun.connect(lambda **_: close_old_connections(), weak=False)
task_postrun.connect(lambda **_: close_old_connections(), weak=False)

logger = logging.getLogger(__name__)
BREAK_SECONDS = 10.0
_broken_until = 0.0


def publish_task(task: str, pk: int, at: dt.datetime | None = None) -> bool:
    """Send one row's task to the workers, delayed if a time is given.

    Return False if the broker didn't accept it.

    It never raises or blocks for long: one attempt with one-second socket timeouts, then none for
    ten seconds. The sweep finds whatever wasn't sent. A message lives as long as a lease.
    """
    global _broken_until
    if time.monotonic() < _broken_until:
        return False
    try:
        with producers[_task_publisher()].acquire(block=True, timeout=1) as producer:
            app.send_task(
                task,
                args=[pk],
                producer=producer,
                retry=False,
                eta=at,
                expires=settings.LEASE_SECONDS,
            )
    except Exception as error:  # noqa: BLE001  (kombu, redis and socket errors have no common base)
        _broken_until = time.monotonic() + BREAK_SECONDS
        logger.warning("broker_unreachable", extra={"task": task, "error": type(error).__name__})
        return False
    return True


def _task_publisher() -> Connection:
    options = dict(
        app.conf.broker_transport_options, socket_timeout=1, socket_connect_timeout=1, max_retries=0
    )
    return Connection(app.conf.broker_url, transport_options=options)
