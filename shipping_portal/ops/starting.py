"""Start web, worker and sweeper: refuse a restored database, and freeze what is loaded in memory.

A restore may also happen while they run. Then they end before anything is paid for
(docs/decisions/0014). `manage.py` itself isn't refused, because after_restore is one of its
commands.
"""

import gc
import logging
import os
import sys
import time
from typing import Any

from celery.signals import worker_init
from django.db import Error, close_old_connections
from django.utils import timezone

from shipping_portal.db import roles
from shipping_portal.http.database_outage import database_answers

logger = logging.getLogger(__name__)
_begun = False
_exit = os._exit  # SystemExit would end only one thread
REFUSED = 3  # with this exit code, gunicorn doesn't replace the worker
AFTER_RESTORE = "python manage.py after_restore --backup-at TIME"
REFUSAL = (
    "This database was restored from a backup: {why}. Run `{command}` with the time of the backup"
    " before anything is booked; see “Back up and restore” in deploy/README.md.\n"
)


def refuse_a_restored_database() -> None:
    """Return if the database is the one last used; otherwise say what to run, and exit."""
    from orders.restoring import marks  # noqa: PLC0415  (models load after this module)

    while True:
        try:
            marks.require_unrestored(now=timezone.now())
            return _warn_of_too_many_rights()
        except marks.Restored as why:
            _end_process(REFUSAL.format(why=why, command=AFTER_RESTORE))
        except marks.NoMarkFile as why:
            _end_process(
                f"{why} Without it, a restored database can't be recognised, so nothing starts.\n"
            )
        except Error as error:
            if database_answers():
                raise
            logger.warning("database_unreachable", extra={"error": type(error).__name__})
        close_old_connections()
        time.sleep(1)


def end_if_restored() -> None:
    """End this process before money is spent, if its database was restored after it started.

    It ends immediately, from any thread: other threads' work belongs to the replaced database. A
    transaction in progress is rolled back. This only concerns processes that have begun work:
    `manage.py` always works.
    """
    from orders.restoring import marks  # noqa: PLC0415  (models load after this module)

    if not _begun:
        return
    try:
        marks.require_in_use()
    except marks.Restored as why:
        _print_now(REFUSAL.format(why=why, command=AFTER_RESTORE))
        _exit(REFUSED)


def _warn_of_too_many_rights() -> None:
    if rights := roles.too_many():
        logger.warning("database_role_has_too_many_rights", extra={"rights": rights})


def _end_process(sentence: str) -> None:
    _print_now(sentence)
    raise SystemExit(REFUSED)


def _print_now(sentence: str) -> None:
    sys.stderr.write(sentence)
    sys.stderr.flush()


def begin_work() -> None:
    """Begin work, unless the database was restored, and keep what is loaded out of collections.

    Collections that found nothing in it took a tenth of a worker's time.
    """
    global _begun
    refuse_a_restored_database()
    _begun = True
    gc.collect()
    gc.freeze()


@worker_init.connect
def _begin_in_a_worker(**kwargs: Any) -> None:
    begin_work()
