"""Debian's PgBouncer in front of a test's PostgreSQL, with the same file as in `deploy/` and the test's addresses."""

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.ports import free_port
from tools.dev.ports import HOST, is_open
from tools.dev.processes import ChildProcesses
from tools.dev.servers import NOBODY, write_private

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin") or ""
needs_pgbouncer = pytest.mark.skipif(
    not PROGRAM and os.environ.get("CI") != "true", reason="this machine has no pgbouncer: apt-get install pgbouncer"
)


def start_pgbouncer(children: ChildProcesses, database: str) -> str:
    """Start it as "pgbouncer". Return the address of the same database through it, for the same role."""
    to, port = urlsplit(database), free_port()
    folder = Path(tempfile.mkdtemp(prefix="portal-pgbouncer-"))
    children.remove_at_end(folder)
    text = (ROOT / "deploy/pgbouncer.ini").read_text()
    for found, instead in (
        (r"^portal = .*$", f"* = host={to.hostname} port={to.port}"),
        (r"^listen_addr = .*$", f"listen_addr = {HOST}"),
        (r"^listen_port = .*$", f"listen_port = {port}"),
        (r"^auth_file = .*$", f"auth_file = {folder}/userlist.txt"),
    ):
        text, count = re.subn(found, instead, text, flags=re.MULTILINE)
        assert count == 1, found
    ini = write_private(folder / "pgbouncer.ini", [text])
    users = write_private(folder / "userlist.txt", [f'"{to.username}" "{to.password}"'])
    how: dict[str, Any] = {}
    if os.geteuid() == 0:  # it refuses to run as root
        for path in (folder, ini, users):
            os.chown(path, NOBODY, NOBODY)
        how = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    children.start("pgbouncer", [PROGRAM, ini], **{"cwd": folder, **how})
    children.wait_for("pgbouncer", lambda: is_open(port))
    return f"{database.rpartition('@')[0]}@{HOST}:{port}{to.path}?pooled=1"
