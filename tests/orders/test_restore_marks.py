"""A restored database is recognised by what the restore changes. Nobody has to set or remember anything."""

import gc
import importlib
import os
from pathlib import Path
from typing import Any

import pytest
from celery.signals import worker_init
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.utils import timezone

from orders.models import DatabaseMark
from orders.restoring import marks
from shipping_portal.ops import starting

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("as_the_owner")]


@pytest.fixture(autouse=True)
def mark() -> DatabaseMark:
    """The mark as `migrate` writes it; an earlier test may have emptied the database."""
    return DatabaseMark.objects.update_or_create(pk=1, defaults={**marks.UNSIGNED, **marks.signs(), "stamp": ""})[0]


@pytest.fixture
def file(tmp_path: Path, settings: Any) -> Path:
    """RESTORE_MARK_FILE, which doesn't exist yet."""
    settings.RESTORE_MARK_FILE = str(tmp_path / "mark")
    return tmp_path / "mark"


def start() -> None:
    marks.require_unrestored(now=timezone.now())


def back_up() -> dict[str, Any]:
    """Restore a backup with the mark as it is now, then run the last line of the run-book's command."""
    held = DatabaseMark.objects.values().get()
    call_command("backup_taken")
    return held


def restore(backup: dict[str, Any]) -> None:
    DatabaseMark.objects.filter(pk=1).update(**backup)


def refused() -> str:
    with pytest.raises(marks.Restored) as why:
        start()
    return str(why.value)


def test_a_new_database_starts_and_needs_no_file() -> None:
    start()
    start()


def test_the_first_start_writes_the_file_and_all_later_ones_match_it(file: Path) -> None:
    start()
    assert file.read_text().strip() == DatabaseMark.objects.get().stamp
    start()
    back_up()
    start()


def test_each_backup_is_recognised_once_it_is_restored(file: Path) -> None:
    start()
    backups = [back_up() for _ in range(3)]
    for backup in backups:
        restore(backup)
        assert "its stamp is" in refused()


def test_the_backup_before_the_first_start_is_recognised_too(file: Path) -> None:
    backup = DatabaseMark.objects.values().get()
    start()
    restore(backup)
    assert "its stamp is empty" in refused()


def test_a_lost_file_is_not_taken_for_a_first_start(file: Path) -> None:
    start()
    file.unlink()
    assert refused() == "RESTORE_MARK_FILE is gone"


