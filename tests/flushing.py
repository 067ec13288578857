"""Empty a test database between transactional tests, although its audit rows refuse to be deleted.

On SQLite the triggers that refuse are dropped for that moment only, then created again unchanged. On PostgreSQL the owner
does it, and they don't apply.

Django would empty every table of PostgreSQL with TRUNCATE, which takes longer than deleting a few rows, and then make
each content type and permission again, with a hundred statements. So these two tables stay as they are.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.core.management.commands import flush as command
from django.db.backends.base.operations import BaseDatabaseOperations
from django.db.backends.postgresql.operations import DatabaseOperations as OnPostgreSQL
from django.db.backends.sqlite3.base import DatabaseOperations as OnSQLite  # base first: the two import each other

from tests.template import owner_of

KEPT = {"django_content_type", "auth_permission"}


@pytest.fixture(autouse=True, scope="session")
def audit_triggers_step_aside_for_a_flush() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OnSQLite, "execute_sql_flush", past_the_triggers)
        patch.setattr(OnPostgreSQL, "execute_sql_flush", as_the_owner)
        patch.setattr(OnSQLite, "sql_flush", deletions)
        patch.setattr(OnPostgreSQL, "sql_flush", deletions)
        patch.setattr(command, "emit_post_migrate_signal", lambda *_, **__: None)
        yield


def deletions(self: BaseDatabaseOperations, style: Any, tables: Sequence[str], **_: Any) -> list[str]:
    """Return what empties these tables, in any order: no foreign key is checked before the end."""
    return [f"DELETE FROM {self.quote_name(table)};" for table in tables if table not in KEPT]  # noqa: S608


def past_the_triggers(self: OnSQLite, sql_list: list[str]) -> None:
    with self.connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'audit_%'")
        triggers = cursor.fetchall()
        for name, _ in triggers:
            cursor.execute(f"DROP TRIGGER {name}")
        FLUSH(self, sql_list)
        for _, sql in triggers:
            cursor.execute(sql)


def as_the_owner(self: OnPostgreSQL, sql_list: list[str]) -> None:
    with owner_of(self.connection.settings_dict["NAME"]) as owner:
        owner.execute("SET session_replication_role = replica")  # no trigger and no foreign key is asked
        owner.execute("".join(sql_list))


FLUSH = BaseDatabaseOperations.execute_sql_flush
