"""One migrated database for each run; every test database begins as its copy.

`./dev test` runs `python -m tests.template` with DATABASE_URL, and hands on what it prints as TEST_TEMPLATE: the file
of a SQLite, or the name of a database on the same PostgreSQL. Without it, as under plain pytest, Django migrates each
test database by itself.

On PostgreSQL the owner of MIGRATE_DATABASE_URL makes each database, and the tests work in it as the app's role.
"""

import io
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql


def template() -> str:
    """Where the template is; empty when there is none."""
    return os.environ.get("TEST_TEMPLATE", "")


def begin_as_a_copy(database: dict[str, Any], folder: Path) -> None:
    """Change Django's settings of a test database so that it begins as a copy of the template."""
    if database["ENGINE"] == "django.db.backends.sqlite3":
        database["TEST"]["NAME"] = shutil.copy(template(), folder / "tests.sqlite3")
    else:
        database["TEST"]["TEMPLATE"] = template()


def owner() -> str:
    """The address of whoever makes databases on PostgreSQL: the owner, or the one role there is."""
    return os.environ.get("MIGRATE_DATABASE_URL") or os.environ["DATABASE_URL"]


def owner_of(name: str) -> psycopg.Connection:
    """A connection of the owner's to the database of that name."""
    return psycopg.connect(f"{owner().rpartition('/')[0]}/{name}")


def app_in(database: str) -> str:
    """The address of a database for the role that the portal works as, where the owner's is given."""
    server, _, options = os.environ["DATABASE_URL"].partition("?")
    return f"{server.rpartition('/')[0]}/{database.rpartition('/')[2]}" + (f"?{options}" if options else "")


def new_database(server: str, name: str, *, like: str = "") -> str:
    """Create a database on a PostgreSQL server, a copy of `like` where given; its address."""
    copied = sql.SQL(" TEMPLATE {}").format(sql.Identifier(like)) if like else sql.SQL("")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)) + copied)
    return f"{server.rpartition('/')[0]}/{name}"


def main() -> None:
    """Migrate the database of DATABASE_URL; on PostgreSQL a new one beside it, as one in use can't be copied."""
    import tests.environment  # noqa: PLC0415, F401  (before Django reads the settings)

    if owner().startswith("postgres"):
        made = new_database(owner(), "portal_template")
        os.environ |= {"DATABASE_URL": app_in(made), "MIGRATE_DATABASE_URL": made}
    os.environ["DJANGO_SETTINGS_MODULE"] = "shipping_portal.settings"
    import django  # noqa: PLC0415
    from django.conf import settings  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    django.setup()
    call_command("migrate", verbosity=0)
    call_command("database_roles", stdout=io.StringIO())
    sys.stdout.write(f"{settings.DATABASES['default']['NAME']}\n")


if __name__ == "__main__":
    main()
