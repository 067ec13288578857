"""Compare the mark that tells a restored database from the one last in use (docs/decisions/0014).

A restore makes the mark wrong on its own: pg_restore assigns the table another oid, another server
has another identifier, and a server that replayed its log is on another timeline. Copies that keep
all three (snapshots, SQLite files) contain an old stamp, while RESTORE_MARK_FILE, outside the
database, has a newer one.
"""

import datetime as dt
import os
import secrets
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import NotSupportedError, ProgrammingError, connection, transaction
from django.db.models.expressions import RawSQL
from django.utils import timezone

from orders.models.restores import DatabaseMark
from shipping_portal.db.planned_statements import PlannedSelect

ASKED = {
    "table_oid": "SELECT 'orders_databasemark'::regclass::oid::bigint",
    "system_identifier": "SELECT system_identifier::text FROM pg_control_system()",
    "timeline": "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)",
}
MEANT = {
    "table_oid": "its tables were recreated",
    "system_identifier": "it is on another server",
    "timeline": "its server was restored or promoted",
}
UNSIGNED = {"table_oid": None, "system_identifier": "", "timeline": ""}


class Restored(Exception):
    """Raised when this isn't the database last in use. The text says what shows that."""


class NoMarkFile(Exception):
    """Raised when RESTORE_MARK_FILE can't be used. The text is for the operator."""


def signs() -> dict[str, Any]:
    """Return what the server reveals about this database to this role; nothing on SQLite."""
    if connection.vendor != "postgresql":
        return {}
    return {
        name: answer for name, sql in ASKED.items() if (answer := _ask_database(sql)) is not None
    }


@transaction.atomic
def require_unrestored(*, now: dt.datetime) -> None:
    """Check that this is the database last in use. Raises Restored or NoMarkFile.

    The first start with a RESTORE_MARK_FILE writes it.
    """
    mark = DatabaseMark.objects.select_for_update().first()
    if mark is None:
        raise Restored("it has no mark")
    why, is_stamped = _describe_differences(mark), bool(settings.RESTORE_MARK_FILE)
    if is_stamped and not (why or mark.stamp) and _read_mark_file() is None:
        DatabaseMark.objects.update(stamp=_write_stamp(now))
    elif is_stamped:
        why = why or _file_differs(mark)
    if why:
        raise Restored(why)


def require_in_use() -> None:
    """Check that this is still the database last in use, by one statement and one small file.

    Used in transactions that record costs, as a restore may happen while a process runs. Raises
    Restored.
    """
    try:
        mark = _mark_with_signs().first()
    except ProgrammingError as error:
        # There is no such table: a restore is in progress.
        raise Restored(MEANT["table_oid"]) from error
    is_same = mark is not None and all(
        getattr(mark, name) in (None, "", getattr(mark, f"now_{name}")) for name in _known_signs()
    )
    if (
        mark is None
        or not is_same
        or (settings.RESTORE_MARK_FILE and mark.stamp != _read_mark_file())
    ):
        # Check again as at start-up, which waits for a stamp that is just being written.
        require_unrestored(now=timezone.now())


@cache
def _mark_with_signs() -> PlannedSelect:
    """Return the mark beside each sign as it is now. PostgreSQL plans it again for a new table."""
    # Our own words.
    asked = {f"now_{name}": RawSQL(ASKED[name], ()) for name in _known_signs()}  # noqa: S611
    return PlannedSelect(DatabaseMark.objects.annotate(**asked).order_by("pk")[:1])


@cache
def _known_signs() -> tuple[str, ...]:
    """Return the signs this server reveals. Asked once, as a refusal breaks the transaction."""
    return tuple(signs())


@transaction.atomic
def stamp_backup(*, now: dt.datetime) -> None:
    """Make all existing backups old, so that restoring one is recognised.

    Raises Restored or NoMarkFile.
    """
    if not settings.RESTORE_MARK_FILE:
        raise NoMarkFile("RESTORE_MARK_FILE is empty, so there is nothing to stamp.")
    require_unrestored(now=now)
    DatabaseMark.objects.update(stamp=_write_stamp(now))


def last_backup_at() -> dt.datetime | None:
    """Return when the last backup was stamped, or else the mark made; None without a mark."""
    stamp = DatabaseMark.objects.values_list("stamp", flat=True).first()
    return (
        dt.datetime.fromisoformat(stamp.split()[0])
        if stamp and settings.RESTORE_MARK_FILE
        else None
    )


def renew_mark(*, now: dt.datetime) -> None:
    """Mark this database as the one in use.

    This is the last step of the transaction that holds its work.
    """
    stamp = _write_stamp(now) if settings.RESTORE_MARK_FILE else ""
    DatabaseMark.objects.update_or_create(pk=1, defaults={**UNSIGNED, **signs(), "stamp": stamp})


def _describe_differences(mark: DatabaseMark) -> str:
    """Return what differs, in words, or "". Values unknown then or now aren't compared."""
    now = signs().items()
    return ", ".join(
        MEANT[name] for name, answer in now if getattr(mark, name) not in (None, "", answer)
    )


def _file_differs(mark: DatabaseMark) -> str:
    outside = _read_mark_file()
    if outside is None:
        return "RESTORE_MARK_FILE is gone"
    return (
        ""
        if outside == mark.stamp
        else f"its stamp is {mark.stamp or 'empty'}, the file's {outside or 'empty'}"
    )


def _write_stamp(now: dt.datetime) -> str:
    """Write a new stamp to the file; the row's follows.

    Stamps are never reused, so no backup matches again.

    If the row doesn't follow, the database in use looks like an old one, never the reverse.
    """
    stamp = f"{now.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%SZ} {secrets.token_hex(8)}"
    _write_file(Path(settings.RESTORE_MARK_FILE), stamp)
    return stamp


def _read_mark_file() -> str | None:
    """Return the file's stamp, or None if there is none. Raises NoMarkFile."""
    try:
        return Path(settings.RESTORE_MARK_FILE).read_text().strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise NoMarkFile(f"RESTORE_MARK_FILE cannot be read: {error}.") from error


def _write_file(path: Path, text: str) -> None:
    """Replace the file atomically, and wait until it is on disk. Raises NoMarkFile."""
    new = path.with_name(f"{path.name}.new")
    try:
        with new.open("w") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    except OSError as error:
        raise NoMarkFile(f"RESTORE_MARK_FILE cannot be written: {error}.") from error


def _ask_database(sql: str) -> Any:
    """Return the database's answer, or None if this role may not ask or this server can't tell."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchone()[0]
    except (ProgrammingError, NotSupportedError):
        return None
