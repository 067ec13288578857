"""One migrated database for each run; every test database begins as its copy.

`./dev test` runs `python -m tests.template` with DATABASE_URL, and hands on what it prints as TEST_TEMPLATE: the file
of a SQLite, or the name of a database on the same PostgreSQL. Without it, as under plain pytest, Django migrates each
test database by itself.
"""

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


def new_database(server: str, name: str, *, like: str = "") -> str:
    """Create a database on a PostgreSQL server, a copy of `like` where given; its address."""
    copied = sql.SQL(" TEMPLATE {}").format(sql.Identifier(like)) if like else sql.SQL("")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)) + copied)
    return f"{server.rpartition('/')[0]}/{name}"


def main() -> None:
    """Migrate the database of DATABASE_URL; on PostgreSQL a new one beside it, as one in use can't be copied."""
    import tests.environment  # noqa: PLC0415, F401  (before Django reads the settings)

    url = os.environ["DATABASE_URL"]
    if url.startswith("postgres"):
        url = os.environ["DATABASE_URL"] = new_database(url, "portal_template")
    os.environ["DJANGO_SETTINGS_MODULE"] = "shipping_portal.settings"
    import django  # noqa: PLC0415
    from django.conf import settings  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    django.setup()
    call_command("migrate", verbosity=0)
    sys.stdout.write(f"{settings.DATABASES['default']['NAME']}\n")


if __name__ == "__main__":
    main()