def test_a_half_stamped_backup_is_recognised(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process died between file and row, then the backup was restored: it must not pass for the one in use."""
    start()
    backup = DatabaseMark.objects.values().get()
    with monkeypatch.context() as patch:
        patch.setattr(DatabaseMark.objects, "update", _away)
        with pytest.raises(OperationalError):
            call_command("backup_taken")
    restore(backup)
    assert "its stamp is" in refused()


def _away(**values: Any) -> None:
    raise OperationalError


def test_a_half_finished_stamp_stops_nobody(file: Path) -> None:
    start()
    file.write_text("2026-11-22T03:00:00Z never written into the row\n")
    refused()
    marks.renew_mark(now=timezone.now())
    start()


def test_a_file_lost_and_written_again_matches_no_older_backup(file: Path) -> None:
    start()
    backups = [back_up() for _ in range(3)]
    file.unlink()
    restore(backups[0])
    marks.renew_mark(now=timezone.now())
    for backup in backups:
        restore(backup)
        refused()


def test_a_database_without_its_mark_is_refused() -> None:
    DatabaseMark.objects.all().delete()
    assert refused() == "it has no mark"
    marks.renew_mark(now=timezone.now())
    start()


def test_a_file_that_cannot_be_used_is_named(file: Path, settings: Any) -> None:
    settings.RESTORE_MARK_FILE = str(file / "not" / "there")
    with pytest.raises(marks.NoMarkFile, match="RESTORE_MARK_FILE cannot be written"):
        start()
    file.mkdir()
    settings.RESTORE_MARK_FILE = str(file)
    with pytest.raises(marks.NoMarkFile, match="RESTORE_MARK_FILE cannot be read"):
        start()


def test_a_restored_database_is_not_stamped(file: Path) -> None:
    start()
    backup = back_up()
    restore(backup)
    with pytest.raises(CommandError, match="this database was restored from a backup"):
        call_command("backup_taken")
    refused()


def test_backups_without_a_stamp_are_reported() -> None:
    with pytest.raises(CommandError, match="RESTORE_MARK_FILE is empty"):
        call_command("backup_taken")


# -- Who refuses to start ------------------------------------------------------------------------


@pytest.fixture
def restored() -> None:
    DatabaseMark.objects.all().delete()


class SomeWorker:
    app = object()  # not ours, so Celery's own receivers ignore it


def _web() -> None:
    importlib.reload(importlib.import_module("shipping_portal.wsgi"))


STARTS = {
    "web": _web,
    "worker": lambda: worker_init.send(sender=SomeWorker),
    "sweeper": lambda: call_command("sweep", "--once"),  # it would loop for ever if it didn't refuse
}


def test_objects_loaded_at_start_are_frozen_for_the_garbage_collector() -> None:
    gc.unfreeze()  # the collected tests: see `pytest_collection_finish`
    starting.begin_work()  # as all three of STARTS do
    assert gc.get_freeze_count() > 100_000


def test_no_garbage_is_collected_while_the_apps_load() -> None:
    gc.unfreeze()
    importlib.reload(importlib.import_module("shipping_portal.apps"))
    assert not gc.isenabled()
    apps.get_app_config("shipping_portal").ready()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 100_000


@pytest.mark.parametrize("process", STARTS)
def test_nothing_that_books_starts_on_a_restored_database(
    restored: None, process: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        STARTS[process]()
    assert ended.value.code == starting.REFUSED
    said = capsys.readouterr().err
    assert said.startswith("This database was restored from a backup: it has no mark.")
    assert "python manage.py after_restore --backup-at TIME" in said
    assert said.count("\n") == 1


def test_manage_py_itself_still_works(restored: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("check", databases=["default"])
    call_command("migrate", verbosity=0)


def test_a_start_waits_for_a_database_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def come_back(**when: Any) -> None:
        tries.append(1)
        if len(tries) < 3:
            raise OperationalError

    monkeypatch.setattr(marks, "require_unrestored", come_back)
    monkeypatch.setattr(starting, "database_answers", lambda: False)
    monkeypatch.setattr(starting, "close_old_connections", lambda: None)
    monkeypatch.setattr(starting.time, "sleep", lambda seconds: None)
    starting.refuse_a_restored_database()
    assert len(tries) == 3


# -- What PostgreSQL itself says -----------------------------------------------------------------


def run(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.fixture
def postgresql() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has neither oid, identifier nor timeline")


@pytest.mark.postgres
def test_migrate_stores_everything_postgresql_says(postgresql: None) -> None:
    assert marks.signs().keys() == marks.UNSIGNED.keys()
    start()


@pytest.mark.postgres
def test_a_table_recreated_with_the_same_rows_counts_as_another_one(postgresql: None) -> None:
    run("ALTER TABLE orders_databasemark RENAME TO before", "CREATE TABLE orders_databasemark AS SELECT * FROM before")
    assert refused() == "its tables were recreated"


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("sign", "value", "given"),
    [
        ("system_identifier", "7000000000000000001", "it is on another server"),
        ("timeline", "00000009", "its server was restored or promoted"),
    ],
)
def test_another_server_or_timeline_is_another_database(postgresql: None, sign: str, value: str, given: str) -> None:
    DatabaseMark.objects.update(**{sign: value})
    assert refused() == given
    marks.renew_mark(now=timezone.now())
    start()


@pytest.mark.postgres
def test_a_role_that_may_not_read_the_identifier_still_recognises_the_table(postgresql: None) -> None:
    role = f"app_{os.getpid()}"
    run(
        f"CREATE ROLE {role}",
        f"GRANT SELECT, UPDATE ON orders_databasemark TO {role}",
        "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC",
        f"SET LOCAL ROLE {role}",
    )
    assert marks.signs().keys() == {"table_oid", "timeline"}
    start()
    DatabaseMark.objects.update(table_oid=1)
    assert refused() == "its tables were recreated"
    run("RESET ROLE")
